#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>
#include <utility>

#include "codec/core/limits.h"
#include "fs/tree/folder.h"
#include "fs/tree/store.h"

namespace framefs::fs {

// A store, and the file that it was read from.
struct OpenStore {
  std::shared_ptr<const Store> store;
  std::shared_ptr<const FileSource> file;
  struct stat stat{};
};

// A directory inside a store.  What is in there has the owner, times and rights of the store.
class StoreFolder final : public Folder {
 public:
  // `directory` is a path in the store, "" its root.
  StoreFolder(OpenStore opened, std::string directory, const codec::Limits& limits)
      : opened_(std::move(opened)), directory_(std::move(directory)), limits_(limits) {}

  Result<std::vector<Item>> items() const override;
  Result<SourceEntry> probe(const std::string& name) const override;

 private:
  [[nodiscard]] std::string path_of(const std::string& name) const;
  [[nodiscard]] std::uint64_t inode_of(const std::string& path) const;

  const OpenStore opened_;
  const std::string directory_;
  const codec::Limits limits_;
};

}  // namespace framefs::fs
