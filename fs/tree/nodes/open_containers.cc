#include "fs/tree/nodes/open_containers.h"

#include <cerrno>
#include <utility>

namespace framefs::fs {

Result<OpenContainer> OpenContainers::open(Node& node) const {
  FRAMEFS_TRY(const auto file, locator_.open_file(node));
  return read(node, file);
}

Result<OpenContainer> OpenContainers::read(Node& node, const BackingFile& file) const {
  const auto above = node.key.is_member() ? locator_.nodes().container_of(node) : nullptr;
  Node& host = above ? *above : node;
  if (!file.file()) return system_error_of(ESTALE, "open");
  OpenContainer opened;
  opened.file = file.file();
  FRAMEFS_TRY(opened.stat, file.content_stat());
  const CacheKey key{.content = content_id(host, identity_of(opened.stat)),
                     .kind = CacheKind::container};
  FRAMEFS_TRY(opened.container, cache_.get<Container>(key, [&] {
    return Container::open(opened.file, locator_.name_for_log(host), limits_, log_);
  }));
  return opened;
}

Result<SourceEntry> OpenContainers::probe(OpenContainer container,
                                          const std::string& member) const {
  const auto slash = member.rfind('/');
  const ContainerFolder folder(std::move(container),
                               slash == std::string::npos ? "" : member.substr(0, slash), limits_);
  return folder.probe(member.substr(slash + 1));  // the whole path if it has no slash
}

Result<FrameOrigin> OpenContainers::origin_of(Node& node, const BackingFile& file) const {
  auto name = locator_.name_for_log(node);
  if (!node.key.is_member()) return file.origin(source_offset_, std::move(name));
  FRAMEFS_TRY(const auto opened, read(node, file));
  FRAMEFS_TRY(auto member, opened.container->open_member(opened.file, node.key.member.str()));
  return contiguous_origin(std::move(member), std::move(name));
}

}  // namespace framefs::fs
