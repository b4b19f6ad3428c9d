#include "fs/source/container_folder.h"

#include <dirent.h>

#include <cerrno>
#include <functional>

#include "fs/source/suffixes.h"

namespace framefs::fs {

std::string ContainerFolder::path_of(const std::string& name) const {
  return directory_.empty() ? name : directory_ + "/" + name;
}

// The number is the same in every mount, like the inode number of a file.
std::uint64_t ContainerFolder::inode_of(const std::string& path) const {
  constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15ULL;
  constexpr std::uint64_t kInsideContainer = std::uint64_t{1}
                                             << 60;  // no file on disk has such a number
  const auto mixed = std::hash<std::string>{}(path) ^ (opened_.stat.st_ino * kSpread);
  return (mixed & (kInsideContainer - 1)) | kInsideContainer;
}

Result<std::vector<Folder::Item>> ContainerFolder::items() const {
  std::vector<Item> items;
  FRAMEFS_TRY(const auto children, opened_.container->children(directory_));
  for (const auto& child : children) {
    const unsigned char type = child.is_directory ? DT_DIR : DT_REG;
    items.push_back({child.name, inode_of(path_of(child.name)), type});
  }
  return items;
}

Result<SourceEntry> ContainerFolder::probe(const std::string& name) const {
  const auto path = path_of(name);
  SourceEntry entry{.stat = opened_.stat, .summary = {}, .index_stat = std::nullopt};
  auto& st = entry.stat;
  st.st_ino = inode_of(path);
  st.st_nlink = 1;
  st.st_size = 0;
  st.st_blocks = 0;
  if (opened_.container->is_directory(path)) {
    const mode_t readable = st.st_mode & (S_IRUSR | S_IRGRP | S_IROTH);
    st.st_mode = S_IFDIR | readable | (readable >> 2U);
    return entry;
  }
  st.st_mode = S_IFREG | (st.st_mode & (S_IRUSR | S_IRGRP | S_IROTH));
  const auto member = opened_.container->open_member(opened_.file, path);
  // An entry that exists but cannot be read is still shown.
  if (!member && member.error().sys == ENOENT) return std::unexpected(member.error());
  if (!member) return entry;
  if (const auto size = (*member)->size()) {
    st.st_size = static_cast<off_t>(*size);
    st.st_blocks = static_cast<blkcnt_t>((*size + 511) / 512);
  }
  const auto known = opened_.container->summary_of(path);
  entry.summary = known ? *known : summarise(**member, expected_content(name), limits_);
  return entry;
}

}  // namespace framefs::fs
