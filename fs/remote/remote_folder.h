#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fs/remote/remote_directories.h"
#include "fs/source/folder.h"

namespace framefs::fs {

// A directory of a remote SOURCE at the moment of its listing, which may still be under way.
// Lifetime: `directories` outlives it.
class RemoteFolder final : public Folder {
 public:
  // `path` is the directory's.
  RemoteFolder(RemoteDirectories& directories, RemoteListings::Listing listing, std::string path)
      : directories_(directories), listing_(std::move(listing)), path_(std::move(path)) {}

  // Waits for all of the listing.
  [[nodiscard]] Result<std::vector<Item>> items() const override;
  [[nodiscard]] Result<SourceEntry> probe(const std::string& name) const override;
  [[nodiscard]] Result<FrameSummary> summary(const std::string& name) const override;
  [[nodiscard]] bool has_positions() const noexcept override { return true; }
  [[nodiscard]] Result<Place> item_at(std::uint64_t position, bool may_wait) const override;

 private:
  [[nodiscard]] Item item_of(const RemotePage& page, std::size_t index) const;

  RemoteDirectories& directories_;
  const RemoteListings::Listing listing_;
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
  RemoteSingleFolder(RemoteDirectories& directories, RemoteListings::Listing listing,
                     Expected expected)
      : directories_(directories), listing_(std::move(listing)), expected_(expected) {}

  [[nodiscard]] Result<std::vector<Item>> items() const override;
  [[nodiscard]] Result<SourceEntry> probe(const std::string& name) const override;
  [[nodiscard]] Expected expected(const std::string&) const override { return expected_; }

 private:
  RemoteDirectories& directories_;
  const RemoteListings::Listing listing_;
  const Expected expected_;
};

}  // namespace framefs::fs
