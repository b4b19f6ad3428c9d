#include "src/demo/demo_data.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <string_view>

#include <fmt/core.h>

#include "codec/array/npy_header.h"

namespace framefs {
namespace {

constexpr std::string_view kReadme =
    R"text(This directory holds Blosc2 frames, which "framefs demo" made.

Mount it, and work with plain files:

    mkdir /tmp/plain
    framefs . /tmp/plain
    ls -lR /tmp/plain                    # sizes are those of the decompressed data
    grep -c ERROR /tmp/plain/logs/app.log
    python3 -c "import numpy; print(numpy.load('/tmp/plain/arrays/walk.npy', mmap_mode='r').shape)"
    echo "one more line" >> /tmp/plain/logs/app.log
    framefs umount /tmp/plain

Or without a mount:

    framefs info arrays/walk.b2nd        # what is in a frame
    framefs check .                      # is all of it sound?
    framefs unpack logs/app.log.b2frame -o - | tail -n 1
)text";

std::string log_text() {
  constexpr std::array kLevels = {"INFO",  "INFO",  "INFO", "INFO",
                                  "DEBUG", "DEBUG", "WARN", "ERROR"};
  constexpr std::array kEvents = {"request served",    "cache miss",      "connection opened",
                                  "connection closed", "query took long", "disk nearly full"};
  std::mt19937 random(1);
  std::string text;
  for (unsigned line = 0; line < 50'000; ++line) {
    text +=
        fmt::format("2026-01-{:02}T{:02}:{:02}:{:02} {} worker-{}: {} ({} ms)\n", 1 + line / 2000,
                    line / 90 % 24, line % 60, random() % 60, kLevels[random() % kLevels.size()],
                    random() % 8, kEvents[random() % kEvents.size()], random() % 500);
  }
  return text;
}

std::string table_text() {
  std::mt19937 random(2);
  std::string text = "station,day,temperature,rain\n";
  for (unsigned row = 0; row < 20'000; ++row) {
    const unsigned day = row / 50;
    const double season = 10 * std::sin(2 * 3.14159265 * day / 365.0);
    text += fmt::format("S{:02},{},{:.1f},{}\n", row % 50, day,
                        12 + season + static_cast<double>(random() % 50) / 10,
                        random() % 4 == 0 ? random() % 30 : 0);
  }
  return text;
}

std::string npy_file(std::string_view dtype, std::uint32_t typesize,
                     std::span<const unsigned> shape, const std::string& items) {
  codec::ArrayMeta meta;
  meta.ndim = static_cast<std::uint8_t>(shape.size());
  std::ranges::copy(shape, meta.shape.begin());
  meta.dtype = dtype;
  return codec::npy_header(meta, typesize) + items;
}

void append_float(std::string& to, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  for (unsigned shift = 0; shift < 32; shift += 8) to += static_cast<char>(bits >> shift & 0xFF);
}

std::string walk() {
  constexpr std::array kShape = {600U, 400U};
  std::mt19937 random(3);
  std::string items;
  for (unsigned row = 0; row < kShape[0]; ++row) {
    float value = 0;
    for (unsigned column = 0; column < kShape[1]; ++column) {
      value += static_cast<float>(static_cast<int>(random() % 201) - 100) / 100;
      append_float(items, value);
    }
  }
  return npy_file("<f4", sizeof(float), kShape, items);
}

std::string image() {
  constexpr std::array kShape = {256U, 384U, 3U};
  std::string items;
  for (unsigned y = 0; y < kShape[0]; ++y) {
    for (unsigned x = 0; x < kShape[1]; ++x) {
      items += static_cast<char>(x * 255 / kShape[1]);
      items += static_cast<char>(y * 255 / kShape[0]);
      items += static_cast<char>((x ^ y) & 0xFF);
    }
  }
  return npy_file("|u1", 1, kShape, items);
}

}  // namespace

std::vector<DemoFile> demo_files() {
  return {{.path = "README.txt", .content = std::string(kReadme), .is_packed = false},
          {.path = "logs/app.log", .content = log_text()},
          {.path = "tables/weather.csv", .content = table_text()},
          {.path = "arrays/walk.npy", .content = walk()},
          {.path = "arrays/image.npy", .content = image()},
          {.path = "empty.dat", .content = ""}};
}

}  // namespace framefs
