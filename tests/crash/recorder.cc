// Preloaded into a process; records all that the process does to the files below a folder.  See
// record.h.
//
// The functions below are all that the daemon calls.  The replay proves that none is missing: it
// must arrive at exactly the files in the folder.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tests/crash/record.h"

namespace framefs::test {
namespace {

std::uint64_t wide(long number) { return static_cast<std::uint64_t>(number); }

// Makes a system call through the real syscall(), because this file replaces libc's wrappers.
template <class... Arguments>
long call(long number, Arguments... arguments) {
  static const auto real = [] {
    // POSIX guarantees that a result of dlsym() can be converted to a function pointer.
    return reinterpret_cast<long (*)(long, ...)>(::dlsym(RTLD_NEXT, "syscall"));
  }();
  return real(number, arguments...);
}

// Preserves errno for the caller of the replaced function.
class KeptErrno {
 public:
  KeptErrno() = default;
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;
  ~KeptErrno() { errno = kept_; }

 private:
  const int kept_ = errno;
};

class Recorder {
 public:
  static Recorder& get() {
    static Recorder recorder;
    return recorder;
  }

  // Held during a change and its record, so that the log has the changes in their true order.
  class Held {
   public:
    explicit Held(Recorder& recorder) : log_(recorder.log_), lock_(recorder.mutex_) {
      while (log_ >= 0 && call(SYS_flock, log_, LOCK_EX) != 0 && errno == EINTR) {
      }
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() {
      const KeptErrno kept;
      if (log_ >= 0) call(SYS_flock, log_, LOCK_UN);
    }

   private:
    const int log_;  // its lock excludes other processes, the mutex other threads
    const std::unique_lock<std::mutex> lock_;
  };
  [[nodiscard]] Held hold() { return Held(*this); }

  // The path relative to SOURCE; nothing for a path outside it.
  [[nodiscard]] std::optional<std::string> below_source(const std::string& path) const {
    if (log_ < 0 || !path.starts_with(source_)) return std::nullopt;
    if (path.size() == source_.size()) return ".";
    if (path[source_.size()] != '/') return std::nullopt;
    return path.substr(source_.size() + 1);
  }
  [[nodiscard]] std::optional<std::string> below_source(int fd) const {
    if (log_ < 0) return std::nullopt;
    return below_source(path_of(fd));
  }
  [[nodiscard]] std::optional<std::string> below_source(int directory, const char* name) const {
    if (log_ < 0 || name == nullptr) return std::nullopt;
    if (name[0] == '/') return below_source(std::string(name));
    std::string path = path_of(directory) + "/" + name;
    while (path.ends_with("/.")) path.resize(path.size() - 2);
    return below_source(path);
  }

  void write(RecordHead head, const std::string& path, const std::string& path2 = {},
             std::span<const std::byte> data = {}) const {
    head.path_size = static_cast<std::uint32_t>(path.size());
    head.path2_size = static_cast<std::uint32_t>(path2.size());
    head.data_size = data.size();
    const auto stored = as_stored(head);
    std::vector<std::byte> all;
    all.reserve(stored.size() + path.size() + path2.size() + data.size());
    const auto add = [&all](std::span<const std::byte> bytes) {
      all.insert(all.end(), bytes.begin(), bytes.end());
    };
    add(stored);
    add(std::as_bytes(std::span(path)));
    add(std::as_bytes(std::span(path2)));
    add(data);
    // A log with a gap would prove nothing.
    const long size = call(SYS_write, log_, all.data(), all.size());
    if (size != static_cast<long>(all.size())) ::abort();
  }

  // Unique among the processes that write to the log.
  [[nodiscard]] std::uint64_t next_sync() {
    constexpr int kCountBits = 32;
    return wide(::getpid()) << kCountBits | ++syncs_;
  }

