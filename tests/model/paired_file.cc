#include "tests/model/paired_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/core.h>

namespace framefs::test {
namespace {

using fs::UniqueFd;

// Mappings begin at pages of the machine, and so do transfers with O_DIRECT here.
const auto kPage = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));

std::string error_text(int error) {
  return error == 0 ? "success" : std::error_code(error, std::generic_category()).message();
}

Finding failed(const char* what) { return fmt::format("{}: {}", what, error_text(errno)); }

// The result of a call, and its errno.
struct Answer {
  std::int64_t result = 0;
  int error = 0;
  bool operator==(const Answer&) const = default;
};
template <class Call>
Answer answer_of(const Call& call) {
  errno = 0;
  const auto result = static_cast<std::int64_t>(call());
  return {result, result < 0 ? errno : 0};
}

// Makes a call on both descriptors and compares the answers.
template <class Call>
Finding on_both(const char* what, const UniqueFd& tested, const UniqueFd& plain, const Call& call) {
  const auto wanted = answer_of([&] { return call(plain.get()); });
  const auto got = answer_of([&] { return call(tested.get()); });
  if (got == wanted) return {};
  return fmt::format("{} gave {} ({}), not {} ({})", what, got.result, error_text(got.error),
                     wanted.result, error_text(wanted.error));
}

off_t off(std::uint64_t offset) { return static_cast<off_t>(offset); }

// A mapping of a file's bytes [offset, offset + size), for any offset.
class Mapping {
 public:
  Mapping(int fd, std::uint64_t offset, std::uint64_t size, int protection)
      : skip_(offset % kPage),
        size_(skip_ + size),
        address_(::mmap(nullptr, size_, protection, MAP_SHARED, fd, off(offset - skip_))) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (*this) ::munmap(address_, size_);
  }

  [[nodiscard]] explicit operator bool() const { return address_ != MAP_FAILED; }
  [[nodiscard]] std::span<std::byte> bytes() const {
    return std::span(static_cast<std::byte*>(address_), size_).subspan(skip_);
  }
  [[nodiscard]] int sync() const { return ::msync(address_, size_, MS_SYNC); }

 private:
  const std::uint64_t skip_;
  const std::uint64_t size_;
  void* const address_;
};

// Memory with the alignment that O_DIRECT requires.
struct FreeDeleter {
  void operator()(std::byte* memory) const { std::free(memory); }  // NOLINT: of aligned_alloc()
};
using AlignedMemory = std::unique_ptr<std::byte, FreeDeleter>;
AlignedMemory aligned_memory(std::uint64_t size) {
  return AlignedMemory(static_cast<std::byte*>(std::aligned_alloc(kPage, size)));
}

}  // namespace

Finding PairedFile::open() {
  constexpr mode_t kMode = 0644;
  mounted() = UniqueFd(::open(tested_path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode));
  if (!mounted()) return failed("open");
  for (std::size_t i = 0; i < tested_.size(); ++i) {
    if (tested_[i]) continue;
    const auto path = folders_.tested[i] + "/" + name_;
    tested_[i] = UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!tested_[i]) return failed("open in another mount");
  }
  plain_ = UniqueFd(::open(plain_path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode));
  if (!plain_) return failed("open of the plain file");
  return compare_sizes();
}

// Other mounts see what has been committed.
Finding PairedFile::change_mount() {
  if (::fsync(mounted().get()) != 0) return failed("fsync before another mount is used");
  mount_ = (mount_ + 1) % tested_.size();
  return compare_sizes();
}

Finding PairedFile::close_once() {
  const auto found = on_both("close", mounted(), plain_, [](int fd) { return ::close(fd); });
  std::ignore = mounted().release();
  std::ignore = plain_.release();
  return found;
}

Finding PairedFile::close() {
  auto found = close_once();
  for (auto& fd : tested_) {
    if (fd && ::close(fd.release()) != 0 && !found) found = failed("close in another mount");
  }
  return found;
}

