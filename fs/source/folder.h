#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fs/core/file.h"
#include "fs/source/source.h"
#include "fs/source/source_probe.h"

namespace framefs::fs {

// The entries of a directory as they are in SOURCE, before the mount changes names.  The directory
// is on disk, or exists only inside a file.
// Threads: any number.
class Folder {
 public:
  Folder() = default;
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  virtual ~Folder() = default;

  using Item = SourceItem;
  // Errors: system.
  virtual Result<std::vector<Item>> items() const = 0;

  // Errors: system, ENOENT if there is no such entry.
  virtual Result<SourceEntry> probe(const std::string& name) const = 0;

  // The content that probe() looks for in an entry of that name.
  [[nodiscard]] virtual Expected expected(const std::string& name) const;
};

// A directory on disk.  Lifetime: `probe` outlives it.
class DiskFolder final : public Folder {
 public:
  DiskFolder(UniqueFd directory, SourceProbe& probe)
      : directory_(std::move(directory)), probe_(probe) {}

  Result<std::vector<Item>> items() const override;
  Result<SourceEntry> probe(const std::string& name) const override {
    return probe_.probe(directory_.get(), name);
  }
  [[nodiscard]] int fd() const noexcept { return directory_.get(); }

 private:
  const UniqueFd directory_;
  SourceProbe& probe_;
};

// A folder that remembers which names were absent and does not look for them again.  It serves one
// request, which asks for the same names several times.  Threads: one.  Lifetime: `folder` outlives
// it.
class NegativeLookupCache final : public Folder {
 public:
  explicit NegativeLookupCache(const Folder& folder) : folder_(folder) {}

  Result<std::vector<Item>> items() const override { return folder_.items(); }
  Result<SourceEntry> probe(const std::string& name) const override;
  [[nodiscard]] Expected expected(const std::string& name) const override {
    return folder_.expected(name);
  }

 private:
  const Folder& folder_;
  mutable std::vector<std::string> absent_;
};

// One entry of a directory on disk, as if it were the only one.  Lifetime: `probe` outlives it.
class SingleEntryFolder final : public Folder {
 public:
  // `expected` is the content to look for in the entry, whatever its name.
  SingleEntryFolder(UniqueFd directory, std::string name, Expected expected, SourceProbe& probe)
      : directory_(std::move(directory)),
        name_(std::move(name)),
        expected_(expected),
        probe_(probe) {}

  Result<std::vector<Item>> items() const override;
  Result<SourceEntry> probe(const std::string& name) const override;
  [[nodiscard]] Expected expected(const std::string&) const override { return expected_; }

 private:
  const UniqueFd directory_;
  const std::string name_;
  const Expected expected_;
  SourceProbe& probe_;
};

}  // namespace framefs::fs
