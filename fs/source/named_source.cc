#include "fs/source/named_source.h"

#include <fcntl.h>

#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "fs/source/backing_file.h"
#include "fs/source/source_root.h"
#include "fs/source/suffixes.h"

namespace framefs::fs {
namespace {

namespace stdfs = std::filesystem;

bool is_container(const SourceEntry& entry) {
  const auto content = entry.summary.content;
  return content == Content::embed_container || content == Content::zip_container;
}

// The file that a path uses as if it were a directory.
std::optional<stdfs::path> file_above(const stdfs::path& path) {
  std::error_code ignored;
  for (auto above = path.parent_path(); above != above.parent_path(); above = above.parent_path()) {
    if (stdfs::is_regular_file(above, ignored)) return above;
  }
  return std::nullopt;
}

Result<NamedSource> open_member(const stdfs::path& path, const stdfs::path& above,
                                const codec::Limits& limits, Log& log) {
  FRAMEFS_TRY(const auto place, Place::behind_links(above));
  FRAMEFS_TRY(auto named, open_source_at(place, 0, limits, log));
  auto* const root = std::get_if<ContainerDirectory>(&named.found);
  if (root == nullptr) return system_error_of(ENOTDIR, "open");
  named.member = path.lexically_relative(above).string();
  while (named.member.ends_with('/')) named.member.pop_back();
  if (named.member == ".") named.member.clear();
  if (root->container.container->is_directory(named.member)) {
    root->path = named.member;
    return named;
  }
  FRAMEFS_TRY(auto bytes,
              root->container.container->open_member(root->container.file, named.member));
  named.found = contiguous_origin(std::move(bytes), path.string());
  return named;
}

}  // namespace

Result<NamedSource> open_source_at(const Place& place, std::uint64_t offset,
                                   const codec::Limits& limits, Log& log) {
  const auto& name = place.name();
  if (name == ".") return system_error_of(EISDIR, "open");
  FRAMEFS_TRY(const auto root, SourceRoot::entry_at(place));
  SourceProbe probe(limits, offset);
  // A file that a user names as a frame may have any name.
  const auto expected = expected_content(name);
  FRAMEFS_TRY(const auto entry,
              probe.probe_as(place.directory(), name,
                             expected == Expected::nothing ? Expected::array : expected));
  const auto type = entry.stat.st_mode & S_IFMT;
  if (type != S_IFREG && type != S_IFDIR) {
    return refusal(EINVAL, "this is neither a file nor a directory");
  }
  FRAMEFS_TRY(auto fd, root.open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  FRAMEFS_TRY(const auto source, BackingFile::adopt(std::move(fd)));
  if (offset > 0 && (source.is_sparse() || is_container(entry))) {
    return refusal(EINVAL, "--offset needs a file with a frame at that position");
  }
  if (is_container(entry) && source.file()) {
    OpenContainer container{.container = nullptr, .file = source.file(), .stat = entry.stat};
    FRAMEFS_TRY(container.container, Container::open(container.file, place.path(), limits, log));
    return NamedSource{{entry, ContainerDirectory{std::move(container), {}}}, place, {}};
  }
  auto origin = source.origin(offset, place.path());
  if (!origin && source.is_sparse() && origin.error().sys == ENOENT) {
    return refusal(EISDIR, "this directory is not a frame");
  }
  if (!origin) return std::unexpected(origin.error());
  return NamedSource{{entry, std::move(*origin)}, place, {}};
}

Result<NamedSource> open_named_source(const stdfs::path& path, std::uint64_t offset,
                                      const codec::Limits& limits, Log& log) {
  const auto place = Place::behind_links(path);
  if (place) return open_source_at(*place, offset, limits, log);
  const auto& error = place.error();
  const auto above = error.sys == ENOTDIR ? file_above(path) : std::nullopt;
  if (!above) return std::unexpected(error);
  if (offset > 0) return refusal(EINVAL, "--offset needs a file with a frame at that position");
  return open_member(path, *above, limits, log);
}

}  // namespace framefs::fs