Finding PairedFile::perform(const Operation& operation) {
  if (options_.header_bytes > 0 && operation.seed % 8 == 0) return check_refusals(operation);
  switch (operation.kind) {
    case OperationKind::write:
      return write(operation);
    case OperationKind::append:
      return append(operation);
    case OperationKind::truncate:
      return truncate(operation);
    case OperationKind::punch:
      return allocate(operation, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
    case OperationKind::zero:
      return allocate(operation,
                      FALLOC_FL_ZERO_RANGE | (operation.seed % 2 == 0 ? FALLOC_FL_KEEP_SIZE : 0));
    case OperationKind::allocate:
      return allocate(operation, operation.seed % 2 == 0 ? FALLOC_FL_KEEP_SIZE : 0);
    case OperationKind::mmap_write:
      return write_mapped(operation);
    case OperationKind::write_direct:
      return write_direct(operation);
    case OperationKind::sync:
      return sync(operation);
    case OperationKind::reopen:
      return reopen(operation);
    case OperationKind::read:
      return read(operation);
    case OperationKind::seek:
      return seek(operation);
    case OperationKind::check:
      return check_all(operation.seed);
    case OperationKind::rename:
    case OperationKind::set_xattr:
      break;  // not for a single file, or not about bytes
  }
  return {};
}

Finding PairedFile::write(const Operation& operation) {
  auto [kind, offset, size, seed] = operation;
  if (options_.header_bytes > 0) {
    offset = std::max(offset, options_.header_bytes);
    if (offset >= size_) return {};
    size = std::min(size, size_ - offset);
  }
  Bytes data(size);
  fill_data(data, seed);
  auto found = on_both("write", mounted(), plain_,
                       [&](int fd) { return ::pwrite(fd, data.data(), data.size(), off(offset)); });
  size_ = std::max(size_, offset + size);
  return found;
}

// Appends through a separate descriptor.
Finding PairedFile::append(const Operation& operation) {
  const UniqueFd tested(::open(tested_path().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  const UniqueFd plain(::open(plain_path().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!tested || !plain) return failed("open to append");
  Bytes data(operation.size);
  fill_data(data, operation.seed);
  auto found = on_both("append", tested, plain,
                       [&](int fd) { return ::write(fd, data.data(), data.size()); });
  size_ += operation.size;
  return found;
}

Finding PairedFile::write_mapped(const Operation& operation) {
  auto offset = std::max(operation.offset, options_.header_bytes);
  if (offset >= size_) return {};
  Bytes data(std::min(operation.size, size_ - offset));
  fill_data(data, operation.seed);
  const Mapping mapping(mounted().get(), offset, data.size(), PROT_READ | PROT_WRITE);
  if (!mapping) return failed("mmap");
  std::memcpy(mapping.bytes().data(), data.data(), data.size());
  if (::pwrite(plain_.get(), data.data(), data.size(), off(offset)) !=
      static_cast<ssize_t>(data.size())) {
    return failed("write to the plain file");
  }
  if (operation.seed % 2 == 0 && mapping.sync() != 0) return failed("msync");
  return {};
}

Finding PairedFile::write_direct(const Operation& operation) {
  const auto offset = operation.offset / kPage * kPage;
  const auto size = (operation.size + kPage - 1) / kPage * kPage;
  const UniqueFd tested(::open(tested_path().c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC));
  if (!tested) return failed("open with O_DIRECT");
  const auto memory = aligned_memory(size);
  const std::span data(memory.get(), size);
  fill_data(data, operation.seed);
  const auto written = ::pwrite(tested.get(), data.data(), size, off(offset));
  if (written != static_cast<ssize_t>(size)) return failed("write with O_DIRECT");
  if (::pwrite(plain_.get(), data.data(), size, off(offset)) != written) {
    return failed("write to the plain file");
  }
  size_ = std::max(size_, offset + size);
  return {};
}

Finding PairedFile::truncate(const Operation& operation) {
  auto found = operation.seed % 2 == 0
                   ? on_both("ftruncate", mounted(), plain_,
                             [&](int fd) { return ::ftruncate(fd, off(operation.offset)); })
                   : Finding();
  if (operation.seed % 2 != 0 && (::truncate(tested_path().c_str(), off(operation.offset)) != 0 ||
                                  ::truncate(plain_path().c_str(), off(operation.offset)) != 0)) {
    found = failed("truncate");
  }
  size_ = operation.offset;
  return found ? found : compare_sizes();
}

Finding PairedFile::allocate(const Operation& operation, int mode) {
  auto found = on_both("fallocate", mounted(), plain_, [&](int fd) {
    return ::fallocate(fd, mode, off(operation.offset), off(operation.size));
  });
  if ((mode & FALLOC_FL_KEEP_SIZE) == 0) size_ = std::max(size_, operation.offset + operation.size);
  return found ? found : compare_sizes();
}

Finding PairedFile::sync(const Operation& operation) {
  const int result =
      operation.seed % 2 == 0 ? ::fsync(mounted().get()) : ::fdatasync(mounted().get());
  if (result != 0) return failed("sync");
  return check_all(operation.seed);
}

Finding PairedFile::reopen(const Operation& operation) {
  // Sometimes another descriptor stays open until the first is closed and opened again.
  UniqueFd other;
  if (operation.seed % 3 == 0)
    other = UniqueFd(::open(tested_path().c_str(), O_RDONLY | O_CLOEXEC));
  if (auto found = close_once()) return found;
  if (operation.seed % 16 == 1 && options_.header_bytes == 0) {
    mounted() = UniqueFd(::open(tested_path().c_str(), O_RDWR | O_TRUNC | O_CLOEXEC));
    plain_ = UniqueFd(::open(plain_path().c_str(), O_RDWR | O_TRUNC | O_CLOEXEC));
    size_ = 0;
    if (!mounted() || !plain_) return failed("open with O_TRUNC");
    return check_all(operation.seed);
  }
  if (auto found = open()) return found;
  return operation.seed % 4 == 0 ? check_all(operation.seed) : Finding();
}

Finding PairedFile::rename(const std::string& name) {
  const auto tested = tested_path();
  const auto plain = plain_path();
  const auto old = std::exchange(name_, name);
  if (::rename(tested.c_str(), tested_path().c_str()) != 0) return failed("rename");
  if (::rename(plain.c_str(), plain_path().c_str()) != 0) return failed("rename of the plain file");
  for (const auto& folder : folders_.tested) {
    struct stat st{};
    if (::stat((folder + "/" + name).c_str(), &st) != 0) return failed("stat of the new name");
    if (::stat((folder + "/" + old).c_str(), &st) == 0 || errno != ENOENT) {
      return fmt::format("the old name {} is still in {}", old, folder);
    }
  }
  return {};
}

Finding PairedFile::read(const Operation& operation) {
  if (operation.offset >= size_) {
    std::byte one{};
    return on_both("read behind the end", mounted(), plain_,
                   [&](int fd) { return ::pread(fd, &one, 1, off(operation.offset)); });
  }
  return compare(operation.offset, std::min(operation.size, size_ - operation.offset),
                 draw_way(operation.seed));
}

// Each filesystem decides where holes are.  But holes must read as zeros, and offsets after the end
// have no data.
Finding PairedFile::seek(const Operation& operation) {
  const auto at = off(operation.offset);
  const auto data = answer_of([&] { return ::lseek(mounted().get(), at, SEEK_DATA); });
  const auto hole = answer_of([&] { return ::lseek(mounted().get(), at, SEEK_HOLE); });
  if (operation.offset >= size_) {
    if (data.error == ENXIO && hole.error == ENXIO) return {};
    return fmt::format("a seek behind the end gave {} and {}", data.result, hole.result);
  }
  const bool is_hole_right = hole.result >= at && std::cmp_less_equal(hole.result, size_);
  const bool is_data_right =
      data.error == ENXIO || (data.result >= at && std::cmp_less(data.result, size_));
  if (!is_hole_right || !is_data_right) {
    return fmt::format("SEEK_HOLE gave {}, SEEK_DATA {} ({})", hole.result, data.result,
                       error_text(data.error));
  }
  const auto end = data.result < 0 ? size_ : static_cast<std::uint64_t>(data.result);
  Bytes bytes(end - operation.offset);
  if (!fs::read_fully(plain_.get(), operation.offset, bytes))
    return failed("read of the plain file");
  if (std::ranges::any_of(bytes, [](std::byte b) { return b != std::byte{0}; })) {
    return fmt::format("no data is said to be before {}", end);
  }
  return {};
}

// Checks that operations which would damage an array's shape or NumPy header are refused.
Finding PairedFile::check_refusals(const Operation& operation) {
  const auto refuses = [&](const char* what, const Answer& answer) -> Finding {
    if (answer.error == EPERM) return {};
    return fmt::format("{} gave {} ({}), not EPERM", what, answer.result, error_text(answer.error));
  };
  const auto fd = mounted().get();
  const std::byte one{'x'};
  switch (operation.seed / 8 % 4) {
    case 0:
      return refuses("a write to the header", answer_of([&] {
                       return ::pwrite(fd, &one, 1, off(operation.offset % options_.header_bytes));
                     }));
    case 1:
      return refuses("a write behind the end", answer_of([&] {
                       return ::pwrite(fd, &one, 1, off(size_ + operation.offset));
                     }));
    case 2:
      return refuses("ftruncate",
                     answer_of([&] { return ::ftruncate(fd, off(operation.offset % size_)); }));
    default:
      return refuses("ftruncate", answer_of([&] { return ::ftruncate(fd, off(size_ + 1)); }));
  }
}

Finding PairedFile::check_all(std::uint32_t seed) {
  if (auto found = compare_sizes()) return found;
  return compare(0, size_, draw_way(seed));
}

PairedFile::ReadBy PairedFile::draw_way(std::uint32_t seed) const {
  constexpr ReadBy kWays[] = {ReadBy::cached, ReadBy::mapped, ReadBy::uncached, ReadBy::direct};
  return kWays[seed / 16 % (options_.direct ? 4 : 3)];
}

Finding PairedFile::read_mapped(std::uint64_t offset, Bytes& out) const {
  const Mapping mapping(mounted().get(), offset, out.size(), PROT_READ);
  if (!mapping) return failed("mmap");
  std::ranges::copy(mapping.bytes(), out.begin());
  return {};
}

Finding PairedFile::read_direct(std::uint64_t offset, Bytes& out) const {
  const UniqueFd direct(::open(tested_path().c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
  if (!direct) return failed("open with O_DIRECT");
  const auto skip = offset % kPage;
  const auto size = (skip + out.size() + kPage - 1) / kPage * kPage;
  const auto memory = aligned_memory(size);
  for (std::uint64_t done = 0; done < skip + out.size();) {
    const auto got =
        ::pread(direct.get(), memory.get() + done, size - done, off(offset - skip + done));
    if (got <= 0) return failed("read with O_DIRECT");
    done += static_cast<std::uint64_t>(got);
  }
  std::copy_n(memory.get() + skip, out.size(), out.begin());
  return {};
}

Finding PairedFile::read_tested(ReadBy way, std::uint64_t offset, Bytes& out) const {
  if (way == ReadBy::mapped) return read_mapped(offset, out);
  if (way == ReadBy::direct) return read_direct(offset, out);
  // Otherwise the kernel would return the written bytes from its own cache.
  if (way == ReadBy::uncached) ::posix_fadvise(mounted().get(), 0, 0, POSIX_FADV_DONTNEED);
  if (!fs::read_fully(mounted().get(), offset, out)) return failed("read");
  return {};
}

Finding PairedFile::compare(std::uint64_t offset, std::uint64_t size, ReadBy way) const {
  if (size == 0) return {};
  constexpr const char* kWays[] = {"cached", "uncached", "mapped", "direct"};
  const auto* const name = kWays[static_cast<std::size_t>(way)];
  Bytes wanted(size);
  if (!fs::read_fully(plain_.get(), offset, wanted)) return failed("read of the plain file");
  Bytes got(size);
  if (auto found = read_tested(way, offset, got)) {
    return fmt::format("{} bytes from {}, {}: {}", size, offset, name, *found);
  }
  const auto differs = std::ranges::mismatch(got, wanted);
  if (differs.in1 == got.end()) return {};
  const auto first = static_cast<std::uint64_t>(differs.in1 - got.begin());
  std::uint64_t count = 0;
  for (auto i = first; i < size; ++i) count += got[i] == wanted[i] ? 0U : 1U;
  return fmt::format("{} bytes from {}, {}: {} differ, the first at {}: {:02x}, not {:02x}", size,
                     offset, name, count, offset + first, std::to_integer<int>(got[first]),
                     std::to_integer<int>(wanted[first]));
}

Finding PairedFile::compare_sizes() {
  struct stat tested{};
  struct stat plain{};
  if (::fstat(plain_.get(), &plain) != 0) return failed("fstat of the plain file");
  if (::fstat(mounted().get(), &tested) != 0) return failed("fstat");
  size_ = static_cast<std::uint64_t>(plain.st_size);
  if (tested.st_size == plain.st_size) return {};
  return fmt::format("the size is {}, not {}", tested.st_size, plain.st_size);
}

}  // namespace framefs::test
