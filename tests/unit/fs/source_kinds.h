#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "fs/source/folder.h"
#include "fs/tree/names/name_map.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/small_frames.h"

namespace framefs::fs {

// The kind of an entry of SOURCE, whatever its name.
enum class Kind {
  frame,
  damaged_frame,
  array,
  opaque_array,  // without a NumPy name
  sparse_frame,
  sparse_array,
  sparse_index,  // without the directory around it
  text,
  folder,
  link,
  fifo
};
inline constexpr std::array kKinds = {Kind::frame,        Kind::damaged_frame, Kind::array,
                                      Kind::opaque_array, Kind::sparse_frame,  Kind::sparse_array,
                                      Kind::sparse_index, Kind::text,          Kind::folder,
                                      Kind::link,         Kind::fifo};

using Files = std::map<std::string, Kind>;  // name in SOURCE

struct Shown {
  std::string source;
  ShownAs shown_as = ShownAs::itself;
  auto operator<=>(const Shown&) const = default;
};
using Listing = std::map<std::string, Shown>;  // by the name in the mount

inline std::ostream& operator<<(std::ostream& out, const Shown& shown) {
  return out << '"' << shown.source << "\" as " << static_cast<int>(shown.shown_as);
}

// One line per name, for messages of failing checks.
inline std::string text_of(const Listing& listing) {
  std::ostringstream out;
  for (const auto& [name, shown] : listing) out << '"' << name << "\": " << shown << '\n';
  return out.str();
}

// A folder on disk.
class SourceFiles {
 public:
  explicit SourceFiles(const Files& files = {}) {
    for (const auto& [name, kind] : files) add(name, kind);
  }

  void add(const std::string& name, Kind kind) const {
    const auto path = temp_.path() / name;
    switch (kind) {
      case Kind::frame:
        temp_.write(name, test::small_frame(100));
        break;
      case Kind::damaged_frame:
        temp_.write(name, test::damaged_frame());
        break;
      case Kind::array:
        temp_.write(name, test::small_array(10));
        break;
      case Kind::opaque_array:
        temp_.write(name, test::small_opaque_array(10));
        break;
      case Kind::sparse_frame:
        test::write_sparse_frame(path, test::small_sparse_frame(100));
        break;
      case Kind::sparse_array:
        test::write_sparse_frame(path, test::build_sparse_frame(test::small_array_frame(10)));
        break;
      case Kind::sparse_index:
        temp_.write(name, test::sparse_index(100));
        break;
      case Kind::text:
        temp_.write(name, "text");
        break;
      case Kind::folder:
        REQUIRE(std::filesystem::create_directory(path));
        break;
      case Kind::link:
        std::filesystem::create_symlink("target.b2", path);
        break;
      case Kind::fifo:
        REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
        break;
    }
  }
  [[nodiscard]] const std::filesystem::path& path() const { return temp_.path(); }
  [[nodiscard]] UniqueFd open(const std::string& name = ".") const {
    UniqueFd fd(::open((path() / name).c_str(), O_PATH | O_CLOEXEC));
    REQUIRE(fd);
    return fd;
  }

 private:
  test::TempDirectory temp_;
};

struct NameTree {
  explicit NameTree(bool keep_suffix = false, ArrayViews arrays = ArrayViews::npy)
      : probe(codec::Limits{}), pool(2), directory(pool, keep_suffix, arrays) {}
  [[nodiscard]] DiskFolder folder(const SourceFiles& source) { return {source.open(), probe}; }
  SourceProbe probe;
  WorkerPool pool;
  NameMap directory;
};

// The result of list(), in which no name may occur twice.
inline Listing listed(const NameMap& directory, const Folder& folder) {
  const auto entries = directory.list(folder);
  REQUIRE(entries);
  Listing listing;
  for (const auto& [shown, source] : *entries) {
    CAPTURE(shown.name);
    CHECK(listing.emplace(shown.name, Shown{source.name, shown.shown_as}).second);
  }
  return listing;
}

// The result of find(), with an empty source if the name is not found.  `is_listed` says whether
// the name must be in a listing.
inline Shown found(const NameMap& directory, const Folder& folder, const std::string& name,
                   bool is_listed = true) {
  const auto result = directory.find(folder, name);
  if (result) {
    CHECK(result->is_listed == is_listed);
    return {result->source_name, result->shown_as};
  }
  CHECK(result.error().kind == Errc::system);
  CHECK(result.error().sys == ENOENT);
  return {};
}

// How find() must find a name that is not listed: a frame in SOURCE is found by its full name.
inline Shown unlisted(const Folder& folder, const Listing& listing, const std::string& name) {
  if (name.ends_with(".b2lock") || !folder.probe(name)) return {};
  Shown shown;
  for (const auto& [other, at] : listing) {
    // An array with two views is found as the bytes of the array.
    const bool is_first = shown.source.empty() || at.shown_as == ShownAs::array;
    if (at.source == name && is_first) shown = at;
  }
  return shown;
}

// Checks both directions: list() shows exactly the expected names, and find() finds these names,
// the full names of the frames, and none of the others in `names`.
inline void check_both(const NameMap& directory, const Folder& folder, const Listing& expected,
                       const std::set<std::string>& names) {
  CHECK(text_of(listed(directory, folder)) == text_of(expected));
  for (const auto& name : names) {
    CAPTURE(name);
    const auto at = expected.find(name);
    const bool is_listed = at != expected.end();
    CHECK(found(directory, folder, name, is_listed) ==
          (is_listed ? at->second : unlisted(folder, expected, name)));
  }
}

inline constexpr std::array<std::string_view, 4> kFrameSuffixes = {".b2frame", ".b2f", ".b2",
                                                                   ".b2b"};
inline constexpr std::string_view kArraySuffix = ".b2nd";

inline std::string without(std::string_view suffix, const std::string& name) {
  if (!name.ends_with(suffix)) return {};
  const auto stem = name.substr(0, name.size() - suffix.size());
  return stem == "." || stem == ".." ? std::string() : stem;
}

inline std::string stem_of(const std::string& name) {
  if (const auto stem = without(kArraySuffix, name); !stem.empty()) return stem;
  for (const auto suffix : kFrameSuffixes) {
    if (const auto stem = without(suffix, name); !stem.empty()) return stem;
  }
  return {};
}

// The names of all entries, and names that result from removing or adding suffixes.
inline std::set<std::string> names_around(const Files& files) {
  std::set<std::string> names{"absent"};
  for (const auto& [name, kind] : files) {
    for (const auto& base : {name, stem_of(name), stem_of(stem_of(name))}) {
      if (base.empty()) continue;
      names.insert(base);
      for (const auto* const suffix :
           {".b2frame", ".b2f", ".b2", ".b2b", ".b2nd", ".npy", ".npy.npy", ".b2nd.npy"}) {
        names.insert(base + suffix);
      }
    }
  }
  return names;
}

}  // namespace framefs::fs
