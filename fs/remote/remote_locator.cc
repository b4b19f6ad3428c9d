#include "fs/remote/remote_locator.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "fs/core/diagnostics/error_map.h"
#include "fs/net/remote_file.h"
#include "fs/source/chunk_files.h"
#include "fs/source/suffixes.h"
#include "fs/tree/names/shown_stat.h"

namespace framefs::fs {
namespace {

// The version as the identity of a state, by which nodes tell versions apart.
FileIdentity identity_of(const net::ObjectVersion& version) {
  return {.device = version.key.high,
          .inode = version.key.low,
          .size = static_cast<std::int64_t>(version.size),
          .mtime_ns = 0,
          .ctime_ns = 0};
}

net::FetchAhead ahead_for(ShownAs shown_as) {
  return is_array(shown_as) ? net::FetchAhead::as_expected : net::FetchAhead::in_stored_order;
}

}  // namespace

std::string RemoteLocator::path_of(const Node& node) const {
  return root_.is_single() ? "" : nodes_.path_of(node);
}

std::string RemoteLocator::name_for_log(const Node& node) const {
  auto name = store_.name_of(path_of(node));
  if (node.key.is_member()) name += "/" + node.key.member.str();
  return name;
}

void RemoteLocator::note_failure(const Node& node, const Error& error) const {
  constexpr std::array kOrdinary = {ENOENT, ENOTDIR, ESTALE, EINTR};
  const bool is_ordinary = error.kind == codec::Errc::system && !error.is_sentence &&
                           std::ranges::find(kOrdinary, error.sys) != kOrdinary.end();
  if (!is_ordinary) reads_.log.failure(name_for_log(node), error);
}

Result<OpenContainer> RemoteLocator::open_container(Node& node) {
  const auto above = node.key.is_member() ? nodes_.container_of(node) : nullptr;
  Node& host = above ? *above : node;
  const auto path = path_of(host);
  FRAMEFS_TRY(const auto opened, logged(host, store_.objects().open(path)));
  OpenContainer container;
  container.file = store_.bytes_of(opened, ahead_for(node.key.shown_as));
  container.stat = RemoteDirectories::stat_of(path, entry_of(opened));
  const auto version = identity_of(opened.object->version());
  const CacheKey key{.content = host.content_id(version, reads_.content_ids),
                     .kind = CacheKind::container};
  FRAMEFS_TRY(container.container, reads_.cache.get<Container>(key, [&] {
    return Container::open(container.file, name_for_log(host), reads_.limits, reads_.log);
  }));
  return container;
}

Result<SourceEntry> RemoteLocator::probe(Node& node) {
  if (node.key.is_member()) {
    FRAMEFS_TRY(auto opened, open_container(node));
    const ContainerFolder folder(std::move(opened), directory_part(node.key.member.str()),
                                 reads_.limits);
    return folder.probe(name_part(node.key.member.str()));
  }
  if (root_.is_single()) {
    FRAMEFS_TRY(auto listing, directories_.listings().list_single(root_.single_name));
    return directories_.probe(*listing, root_.single_name, "", root_.expected);
  }
  const auto path = path_of(node);
  if (path.empty()) {
    SourceEntry entry;
    entry.stat = RemoteDirectories::stat_of("", {.name = {}, .is_directory = true, .etag = {}});
    return entry;
  }
  const auto name = name_part(path);
  FRAMEFS_TRY(const auto listing, directories_.listings().list_for(directory_part(path), {name}));
  FRAMEFS_TRY(auto entry, directories_.probe(*listing, name, path, expected_content(name)));
  // An object in the place of a directory, or the reverse, is another node.
  if (entry.stat.st_ino != node.key.inode) return system_error_of(ESTALE, "stat");
  return entry;
}

Result<RemoteLocator::Origin> RemoteLocator::open_member(Node& node) {
  FRAMEFS_TRY(const auto opened, open_container(node));
  FRAMEFS_TRY(auto member, opened.container->open_member(opened.file, node.key.member.str()));
  Origin origin;
  if (const auto* const file = dynamic_cast<const net::RemoteFile*>(opened.file.get())) {
    origin.version = identity_of(file->version());
  }
  origin.frame = contiguous_origin(std::move(member), name_for_log(node));
  return origin;
}

Result<std::shared_ptr<const codec::ByteSource>> RemoteLocator::open_chunk_file(
    const std::string& directory, std::uint32_t id, net::FetchAhead ahead) const {
  const auto opened = store_.objects().open(directory + "/" + ChunkFiles::name_of(id));
  if (!opened && opened.error().sys == ENOENT) return ChunkFiles::damaged(id);
  if (!opened) return std::unexpected(opened.error());
  return store_.bytes_of(*opened, ahead);
}

Result<RemoteLocator::Origin> RemoteLocator::open(Node& node) {
  if (node.key.is_member()) return open_member(node);
  FRAMEFS_TRY(const auto entry, probe(node));
  const auto shown_as = node.key.shown_as;
  if (!node.key.has_view() && (shown_as != ShownAs::itself || !S_ISREG(entry.stat.st_mode))) {
    return system_error_of(EISDIR, "open");
  }
  const auto path = path_of(node);
  const bool is_sparse = entry.index_stat.has_value();
  const auto object = is_sparse ? net::join_path(path, kSparseIndexName) : path;
  FRAMEFS_TRY(
      const auto opened,
      logged(node, store_.open_frame(object, is_sparse ? std::nullopt : directories_.head(path))));
  Origin origin;
  origin.version = identity_of(opened.object->version());
  const auto& listed = entry.content_stat();
  const auto found = RemoteDirectories::stat_of(object, entry_of(opened));
  // The answer for an empty object may have no time.
  const bool has_time = opened.mtime_ns != 0;
  const bool is_listed = listed.st_size == found.st_size &&
                         (!has_time || listed.st_mtim.tv_sec == found.st_mtim.tv_sec);
  if (!is_listed) directories_.listings().forget(directory_part(path));
  const bool is_other = directories_.notice_version(path, opened.object->version());
  origin.is_newer = !is_listed || is_other;
  auto bytes = store_.bytes_of(opened, ahead_for(shown_as));
  if (!is_sparse) {
    origin.frame = contiguous_origin(std::move(bytes), name_for_log(node));
    return origin;
  }
  origin.frame = {
      .type = codec::FrameType::sparse,
      .source = std::move(bytes),
      .chunks = ChunkFiles::far([this, path, ahead = ahead_for(shown_as)](std::uint32_t id) {
        return open_chunk_file(path, id, ahead);
      }),
      .name = name_for_log(node)};
  return origin;
}

}  // namespace framefs::fs
