// Intent: any bytes as the index file and the chunk files of a sparse frame.  open() and all ways
// of reading stay within the limits and within each file.  If the whole frame can be read, it
// equals its chunks block by block, and any sub-range.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "codec/core/byte_source.h"
#include "codec/frame/frame.h"
#include "tests/fuzz/frame_checks.h"
#include "tests/support/bytes.h"
#include "tests/support/memory_chunks.h"

namespace {

using namespace framefs;

// Takes the next `size` bytes of the input, or the rest of it.
std::span<const std::byte> take(std::span<const std::byte>& input, std::size_t size) {
  const auto head = input.first(std::min(size, input.size()));
  input = input.subspan(head.size());
  return head;
}

std::uint32_t take_number(std::span<const std::byte>& input, std::size_t width) {
  std::uint32_t value = 0;
  for (const std::byte b : take(input, width)) {
    value = value << 8 | std::to_integer<std::uint32_t>(b);
  }
  return value;
}

// The last few numbers become the largest possible ids.
std::uint32_t id_of(std::uint32_t number) {
  constexpr std::uint32_t kFirstLarge = 0xf0;
  return number < kFirstLarge ? number : 0xffffff00U | number;
}

}  // namespace

// The input has two bytes for the size of the index file, then the file.  For each chunk file, one
// byte stands for its id and two for its size; the file follows.  Numbers are big-endian.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto input = std::as_bytes(std::span(data, size));
  const auto index_bytes = take_number(input, 2);
  // Copies of exact size, so that the address sanitizer detects the first byte beyond them.
  const auto head = take(input, index_bytes);
  const test::Bytes index_file(head.begin(), head.end());
  std::map<std::uint32_t, test::Bytes> files;
  while (!input.empty()) {
    const auto id = id_of(take_number(input, 1));
    const auto chunk_bytes = take_number(input, 2);
    const auto chunk = take(input, chunk_bytes);
    files[id] = test::Bytes(chunk.begin(), chunk.end());
  }

  const codec::MemorySource source(index_file);
  const test::MemoryChunks chunks(std::move(files));
  const auto frame = codec::Frame::open_sparse(source, fuzz::small_limits());
  if (!frame) {
    fuzz::demand(frame.error().kind != codec::Errc::internal);
    return 0;
  }
  fuzz::FrameChecks(source, chunks, *frame).run(size);
  return 0;
}
