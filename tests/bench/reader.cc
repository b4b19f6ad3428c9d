// framefs_bench_reader: reads files as fast as possible and prints the time.
//
//   framefs_bench_reader sequential PIECE READERS FILE...
//                                  whole files; the readers take them in turn, at least one each
//   framefs_bench_reader offsets PIECE LIST FILE [THREADS [SECONDS]]
//                                  PIECE bytes at each of LIST's offsets, which the threads share;
//                                  with SECONDS, again and again until that time has passed
//   framefs_bench_reader map PIECE FILE      one byte per PIECE bytes of a mapping
//   framefs_bench_reader touch LIST FILE     one byte of a mapping at each of LIST's offsets
//   framefs_bench_reader each FOLDER         opens, reads and closes each file of FOLDER
//
// LIST holds 64-bit little-endian offsets.  Prints {"bytes", "reads", "wall_s", "cpu_s"} as JSON.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tests/bench/stopwatch.h"

namespace {

namespace bench = framefs::bench;

static_assert(std::endian::native == std::endian::little, "lists of offsets are little-endian");

constexpr std::size_t kSmallPiece = 64 << 10;

[[noreturn]] void fail(const std::string& what) {
  std::perror(("framefs_bench_reader: " + what).c_str());
  std::_Exit(1);
}

class File {
 public:
  explicit File(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) fail(path);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { ::close(fd_); }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::size_t size() const {
    struct stat st{};
    if (::fstat(fd_, &st) != 0) fail("fstat");
    return static_cast<std::size_t>(st.st_size);
  }

 private:
  int fd_;
};

struct Count {
  std::uint64_t bytes = 0;
  std::uint64_t reads = 0;
  void operator+=(const Count& more) {
    bytes += more.bytes;
    reads += more.reads;
  }
};

// The memory for reads.  It begins at a page boundary, like the buffers of cat, cp and dd: some
// processors copy from pages at a sixth of their speed if the destination is 16 bytes after a page
// boundary, where malloc() puts large buffers.  All pages are touched in advance, so that the first
// read does not pay for that.
class Buffer {
 public:
  explicit Buffer(std::size_t size)
      : bytes_(static_cast<char*>(::operator new(size, kPage)), size) {
    std::ranges::fill(bytes_, '\1');
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { ::operator delete(bytes_.data(), kPage); }
  [[nodiscard]] char* data() const { return bytes_.data(); }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

 private:
  static constexpr std::align_val_t kPage{4096};
  const std::span<char> bytes_;
};

Count read_to_the_end(const std::string& path, const Buffer& buffer) {
  const File file(path);
  Count count;
  while (true) {
    const auto got = ::read(file.fd(), buffer.data(), buffer.size());
    if (got < 0) fail(path);
    if (got == 0) return count;
    count += {static_cast<std::uint64_t>(got), 1};
  }
}

// Calls `body` with each number below `count`, each in a thread, and adds what the calls return.
template <class Body>
Count in_threads(std::size_t count, const Body& body) {
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> reads{0};
  {
    std::vector<std::jthread> threads;
    threads.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        const Count read = body(i);
        bytes += read.bytes;
        reads += read.reads;
      });
    }
  }
  return {bytes, reads};
}

Count sequential(std::size_t piece, std::size_t readers, std::span<const std::string> paths) {
  return in_threads(readers, [&](std::size_t reader) {
    const Buffer buffer(piece);
    Count count = read_to_the_end(paths[reader % paths.size()], buffer);
    for (auto next = reader + readers; next < paths.size(); next += readers) {
      count += read_to_the_end(paths[next], buffer);
    }
    return count;
  });
}

std::vector<std::int64_t> offsets_in(const std::string& list) {
  std::ifstream in(list, std::ios::binary | std::ios::ate);
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(in.tellg()) / sizeof(std::int64_t));
  in.seekg(0);
  // Integers in the host's representation, which the assertion above makes the file's.
  in.read(reinterpret_cast<char*>(offsets.data()),
          static_cast<std::streamsize>(offsets.size() * sizeof(std::int64_t)));
  if (!in) fail(list);
  return offsets;
}

