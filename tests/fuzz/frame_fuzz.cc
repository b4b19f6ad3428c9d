// Intent: any bytes as a contiguous frame: open(), its metalayers and every way of reading stay
// within the limits, and where the whole frame reads, it equals its chunks block by block and any
// sub-range.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/frame/frame.h"
#include "codec/frame/frame_reader.h"
#include "tests/support/decode_oracle.h"

namespace {

using namespace framefs;

constexpr std::uint64_t kMostDecodedBytes = 1u << 20;
constexpr std::uint64_t kMostChunks = 4096;

// Small enough that a lying header cannot make the fuzzer itself run out of memory.
codec::Limits small_limits() {
  codec::Limits limits;
  limits.block_bytes = kMostDecodedBytes;
  limits.chunk_table_bytes = 64u << 10;
  limits.frame_header_bytes = 64u << 10;
  limits.frame_trailer_bytes = 64u << 10;
  limits.vlmeta_bytes = 64u << 10;
  return limits;
}

void demand(bool holds) {
  if (!holds) std::abort();
}

void read_metalayers(const codec::ByteSource& source, const codec::Frame& frame) {
  for (const auto& layer : frame.metalayers()) {
    const auto content = codec::Frame::read_metalayer(source, layer);
    demand(content.has_value());  // open() has placed it inside the header
  }
  for (const auto& layer : frame.vlmetalayers()) {
    const auto content = codec::Frame::read_vlmetalayer(source, layer, small_limits());
    demand(!content || content->size() <= small_limits().vlmeta_bytes);
  }
}

// The chunks one after another as far as the frame's bytes reach, block by block.  Nothing where
// one does not decode.
std::optional<std::vector<std::byte>> decode_chunks(const codec::ByteSource& source,
                                                    const codec::Frame& frame) {
  std::vector<std::byte> all;
  codec::FrameReader reader(source, frame, small_limits());
  for (codec::ChunkIndex index; index.value < frame.chunk_count(); ++index.value) {
    if (all.size() > frame.nbytes()) break;
    const auto chunk = reader.open_chunk(index);
    if (!chunk || chunk->nbytes() > kMostDecodedBytes) return std::nullopt;
    const auto plain = test::decode_by_blocks(source, *chunk);
    if (!plain) return std::nullopt;
    all.insert(all.end(), plain->begin(), plain->end());
  }
  return all;
}

void compare(const codec::Frame& frame, const codec::Status& read, std::span<const std::byte> whole,
             const std::optional<std::vector<std::byte>>& chunks) {
  if (!read) demand(read.error().kind != codec::Errc::internal);
  if (!chunks) {
    // Where chunks vary in size, the end of the bytes may lie in a chunk before its bad block.
    demand(!read || frame.header().has_variable_chunks());
    return;
  }
  // Sizes that do not add up leave no place certain: such a frame is refused whole.
  if (chunks->size() != frame.nbytes()) return demand(!read);
  demand(read.has_value());
  demand(std::ranges::equal(*chunks, whole));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const codec::MemorySource source(std::as_bytes(std::span(data, size)));
  const auto frame = codec::Frame::open(source, small_limits());
  if (!frame) {
    demand(frame.error().kind != codec::Errc::internal);
    return 0;
  }
  read_metalayers(source, *frame);

  codec::FrameReader reader(source, *frame, small_limits());
  if (frame->nbytes() > kMostDecodedBytes || frame->chunk_count() > kMostChunks) {
    // Too much to read whole; its two ends must still be readable or refused.
    std::vector<std::byte> end(std::min<std::uint64_t>(frame->nbytes(), 4096));
    for (const std::uint64_t offset : {std::uint64_t{0}, frame->nbytes() - end.size()}) {
      const auto read = reader.read(offset, end);
      demand(read || read.error().kind != codec::Errc::internal);
    }
    return 0;
  }
  std::vector<std::byte> whole(frame->nbytes());
  const auto read = reader.read(0, whole);
  compare(*frame, read, whole, decode_chunks(source, *frame));
  if (!read) return 0;
  std::mt19937 random(static_cast<std::uint32_t>(size));
  demand(test::subranges_agree(source, *frame, small_limits(), whole, random, 4));
  return 0;
}
