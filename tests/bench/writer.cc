// framefs_bench_writer: writes files as fast as possible and prints the time.
//
//   framefs_bench_writer sequential PIECE TIMES FROM TO   FROM, TIMES times, to the new file TO,
//                                                         in pieces; then fsync
//   framefs_bench_writer offsets PIECE LIST FILE          PIECE bytes at each of LIST's offsets;
//                                                         then fsync
//   framefs_bench_writer create COUNT SIZE FOLDER         COUNT new files of SIZE bytes: open,
//                                                         write, close
//
// LIST holds 64-bit little-endian offsets.  Prints {"bytes", "reads", "wall_s", "cpu_s"} as JSON;
// each write, or each file, counts as a read.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "tests/bench/stopwatch.h"

namespace {

namespace bench = framefs::bench;

static_assert(std::endian::native == std::endian::little, "lists of offsets are little-endian");

[[noreturn]] void fail(const std::string& what) {
  std::perror(("framefs_bench_writer: " + what).c_str());
  std::_Exit(1);
}

int open_file(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
  if (fd < 0) fail(path);
  return fd;
}

std::vector<char> file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  std::vector<char> bytes(in ? static_cast<std::size_t>(in.tellg()) : 0);
  in.seekg(0);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!in) fail(path);
  return bytes;
}

std::vector<char> noise(std::size_t size) {
  std::mt19937 random(1);
  std::vector<char> bytes(size);
  std::ranges::generate(bytes, [&] { return static_cast<char>(random()); });
  return bytes;
}

void write_all(int fd, std::span<const char> bytes, const std::string& path) {
  if (::write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) fail(path);
}

void sequential(std::size_t piece, std::size_t times, const std::string& from,
                const std::string& to) {
  const auto bytes = file_bytes(from);
  const bench::Stopwatch stopwatch;
  const int fd = open_file(to, O_WRONLY | O_CREAT | O_EXCL);
  std::uint64_t writes = 0;
  for (std::size_t time = 0; time < times; ++time) {
    for (std::size_t at = 0; at < bytes.size(); at += piece, ++writes) {
      write_all(fd, std::span(bytes).subspan(at, std::min(piece, bytes.size() - at)), to);
    }
  }
  if (::fsync(fd) != 0 || ::close(fd) != 0) fail(to);
  stopwatch.print(bytes.size() * times, writes);
}

void at_offsets(std::size_t piece, const std::string& list, const std::string& path) {
  const auto stored = file_bytes(list);
  std::vector<std::int64_t> offsets(stored.size() / sizeof(std::int64_t));
  std::copy_n(stored.data(), offsets.size() * sizeof(std::int64_t),
              // Integers in the host's representation, which the assertion above makes the file's.
              reinterpret_cast<char*>(offsets.data()));
  const auto bytes = noise(piece);
  const bench::Stopwatch stopwatch;
  const int fd = open_file(path, O_WRONLY);
  for (const auto offset : offsets) {
    if (::pwrite(fd, bytes.data(), piece, offset) != static_cast<ssize_t>(piece)) fail(path);
  }
  if (::fsync(fd) != 0 || ::close(fd) != 0) fail(path);
  stopwatch.print(piece * offsets.size(), offsets.size());
}

void create(std::size_t count, std::size_t size, const std::string& folder) {
  const auto bytes = noise(size);
  const bench::Stopwatch stopwatch;
  for (std::size_t i = 0; i < count; ++i) {
    const auto path = fmt::format("{}/{:06}", folder, i);
    const int fd = open_file(path, O_WRONLY | O_CREAT | O_EXCL);
    write_all(fd, bytes, path);
    if (::close(fd) != 0) fail(path);
  }
  stopwatch.print(count * size, count);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv, argv + argc);
  const auto number = [&](std::size_t at) {
    return std::strtoull(arguments[at].c_str(), nullptr, 10);
  };
  if (argc == 6 && arguments[1] == "sequential") {
    sequential(number(2), number(3), arguments[4], arguments[5]);
  } else if (argc == 5 && arguments[1] == "offsets") {
    at_offsets(number(2), arguments[3], arguments[4]);
  } else if (argc == 5 && arguments[1] == "create") {
    create(number(2), number(3), arguments[4]);
  } else {
    std::cerr << "usage: framefs_bench_writer sequential PIECE TIMES FROM TO\n"
                 "       framefs_bench_writer offsets PIECE LIST FILE\n"
                 "       framefs_bench_writer create COUNT SIZE FOLDER\n";
    return 2;
  }
  return 0;
}
