#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "fs/source/folder.h"
#include "fs/tree/names/shown_names.h"

namespace framefs::fs {

// One entry of a directory as the mount shows it: a name and an identity.  It has no size and no
// times, because a listing is answered in pieces and files can change between two pieces.
struct DirectoryEntry {
  ShownName shown;
  Folder::Item source;  // its type is the shown type
};
// An entry of a folder under one of its names.
DirectoryEntry shown_entry(ShownName shown, Folder::Item item);

// The entries of a directory as the mount shows them.  Each has a position, which stays while the
// listing lives.
// Threads: any number.
class ShownListing {
 public:
  ShownListing() = default;
  ShownListing(const ShownListing&) = delete;
  ShownListing& operator=(const ShownListing&) = delete;
  virtual ~ShownListing() = default;

  // Takes an entry, and the position behind it.  False: the entry does not count, and is the last
  // one.
  using Take = std::function<bool(const DirectoryEntry& entry, std::uint64_t next)>;
  // Calls `take` for the entries from a position on.  Returns whether there are no more.  May stop
  // early: with entries that a server has not sent yet, once there is one.
  // Errors: those of the folder, if there is no entry before.
  virtual Result<bool> read(std::uint64_t from, const Take& take) const = 0;
};

// A listing that is in memory.
class CompleteListing final : public ShownListing {
 public:
  explicit CompleteListing(std::vector<DirectoryEntry> entries) : entries_(std::move(entries)) {}

  Result<bool> read(std::uint64_t from, const Take& take) const override;

 private:
  const std::vector<DirectoryEntry> entries_;
};

}  // namespace framefs::fs
