#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fs/core/files/file.h"
#include "fs/source/as_is_names.h"
#include "fs/source/directory_names.h"
#include "fs/source/source_probe.h"

namespace framefs::fs {

// An entry of a listing.
struct SourceItem {
  std::string name;
  std::uint64_t inode = 0;  // as in SourceEntry::stat; 0 if the listing does not have it
  unsigned char type = 0;   // DT_REG etc.; DT_UNKNOWN if the listing does not have it
  bool is_costly = false;   // a probe asks a server for the attributes of this entry alone
};

// The entries of a directory as they are in SOURCE, before the mount changes names.  This interface
// hides where a SOURCE lies from the naming rules: the directory is on disk, on a server
// (fs/remote), or exists only inside a file.
//
// An implementation guarantees:
// - items() returns all entries once each, in any order.  Entries that appear or disappear
//   meanwhile may be in the result or not.  If the keys of an object store make "a" an object and
//   "a/b" another, "a" is listed once.
// - probe() answers for every name.  ENOENT means that there is no such entry now; a connection
//   error must not look like ENOENT.
// - The identity (st_dev, st_ino) of an entry stays the same while the entry exists under its name
//   and, as far as the implementation can tell, from mount to mount.  Two entries that exist at the
//   same time have different identities, unless they are two names of one file.
//
// Threads: any number.
class Folder {
 public:
  Folder() = default;
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  virtual ~Folder() = default;

  using Item = SourceItem;
  // Errors: system.
  [[nodiscard]] virtual Result<std::vector<Item>> items() const = 0;

  // Errors: system, ENOENT if there is no such entry.
  [[nodiscard]] virtual Result<SourceEntry> probe(const std::string& name) const = 0;

  // The part of this that decides how the entry is shown, which may cost less.
  [[nodiscard]] virtual Result<FrameSummary> summary(const std::string& name) const {
    FRAMEFS_TRY(const auto entry, probe(name));
    return entry.summary;
  }

  // The same for an entry that was listed just now.
  [[nodiscard]] virtual Result<FrameSummary> summary_of(const Item& item) const {
    return summary(item.name);
  }

  // Whether entries have positions that stay while the folder lives: a server may list millions, in
  // many answers.  Then no later entry changes how the entry at a position is shown.
  [[nodiscard]] virtual bool has_positions() const noexcept { return false; }
  struct Place {
    enum class Kind : std::uint8_t {
      entry,
      none,   // no entry is shown here; there may be others behind it
      later,  // the server has not sent the entry yet, and the caller may not wait
      end     // there are no entries from here on
    } kind = Kind::end;
    Item item = {};
  };
  // The entry at a position.  Errors: system.
  [[nodiscard]] virtual Result<Place> item_at(std::uint64_t /*position*/, bool /*may_wait*/) const {
    return Place{};
  }

  // Removes the names that no entry has.  May leave some of them: a folder that would have to look
  // for each name leaves them all.
  virtual void remove_absent(std::vector<std::string>& /*names*/) const {}

  // The descriptor of a directory on disk, which may be an O_PATH one; -1 for other folders.
  [[nodiscard]] virtual int fd() const noexcept { return -1; }

  // The content that probe() looks for in an entry of that name.
  [[nodiscard]] virtual Expected expected(const std::string& name) const;
  // Whether probe() may find something else in an entry than the entry itself.
  [[nodiscard]] bool may_be_special(const Item& item) const;
};

// A directory on disk.  Lifetime: `probe` and `names` outlive it.
class DiskFolder final : public Folder {
 public:
  // `key` is the directory's; without `names`, all names are looked for.
  DiskFolder(UniqueFd directory, SourceProbe& probe, const FileKey& key = {},
             DirectoryNames* names = nullptr)
      : directory_(std::move(directory)), probe_(probe), key_(key), names_(names) {}

  // Entries that `as_is` covers have nothing to look for in them.  `path` is the directory's in the
  // mount, "." for the root; KnownSummaries find its files by it.  Lifetime: `as_is` outlives the
  // folder.
  void show_as_is(const AsIsNames& as_is, std::string path) {
    if (!as_is.is_empty()) as_is_ = &as_is;
    path_ = std::move(path);
  }

  [[nodiscard]] Result<std::vector<Item>> items() const override;
  [[nodiscard]] Result<SourceEntry> probe(const std::string& name) const override {
    return probe_.probe_as(directory_.get(), name, expected(name), nullptr, path_in(path_, name));
  }
  [[nodiscard]] Result<FrameSummary> summary_of(const Item& item) const override;
  [[nodiscard]] Expected expected(const std::string& name) const override;
  void remove_absent(std::vector<std::string>& names) const override {
    if (names_ != nullptr) names_->remove_absent(directory_.get(), key_, names);
  }
  [[nodiscard]] int fd() const noexcept override { return directory_.get(); }

 private:
  const UniqueFd directory_;
  SourceProbe& probe_;
  const FileKey key_;
  DirectoryNames* const names_;
  const AsIsNames* as_is_ = nullptr;
  std::string path_;
};

// A folder that remembers which names were absent and does not look for them again.  It serves one
// request, which asks for the same names several times.  Threads: one.  Lifetime: `folder` outlives
// it.
class NegativeLookupCache final : public Folder {
 public:
  explicit NegativeLookupCache(const Folder& folder) : folder_(folder) {}

  Result<std::vector<Item>> items() const override { return folder_.items(); }
  Result<SourceEntry> probe(const std::string& name) const override;
  void remove_absent(std::vector<std::string>& names) const override;
  [[nodiscard]] Expected expected(const std::string& name) const override {
    return folder_.expected(name);
  }

 private:
  [[nodiscard]] bool is_known_absent(const std::string& name) const;

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

  [[nodiscard]] Result<std::vector<Item>> items() const override;
  [[nodiscard]] Result<SourceEntry> probe(const std::string& name) const override;
  [[nodiscard]] Expected expected(const std::string&) const override { return expected_; }

 private:
  const UniqueFd directory_;
  const std::string name_;
  const Expected expected_;
  SourceProbe& probe_;
};

}  // namespace framefs::fs