Count at_offsets(std::size_t piece, const std::string& list, const std::string& path,
                 std::size_t threads, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto offsets = offsets_in(list);
  const File file(path);
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(seconds));
  return in_threads(threads, [&](std::size_t thread) {
    const Buffer buffer(piece);
    Count count;
    do {
      for (auto at = thread; at < offsets.size(); at += threads) {
        if (seconds > 0 && Clock::now() >= end) return count;
        const auto got = ::pread(file.fd(), buffer.data(), buffer.size(), offsets[at]);
        if (got < 0) fail(path);
        count += {static_cast<std::uint64_t>(got), 1};
      }
    } while (seconds > 0 && Clock::now() < end);
    return count;
  });
}

class Mapping {
 public:
  explicit Mapping(const std::string& path) : file_(path), size_(file_.size()) {
    memory_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file_.fd(), 0);
    if (memory_ == MAP_FAILED) fail(path);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { ::munmap(memory_, size_); }
  [[nodiscard]] std::size_t size() const { return size_; }

  // Reads one byte.  It is volatile, or the compiler might remove the reads.
  void touch(std::size_t at) const {
    static_cast<void>(static_cast<const volatile unsigned char*>(memory_)[at]);
  }

 private:
  File file_;
  std::size_t size_;
  void* memory_ = nullptr;
};

Count map(std::size_t piece, const std::string& path) {
  const Mapping mapping(path);
  for (std::size_t at = 0; at < mapping.size(); at += piece) mapping.touch(at);
  return {mapping.size(), (mapping.size() + piece - 1) / piece};
}

Count touch(const std::string& list, const std::string& path) {
  const auto offsets = offsets_in(list);
  const Mapping mapping(path);
  for (const auto offset : offsets) mapping.touch(static_cast<std::size_t>(offset));
  return {offsets.size(), offsets.size()};
}

Count each(const std::string& folder) {
  const Buffer buffer(kSmallPiece);
  Count count;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) count += {read_to_the_end(entry.path(), buffer).bytes, 1};
  }
  return count;
}

int usage() {
  std::cerr << "usage: framefs_bench_reader sequential PIECE READERS FILE...\n"
               "       framefs_bench_reader offsets PIECE LIST FILE [THREADS [SECONDS]]\n"
               "       framefs_bench_reader map PIECE FILE\n"
               "       framefs_bench_reader touch LIST FILE\n"
               "       framefs_bench_reader each FOLDER\n";
  return 2;
}

// Nothing if the words are not a command.
std::optional<Count> run(std::span<const std::string> words) {
  const auto number = [&](std::size_t at) { return std::strtoull(words[at].c_str(), nullptr, 10); };
  if (words.size() < 2) return std::nullopt;
  const auto& command = words[0];
  if (command == "each" && words.size() == 2) return each(words[1]);
  if (command == "touch" && words.size() == 3) return touch(words[1], words[2]);
  const auto piece = number(1);
  if (piece == 0) return std::nullopt;
  if (command == "map" && words.size() == 3) return map(piece, words[2]);
  if (command == "sequential" && words.size() > 3) {
    return sequential(piece, number(2), words.subspan(3));
  }
  if (command == "offsets" && words.size() > 3 && words.size() <= 6) {
    const auto threads = words.size() > 4 ? number(4) : 1;
    const auto seconds = words.size() > 5 ? std::strtod(words[5].c_str(), nullptr) : 0.0;
    return at_offsets(piece, words[2], words[3], threads, seconds);
  }
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  const bench::Stopwatch stopwatch;
  const auto count = run(std::span(words).subspan(1));
  if (!count) return usage();
  stopwatch.print(count->bytes, count->reads);
  return 0;
}
