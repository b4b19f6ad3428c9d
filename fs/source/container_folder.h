#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "codec/core/limits.h"
#include "fs/source/container.h"
#include "fs/source/folder.h"

namespace framefs::fs {

// A container and the file from which it was read.
struct OpenContainer {
  std::shared_ptr<const Container> container;
  std::shared_ptr<const codec::ByteSource> file;
  struct stat stat{};
};

// A directory inside a container.  Its entries have the owner, times and rights of the container.
class ContainerFolder final : public Folder {
 public:
  // `directory` is a path in the container; "" is the root.
  ContainerFolder(OpenContainer opened, std::string directory, const codec::Limits& limits)
      : opened_(std::move(opened)), directory_(std::move(directory)), limits_(limits) {}

  [[nodiscard]] Result<std::vector<Item>> items() const override;
  [[nodiscard]] Result<SourceEntry> probe(const std::string& name) const override;

 private:
  [[nodiscard]] std::string path_of(const std::string& name) const;
  [[nodiscard]] std::uint64_t inode_of(const std::string& path) const;

  const OpenContainer opened_;
  const std::string directory_;
  const codec::Limits limits_;
};

}  // namespace framefs::fs
