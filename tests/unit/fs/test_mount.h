#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/tree/filesystem.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/small_frames.h"
#include "tests/unit/fs/test_log.h"

namespace framefs::fs {

// A filesystem over a folder of its own, or over one entry of it.  It is created on first use, so
// that tests can fill the folder before.
class Mount {
 public:
  // `options.source` is a path in the folder.  The other options are used as they are.
  explicit Mount(MountOptions options = {}) : options_(std::move(options)) {
    options_.source = options_.source.empty() ? folder_.path() : folder_.path() / options_.source;
    options_.threads = 2;
  }
  static MountOptions of(const std::string& source) {
    MountOptions options;
    options.source = source;
    return options;
  }

  Filesystem& fs() {
    if (!fs_) {
      auto opened = Filesystem::open(options_, log_.log(), watcher);
      REQUIRE(opened);
      fs_ = std::move(*opened);
    }
    return *fs_;
  }

  [[nodiscard]] std::filesystem::path path(const std::string& name) const {
    return folder_.path() / name;
  }
  // Every state of a file gets its own times, because two writes can have the same clock tick.
  void write(const std::string& name, std::span<const std::byte> content) {
    folder_.write(name, content);
    touch(name);
  }
  void write(const std::string& name, std::string_view content) {
    write(name, std::as_bytes(std::span(content)));
  }
  void write(const std::string& name, const test::BuiltSparseFrame& frame) {
    test::write_sparse_frame(path(name), frame);
    touch(name + "/chunks.b2frame");
  }
  void touch(const std::string& name) {
    const timespec time{.tv_sec = ++clock_, .tv_nsec = 0};
    const timespec times[] = {time, time};
    REQUIRE(::utimensat(AT_FDCWD, path(name).c_str(), times, 0) == 0);
  }
  [[nodiscard]] struct stat stat(const std::string& name) const {
    struct stat st{};
    REQUIRE(::lstat(path(name).c_str(), &st) == 0);
    return st;
  }

  NodeEntry lookup(const std::string& name, NodeId parent = kRootNode) {
    const auto entry = fs().tree().lookup(parent, name);
    CAPTURE(name);
    REQUIRE(entry);
    return *entry;
  }
  int lookup_error(const std::string& name, NodeId parent = kRootNode) {
    const auto entry = fs().tree().lookup(parent, name);
    return entry ? 0 : entry.error().sys;
  }
  OpenedFile open(NodeId id) {
    auto opened = fs().contents().open(id, O_RDONLY);
    REQUIRE(opened);
    return std::move(*opened);
  }
  Result<test::Bytes> read(OpenFile& file, std::uint64_t offset, std::uint64_t size) {
    FRAMEFS_TRY(const auto result, fs().contents().read(file, offset, size));
    test::Bytes all;
    for (const auto& span : result.spans) test::append(all, span);
    return all;
  }
  // All bytes of a shown file.
  test::Bytes read_all(NodeId id) {
    const auto opened = open(id);
    auto bytes = read(*opened.file, 0, 1u << 20);
    fs().contents().close(*opened.file);
    REQUIRE(bytes);
    return *bytes;
  }
  test::Bytes read_all(const std::string& shown_name) { return read_all(lookup(shown_name).id); }
  // The names shown in a directory.
  std::vector<std::string> names(NodeId id = kRootNode) {
    const auto directory = fs().tree().open_directory(id);
    REQUIRE(directory);
    const auto entries = fs().tree().list(**directory);
    REQUIRE(entries);
    std::vector<std::string> names;
    for (const auto& entry : *entries) names.push_back(entry.shown.name);
    std::ranges::sort(names);
    return names;
  }
  [[nodiscard]] std::vector<std::string> lines() const { return log_.lines(); }

  SourceProbe::Watcher watcher = nullptr;  // to be set before the filesystem is first asked for

 private:
  test::TempDirectory folder_;
  MountOptions options_;
  test::TestLog log_;
  std::unique_ptr<Filesystem> fs_;
  time_t clock_ = 1'000'000;
};

}  // namespace framefs::fs