 private:
  Recorder() {
    const char* const source = std::getenv(kRecordSource);
    const char* const log = std::getenv(kRecordLog);
    if (source == nullptr || log == nullptr) return;
    source_ = source;
    log_ = static_cast<int>(
        call(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  }

  static std::string path_of(int fd) {
    const std::string link =
        fd == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/" + std::to_string(fd);
    std::string path(PATH_MAX, '\0');
    const auto size = ::readlink(link.c_str(), path.data(), path.size());
    path.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return path;
  }

  std::mutex mutex_;
  std::string source_;
  int log_ = -1;
  std::atomic<std::uint64_t> syncs_ = 0;
};

// The log is open before the daemon does anything, so that it counts among the files that are open
// from the start.
[[gnu::constructor]] void open_log() { Recorder::get(); }

std::uint64_t inode_of(int fd) {
  struct stat st{};
  return ::fstat(fd, &st) == 0 ? st.st_ino : 0;
}

constexpr std::uint64_t kUnnamed = O_TMPFILE & ~O_DIRECTORY;

// Records an open that may have created its file.
void note_open(int fd, std::uint64_t flags) {
  const KeptErrno kept;
  const auto path = Recorder::get().below_source(fd);
  if (!path) return;
  const auto inode = inode_of(fd);
  if ((flags & kUnnamed) != 0) {
    Recorder::get().write({.kind = RecordKind::open_unnamed, .inode = inode}, {});
    return;
  }
  if ((flags & O_CREAT) != 0)
    Recorder::get().write({.kind = RecordKind::create, .inode = inode}, *path);
  if ((flags & O_TRUNC) != 0)
    Recorder::get().write({.kind = RecordKind::truncate, .inode = inode}, *path);
}

bool may_change(std::uint64_t flags) { return (flags & (O_CREAT | O_TRUNC | kUnnamed)) != 0; }

template <class Open>
int recorded_open(std::uint64_t flags, const Open& open) {
  if (!may_change(flags)) return static_cast<int>(open());
  const auto held = Recorder::get().hold();
  const auto fd = static_cast<int>(open());
  if (fd >= 0) note_open(fd, flags);
  return fd;
}

// Without an offset, data is written at the file position, which is then after the data.
template <class Write>
ssize_t recorded_write(int fd, std::optional<off_t> offset, std::span<const iovec> parts,
                       const Write& write) {
  auto& recorder = Recorder::get();
  const auto held = recorder.hold();
  const ssize_t written = write();
  if (written <= 0) return written;
  const KeptErrno kept;
  const auto path = recorder.below_source(fd);
  if (!path) return written;
  std::vector<std::byte> data;
  for (const auto& part : parts) {
    const auto* const begin = static_cast<const std::byte*>(part.iov_base);
    data.insert(data.end(), begin, begin + part.iov_len);
  }
  data.resize(static_cast<std::size_t>(written));
  const auto begin = offset ? *offset : ::lseek(fd, 0, SEEK_CUR) - written;
  recorder.write({.kind = RecordKind::write, .inode = inode_of(fd), .offset = wide(begin)}, *path,
                 {}, data);
  return written;
}

template <class Change>
int recorded_change(int fd, RecordHead head, const Change& change) {
  auto& recorder = Recorder::get();
  const auto held = recorder.hold();
  const auto result = static_cast<int>(change());
  if (result != 0) return result;
  const KeptErrno kept;
  if (const auto path = recorder.below_source(fd)) {
    head.inode = inode_of(fd);
    recorder.write(head, *path);
  }
  return result;
}

// Many threads may sync at once, so the lock is held only at the beginning and at the end.
template <class Sync>
int recorded_sync(int fd, RecordKind kind, const Sync& sync) {
  auto& recorder = Recorder::get();
  std::optional<std::string> path;
  std::uint64_t number = 0;
  {
    const auto held = recorder.hold();  // or it is renamed before the record
    path = recorder.below_source(fd);
    number = recorder.next_sync();
    if (path) recorder.write({.kind = kind, .inode = inode_of(fd), .size = number}, *path);
  }
  const auto result = static_cast<int>(sync());
  if (path && result == 0) {
    const KeptErrno kept;
    const auto held = recorder.hold();
    recorder.write({.kind = RecordKind::sync_end, .size = number}, *path);
  }
  return result;
}

template <class Change>
int recorded_name(RecordHead head, int directory, const char* name, int directory2,
                  const char* name2, const Change& change) {
  auto& recorder = Recorder::get();
  const auto held = recorder.hold();
  const auto path = recorder.below_source(directory, name);
  const auto path2 = recorder.below_source(directory2, name2);
  const auto result = static_cast<int>(change());
  if (result != 0) return result;
  const KeptErrno kept;
  if (head.kind == RecordKind::link && path2 && name2 != nullptr) {
    struct stat st{};
    if (::fstatat(directory2, name2, &st, AT_SYMLINK_NOFOLLOW) == 0) head.inode = st.st_ino;
  }
  if (path || path2) recorder.write(head, path.value_or(""), path2.value_or(""));
  return result;
}

template <class Change>
int recorded_name(RecordKind kind, int directory, const char* name, const Change& change) {
  return recorded_name({.kind = kind}, directory, name, AT_FDCWD, nullptr, change);
}

mode_t mode_of(int flags, std::va_list arguments) {
  const bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return creates ? va_arg(arguments, mode_t) : 0;
}

}  // namespace
}  // namespace framefs::test

// --- The replaced functions -------------------------------------------------------------------

using namespace framefs::test;

extern "C" {

int openat(int directory, const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return recorded_open(static_cast<unsigned>(flags),
                       [&] { return call(SYS_openat, directory, path, flags, mode); });
}
int open(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return recorded_open(static_cast<unsigned>(flags),
                       [&] { return call(SYS_openat, AT_FDCWD, path, flags, mode); });
}

ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  const iovec part{const_cast<void*>(data), size};
  return recorded_write(fd, offset, {&part, 1},
                        [&] { return call(SYS_pwrite64, fd, data, size, offset); });
}
ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  return recorded_write(fd, offset, {parts, static_cast<std::size_t>(count)},
                        [&] { return call(SYS_pwritev, fd, parts, count, offset, 0L); });
}
ssize_t write(int fd, const void* data, size_t size) {
  const iovec part{const_cast<void*>(data), size};
  return recorded_write(fd, std::nullopt, {&part, 1},
                        [&] { return call(SYS_write, fd, data, size); });
}

// The copied bytes are read back for the record.
ssize_t copy_file_range(int in, off64_t* from, int out, off64_t* to, size_t size, unsigned flags) {
  const auto begin = to != nullptr ? *to : ::lseek(out, 0, SEEK_CUR);
  std::vector<std::byte> copied;
  iovec part{};
  return recorded_write(out, begin, {&part, 1}, [&] {
    const auto done = call(SYS_copy_file_range, in, from, out, to, size, flags);
    copied.resize(done > 0 ? static_cast<std::size_t>(done) : 0);
    part = {copied.data(), copied.size()};
    if (!copied.empty()) call(SYS_pread64, out, copied.data(), copied.size(), begin);
    return done;
  });
}

int ftruncate(int fd, off_t size) noexcept {
  return recorded_change(fd, {.kind = RecordKind::truncate, .offset = wide(size)},
                         [&] { return call(SYS_ftruncate, fd, size); });
}
int fallocate(int fd, int mode, off_t offset, off_t size) {
  return recorded_change(fd,
                         {.kind = RecordKind::allocate,
                          .offset = wide(offset),
                          .size = wide(size),
                          .flags = wide(mode)},
                         [&] { return call(SYS_fallocate, fd, mode, offset, size); });
}

int fsync(int fd) {
  return recorded_sync(fd, RecordKind::sync_begin, [&] { return call(SYS_fsync, fd); });
}
int fdatasync(int fd) {
  return recorded_sync(fd, RecordKind::sync_begin, [&] { return call(SYS_fdatasync, fd); });
}
int syncfs(int fd) noexcept {
  return recorded_sync(fd, RecordKind::sync_all_begin, [&] { return call(SYS_syncfs, fd); });
}

int renameat2(int from, const char* name, int to, const char* name2, unsigned flags) noexcept {
  return recorded_name({.kind = RecordKind::rename, .flags = flags}, from, name, to, name2,
                       [&] { return call(SYS_renameat2, from, name, to, name2, flags); });
}
int renameat(int from, const char* name, int to, const char* name2) noexcept {
  return renameat2(from, name, to, name2, 0);
}
int rename(const char* name, const char* name2) noexcept {
  return renameat2(AT_FDCWD, name, AT_FDCWD, name2, 0);
}
int linkat(int from, const char* name, int to, const char* name2, int flags) noexcept {
  // A file without a name is known by its inode.
  const char* const known = (flags & AT_EMPTY_PATH) != 0 ? nullptr : name;
  return recorded_name({.kind = RecordKind::link}, from, known, to, name2,
                       [&] { return call(SYS_linkat, from, name, to, name2, flags); });
}
int link(const char* name, const char* name2) noexcept {
  return linkat(AT_FDCWD, name, AT_FDCWD, name2, 0);
}
int unlinkat(int directory, const char* name, int flags) noexcept {
  return recorded_name(RecordKind::unlink, directory, name,
                       [&] { return call(SYS_unlinkat, directory, name, flags); });
}
int unlink(const char* name) noexcept { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char* name) noexcept { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }
int mkdirat(int directory, const char* name, mode_t mode) noexcept {
  return recorded_name(RecordKind::make_directory, directory, name,
                       [&] { return call(SYS_mkdirat, directory, name, mode); });
}
int mkdir(const char* name, mode_t mode) noexcept { return mkdirat(AT_FDCWD, name, mode); }
int symlinkat(const char* target, int directory, const char* name) noexcept {
  return recorded_name(RecordKind::make_symlink, directory, name,
                       [&] { return call(SYS_symlinkat, target, directory, name); });
}

// The system calls that the daemon makes without a wrapper of the C library.
long syscall(long number, ...) noexcept {
  std::va_list list;
  va_start(list, number);
  const long a = va_arg(list, long);
  const long b = va_arg(list, long);
  const long c = va_arg(list, long);
  const long d = va_arg(list, long);
  const long e = va_arg(list, long);
  const long f = va_arg(list, long);
  va_end(list);
  const auto plain = [&] { return call(number, a, b, c, d, e, f); };
  if (number == SYS_openat2) {
    // The third argument of openat2(2) is a pointer.
    const auto* const how = reinterpret_cast<const open_how*>(c);
    return recorded_open(how->flags, plain);
  }
  if (number == SYS_renameat2) {
    // So are the second and fourth arguments of renameat2(2).
    return recorded_name({.kind = RecordKind::rename, .flags = wide(e)}, static_cast<int>(a),
                         reinterpret_cast<const char*>(b),  // a pointer, see above
                         static_cast<int>(c),
                         reinterpret_cast<const char*>(d),  // likewise
                         plain);
  }
  return plain();
}

}  // extern "C"

// The same functions under the names for programs with 64-bit offsets.
extern "C" {
int open64(const char* path, int flags, ...) __attribute__((alias("open")));
int openat64(int directory, const char* path, int flags, ...) __attribute__((alias("openat")));
ssize_t pwrite64(int fd, const void* data, size_t size, off_t offset)
    __attribute__((alias("pwrite")));
ssize_t pwritev64(int fd, const iovec* parts, int count, off_t offset)
    __attribute__((alias("pwritev")));
int ftruncate64(int fd, off_t size) noexcept __attribute__((alias("ftruncate")));
int fallocate64(int fd, int mode, off_t offset, off_t size) __attribute__((alias("fallocate")));
}
