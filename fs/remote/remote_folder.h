#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fs/remote/remote_directories.h"
#include "fs/source/folder.h"

namespace framefs::fs {

// A directory of a remote SOURCE at the moment of its listing.
// Lifetime: `directories` outlives it.
class RemoteFolder final : public Folder {
 public:
  // `path` is the directory's.
  RemoteFolder(RemoteDirectories& directories, RemoteDirectories::Listing listing, std::string path)
      : directories_(directories), listing_(std::move(listing)), path_(std::move(path)) {}

  [[nodiscard]] Result<std::vector<Item>> items() const override;
  [[nodiscard]] Result<SourceEntry> probe(const std::string& name) const override;
  [[nodiscard]] Status prepare_probes() const override {
    return directories_.prepare(*listing_, path_);
  }

 private:
  RemoteDirectories& directories_;
  const RemoteDirectories::Listing listing_;
  const std::string path_;
};

// The entries of a directory of a remote SOURCE that one lookup asks for.  A large directory is not
// listed for them.  Threads: one.  Lifetime: `directories` outlives it.
class RemoteNamesFolder final : public Folder {
 public:
  RemoteNamesFolder(RemoteDirectories& directories, std::string path)
      : directories_(directories), path_(std::move(path)) {}

  [[nodiscard]] Result<std::vector<Item>> items() const override;
  [[nodiscard]] Result<SourceEntry> probe(const std::string& name) const override;
  void remove_absent(std::vector<std::string>& names) const override;

 private:
  RemoteDirectories& directories_;
  const std::string path_;
};

// A SOURCE that is one object, shown as a directory that contains only this object.
class RemoteSingleFolder final : public Folder {
 public:
  RemoteSingleFolder(RemoteDirectories& directories, RemoteDirectories::Listing listing,
                     Expected expected)
      : directories_(directories), listing_(std::move(listing)), expected_(expected) {}

  [[nodiscard]] Result<std::vector<Item>> items() const override;
  [[nodiscard]] Result<SourceEntry> probe(const std::string& name) const override;
  [[nodiscard]] Expected expected(const std::string&) const override { return expected_; }

 private:
  RemoteDirectories& directories_;
  const RemoteDirectories::Listing listing_;
  const Expected expected_;
};

}  // namespace framefs::fs
