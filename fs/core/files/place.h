#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "fs/core/files/file.h"

namespace framefs::fs {

// Opens the entry at the path `relative`, which may have any length, below an open directory, and
// never through a symbolic link.  To open a link at its end, pass O_PATH | O_NOFOLLOW; O_CLOEXEC
// and O_NONBLOCK are implied.
// Errors: system; ELOOP or EXDEV if the path contains a link or "..".
Result<UniqueFd> open_beneath(int directory, const std::string& relative, int flags,
                              mode_t mode = 0);

// An entry of an open directory, which may not exist yet: the descriptor of the directory, and the
// name in it.  A command reads and writes by it, and not by a path: another user may replace a
// directory of the path by a link meanwhile.
// Threads: any number.
class Place {
 public:
  using Directory = std::shared_ptr<const UniqueFd>;

  // The entry at a path that the user gives.  Its directory is opened once, through links.  open()
  // follows a link at the entry itself.
  // Errors: system.
  static Result<Place> given(const std::filesystem::path& path);
  // The object at a path that the user gives, behind any links.  Errors: system.
  static Result<Place> behind_links(const std::filesystem::path& path);

  // `name` is one name, not a path.  `path` is for messages.
  Place(Directory directory, std::string name, std::string path)
      : directory_(std::move(directory)), name_(std::move(name)), path_(std::move(path)) {}

  [[nodiscard]] int directory() const noexcept { return directory_->get(); }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // For messages only.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  // Another name in the same directory.
  [[nodiscard]] Place beside(const std::string& name) const;

  // Opens the entry; a link only as given() says, or with O_PATH.  Errors: system; ELOOP for a
  // link.
  [[nodiscard]] Result<UniqueFd> open(int flags, mode_t mode = 0) const;
  // Opens the entry, which is a directory, for places in it.  Errors: as open(); ENOTDIR.
  [[nodiscard]] Result<Directory> open_directory() const;
  // Makes a directory, unless there is one.  Returns whether it is new.
  // Errors: system; ENOTDIR for anything else of that name, also for a link to a directory.
  [[nodiscard]] Result<bool> make_directory() const;
  // The attributes of the entry; of a link, its own.  Errors: system.
  [[nodiscard]] Result<struct stat> stat() const;
  [[nodiscard]] bool exists() const { return stat().has_value(); }

 private:
  Directory directory_;
  std::string name_;
  std::string path_;
  bool follows_ = false;
};

// Whether two places have the same object.
bool is_same_object(const Place& one, const Place& other);

// A directory that the user names, and everything below it.
// Threads: any number.
class Tree {
 public:
  // Opens the directory once, through links.  Errors: system.
  static Result<Tree> open(const std::filesystem::path& path);
  // The directory at a place, which is no link.  Errors: system.
  static Result<Tree> at(const Place& place);

  // The path of the directory itself, for messages.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // The path of an entry, for messages.
  [[nodiscard]] std::string path_of(const std::string& relative) const;
  [[nodiscard]] const Place::Directory& directory() const noexcept { return directory_; }

  // Opens the directory at a relative path of any length; "" is the tree's own.  Errors: as
  // open_beneath().
  [[nodiscard]] Result<Place::Directory> open_directory(const std::string& relative) const;
  // The entry at a relative path, whose directory exists.  Errors: as open_directory().
  [[nodiscard]] Result<Place> place(const std::string& relative) const;

 private:
  Tree(Place::Directory directory, std::string path)
      : directory_(std::move(directory)), path_(std::move(path)) {}

  Place::Directory directory_;
  std::string path_;
};

}  // namespace framefs::fs
