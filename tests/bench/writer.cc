// framefs_bench_writer: writes files as fast as possible and prints the time.
//
//   framefs_bench_writer sequential PIECE TIMES FROM TO...
//                        FROM, TIMES times, to each new file TO, in pieces, and fsync; in threads
//   framefs_bench_writer offsets PIECE LIST FILE
//                        PIECE bytes at each of LIST's offsets; then fsync
//   framefs_bench_writer create COUNT SIZE FOLDER
//                        COUNT new files of SIZE bytes: open, write, close
//   framefs_bench_writer append COUNT SIZE FILE         COUNT times SIZE bytes to the end
//   framefs_bench_writer append-sync COUNT SIZE FILE    the same, with fsync after each
//   framefs_bench_writer replace COUNT SIZE FOLDER
//                        COUNT times: a new file of SIZE bytes is closed, and renamed over another
//
// LIST holds 64-bit little-endian offsets.  Prints {"bytes", "reads", "wall_s", "cpu_s"} as JSON;
// each write, or each file, counts as a read.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <span>
#include <string>
#include <thread>
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

// Returns the number of writes.
std::uint64_t write_times(std::span<const char> bytes, std::size_t piece, std::size_t times,
                          const std::string& to) {
  const int fd = open_file(to, O_WRONLY | O_CREAT | O_EXCL);
  std::uint64_t writes = 0;
  for (std::size_t time = 0; time < times; ++time) {
    for (std::size_t at = 0; at < bytes.size(); at += piece, ++writes) {
      write_all(fd, bytes.subspan(at, std::min(piece, bytes.size() - at)), to);
    }
  }
  if (::fsync(fd) != 0 || ::close(fd) != 0) fail(to);
  return writes;
}

void sequential(std::size_t piece, std::size_t times, const std::string& from,
                std::span<const std::string> to) {
  const auto bytes = file_bytes(from);
  const bench::Stopwatch stopwatch;
  std::atomic<std::uint64_t> writes{0};
  {
    std::vector<std::jthread> writers;
    writers.reserve(to.size());
    for (const auto& path : to) {
      writers.emplace_back([&] { writes += write_times(bytes, piece, times, path); });
    }
  }
  stopwatch.print(bytes.size() * times * to.size(), writes);
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

void append(std::size_t count, std::size_t size, const std::string& path, bool syncs) {
  const auto bytes = noise(size);
  const bench::Stopwatch stopwatch;
  const int fd = open_file(path, O_WRONLY | O_CREAT | O_APPEND);
  for (std::size_t i = 0; i < count; ++i) {
    write_all(fd, bytes, path);
    if (syncs && ::fsync(fd) != 0) fail(path);
  }
  if (::close(fd) != 0) fail(path);
  stopwatch.print(count * size, count);
}

void replace(std::size_t count, std::size_t size, const std::string& folder) {
  const auto bytes = noise(size);
  const auto path = folder + "/file";
  const auto next = folder + "/next";
  const bench::Stopwatch stopwatch;
  for (std::size_t i = 0; i < count; ++i) {
    const int fd = open_file(next, O_WRONLY | O_CREAT | O_EXCL);
    write_all(fd, bytes, next);
    if (::close(fd) != 0 || ::rename(next.c_str(), path.c_str()) != 0) fail(next);
  }
  stopwatch.print(count * size, count);
}

bool run(std::span<const std::string> words) {
  if (words.size() < 4) return false;
  const auto& command = words[0];
  const auto number = [&](std::size_t at) { return std::strtoull(words[at].c_str(), nullptr, 10); };
  if (command == "sequential" && words.size() > 4) {
    sequential(number(1), number(2), words[3], words.subspan(4));
    return true;
  }
  if (words.size() != 4) return false;
  if (command == "offsets") {
    at_offsets(number(1), words[2], words[3]);
  } else if (command == "create") {
    create(number(1), number(2), words[3]);
  } else if (command == "append" || command == "append-sync") {
    append(number(1), number(2), words[3], command == "append-sync");
  } else if (command == "replace") {
    replace(number(1), number(2), words[3]);
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv, argv + argc);
  if (!run(std::span(arguments).subspan(1))) {
    std::cerr << "usage: framefs_bench_writer sequential PIECE TIMES FROM TO...\n"
                 "       framefs_bench_writer offsets PIECE LIST FILE\n"
                 "       framefs_bench_writer create COUNT SIZE FOLDER\n"
                 "       framefs_bench_writer append|append-sync COUNT SIZE FILE\n"
                 "       framefs_bench_writer replace COUNT SIZE FOLDER\n";
    return 2;
  }
  return 0;
}
