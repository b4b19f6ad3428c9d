// framefs_bench_reader: reads files as fast as possible and prints the time.
//
//   framefs_bench_reader sequential PIECE READERS FILE...   each reader reads whole files, in turn
//   framefs_bench_reader offsets PIECE LIST FILE            PIECE bytes at each of LIST's offsets
//   framefs_bench_reader map PIECE FILE                     one byte per PIECE bytes of a mapping
//
// LIST holds 64-bit little-endian offsets.  Prints {"bytes", "reads", "wall_s", "cpu_s"} as JSON.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tests/bench/stopwatch.h"

namespace {

namespace bench = framefs::bench;

static_assert(std::endian::native == std::endian::little, "lists of offsets are little-endian");

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

Count read_to_the_end(const std::string& path, std::size_t piece) {
  const File file(path);
  const Buffer buffer(piece);
  Count count;
  while (true) {
    const auto got = ::read(file.fd(), buffer.data(), buffer.size());
    if (got < 0) fail(path);
    if (got == 0) return count;
    count.bytes += static_cast<std::uint64_t>(got);
    ++count.reads;
  }
}

Count sequential(std::size_t piece, std::size_t readers, std::span<const std::string> paths) {
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> reads{0};
  {
    std::vector<std::jthread> threads;
    threads.reserve(readers);
    for (std::size_t i = 0; i < readers; ++i) {
      threads.emplace_back([&, i] {
        const auto count = read_to_the_end(paths[i % paths.size()], piece);
        bytes += count.bytes;
        reads += count.reads;
      });
    }
  }
  return {bytes, reads};
}

Count at_offsets(std::size_t piece, const std::string& list, const std::string& path) {
  std::ifstream in(list, std::ios::binary | std::ios::ate);
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(in.tellg()) / sizeof(std::int64_t));
  in.seekg(0);
  // Integers in the host's representation, which the assertion above makes the file's.
  in.read(reinterpret_cast<char*>(offsets.data()),
          static_cast<std::streamsize>(offsets.size() * sizeof(std::int64_t)));
  if (!in) fail(list);
  const File file(path);
  const Buffer buffer(piece);
  Count count;
  for (const auto offset : offsets) {
    const auto got = ::pread(file.fd(), buffer.data(), buffer.size(), offset);
    if (got < 0) fail(path);
    count.bytes += static_cast<std::uint64_t>(got);
    ++count.reads;
  }
  return count;
}

Count map(std::size_t piece, const std::string& path) {
  const File file(path);
  const auto size = file.size();
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd(), 0);
  if (memory == MAP_FAILED) fail(path);
  const std::span bytes(static_cast<const char*>(memory), size);
  unsigned sum = 0;
  for (std::size_t at = 0; at < size; at += piece) sum += static_cast<unsigned char>(bytes[at]);
  ::munmap(memory, size);
  // The sum must be used, or the compiler may remove the reads.
  if (sum == 1) std::cerr << '\n';
  return {size, (size + piece - 1) / piece};
}

int usage() {
  std::cerr << "usage: framefs_bench_reader sequential PIECE READERS FILE...\n"
               "       framefs_bench_reader offsets PIECE LIST FILE\n"
               "       framefs_bench_reader map PIECE FILE\n";
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  if (words.size() < 4) return usage();
  const auto piece = std::strtoull(words[2].c_str(), nullptr, 10);
  if (piece == 0) return usage();

  const bench::Stopwatch stopwatch;
  Count count;
  if (words[1] == "sequential" && words.size() > 4) {
    const auto readers = std::strtoull(words[3].c_str(), nullptr, 10);
    count = sequential(piece, readers, std::span(words).subspan(4));
  } else if (words[1] == "offsets" && words.size() == 5) {
    count = at_offsets(piece, words[3], words[4]);
  } else if (words[1] == "map" && words.size() == 4) {
    count = map(piece, words[3]);
  } else {
    return usage();
  }
  stopwatch.print(count.bytes, count.reads);
  return 0;
}
