#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fs/source/source.h"
#include "fs/source/source_root.h"

namespace framefs::fs {

// A local directory as a Source, with the operations by descriptor that only a local directory has.
class LocalSource final : public Source {
 public:
  explicit LocalSource(SourceRoot root) : root_(std::move(root)) {}

  [[nodiscard]] Result<std::vector<SourceItem>> list(const std::string& path) const override;
  [[nodiscard]] Result<SourceStat> stat(const std::string& path) const override;
  [[nodiscard]] Result<SourceObject> open(const std::string& path) const override;

  [[nodiscard]] const SourceRoot& root() const noexcept { return root_; }

 private:
  [[nodiscard]] Result<UniqueFd> open_fd(const std::string& path, int flags) const;

  const SourceRoot root_;
};

}  // namespace framefs::fs
