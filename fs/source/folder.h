#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fs/core/file.h"
#include "fs/source/source.h"
#include "fs/source/source_probe.h"

namespace framefs::fs {

// The entries of a directory as they are in SOURCE, before any of them is renamed: one on disk, or one
// that exists only inside a file.
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

  // Errors: system, ENOENT where there is no such entry.
  virtual Result<SourceEntry> probe(const std::string& name) const = 0;

  // What probe() looks for in an entry of that name.
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

// A folder in which no name is looked for twice that was not there: for one request, which asks for the
// same names several times.  Threads: one.  Lifetime: `folder` outlives it.
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

// One entry of a directory on disk, as if it were alone there.  Lifetime: `probe` outlives it.
class SingleEntryFolder final : public Folder {
 public:
  // `expected` is what the entry is taken for, whatever its name.
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
