// failing_disk MEBIBYTES MOUNTPOINT: serves a file `disk` in memory, for a loop device, and a file
// `control`.  Each write to `control` is a command:
//
//   pattern     fail each write of a sector that holds the pattern of kPattern, until `none`
//   after N     fail all writes after N more; the first of them is torn: its first half is stored
//   none        fail no write
//
// Reading `control` tells how many writes have failed.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fuse.h>

namespace {

constexpr std::string_view kPattern = "POISON!POISON!PO";
constexpr const char* kDisk = "/disk";
constexpr const char* kControl = "/control";
constexpr std::size_t kSectorBytes = 512;

struct Disk {
  std::span<char> bytes;
  bool fails_pattern = false;
  std::optional<std::uint64_t> left;  // writes before all fail
  std::uint64_t failed = 0;
};

Disk& disk() { return *static_cast<Disk*>(fuse_get_context()->private_data); }

int get_attributes(const char* path, struct stat* st, fuse_file_info*) {
  const std::string_view name(path);
  *st = {};
  st->st_nlink = 1;
  st->st_mode = S_IFREG | 0600;
  if (name == "/") {
    st->st_mode = S_IFDIR | 0700;
  } else if (name == kDisk) {
    st->st_size = static_cast<off_t>(disk().bytes.size());
  } else if (name != kControl) {
    return -ENOENT;
  }
  return 0;
}

int open_file(const char*, fuse_file_info* info) {
  info->direct_io = 1;
  return 0;
}

int read_file(const char* path, char* out, std::size_t size, off_t offset, fuse_file_info*) {
  auto& self = disk();
  const auto text = std::to_string(self.failed);
  const auto all = std::string_view(path) == kDisk
                       ? std::span<const char>(self.bytes)
                       : std::span<const char>(text.data(), text.size());
  const auto at = std::min(all.size(), static_cast<std::size_t>(offset));
  const auto count = std::min(size, all.size() - at);
  std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(at), count, out);
  return static_cast<int>(count);
}

void obey(Disk& self, std::string_view command) {
  while (command.ends_with('\n')) command.remove_suffix(1);
  self.fails_pattern = command == "pattern";
  self.left.reset();
  constexpr std::string_view kAfter = "after ";
  if (!command.starts_with(kAfter)) return;
  command.remove_prefix(kAfter.size());
  std::uint64_t count = 0;
  std::from_chars(command.data(), command.data() + command.size(), count);
  self.left = count;
}

int write_file(const char* path, const char* bytes, std::size_t size, off_t offset,
               fuse_file_info*) {
  auto& self = disk();
  const std::string_view content(bytes, size);
  if (std::string_view(path) == kControl) {
    obey(self, content);
    return static_cast<int>(size);
  }
  const auto at = static_cast<std::size_t>(offset);
  if (at > self.bytes.size() || size > self.bytes.size() - at) return -ENOSPC;
  auto stored = size;
  if (self.fails_pattern && content.find(kPattern) != std::string_view::npos) stored = 0;
  if (self.left && *self.left == 0) stored = 0;
  if (self.left && *self.left == 1) stored = size / 2 / kSectorBytes * kSectorBytes;
  if (self.left && *self.left > 0) --*self.left;
  std::copy_n(bytes, stored, self.bytes.begin() + offset);
  if (stored == size) return static_cast<int>(size);
  ++self.failed;
  return -EIO;
}

int truncate_file(const char*, off_t, fuse_file_info*) { return 0; }
int sync_file(const char*, int, fuse_file_info*) { return 0; }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::size_t mebibytes = 0;
  std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), mebibytes);
  const auto size = mebibytes << 20;
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return 1;
  Disk self;
  self.bytes = {static_cast<char*>(memory), size};
  fuse_operations operations{};
  operations.getattr = get_attributes;
  operations.open = open_file;
  operations.read = read_file;
  operations.write = write_file;
  operations.truncate = truncate_file;
  operations.fsync = sync_file;
  std::string name = "failing_disk";
  std::string foreground = "-f";
  std::string one_thread = "-s";
  char* arguments[] = {name.data(), argv[2], foreground.data(), one_thread.data(), nullptr};
  return fuse_main(4, arguments, &operations, &self);
}
