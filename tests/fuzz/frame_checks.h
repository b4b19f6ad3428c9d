#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "codec/array/array_layout.h"
#include "codec/chunk/chunk_header.h"
#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/frame/chunk_checksums.h"
#include "codec/frame/frame.h"
#include "codec/frame/frame_array.h"
#include "codec/frame/frame_reader.h"
#include "codec/frame/metalayer_content.h"
#include "tests/fuzz/array_checks.h"
#include "tests/support/decode_oracle.h"

namespace framefs::fuzz {

// Checks that must hold for any frame that opens, whatever its bytes.  A failed check ends the
// process.

inline constexpr std::uint64_t kMaxDecodedBytes = 1u << 20;

// Small enough that a lying header cannot exhaust the fuzzer's memory.
inline codec::Limits small_limits() {
  codec::Limits limits;
  limits.block_bytes = kMaxDecodedBytes;
  limits.chunk_table_bytes = 64u << 10;
  limits.frame_header_bytes = 64u << 10;
  limits.frame_trailer_bytes = 64u << 10;
  limits.vlmeta_bytes = 64u << 10;
  return limits;
}

class FrameChecks {
 public:
  // Lifetime: the arguments outlive the object.
  FrameChecks(const codec::ByteSource& source, const codec::ByteSource& chunks,
              const codec::Frame& frame)
      : source_(source), chunks_(chunks), frame_(frame) {}

  // `seed` selects the sub-ranges.
  void run(std::size_t seed) const {
    constexpr std::uint64_t kMaxChunks = 4096;
    read_metalayers();
    if (frame_.nbytes() > kMaxDecodedBytes || frame_.chunk_count() > kMaxChunks) {
      return read_ends();
    }
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    check_array(random);
    std::vector<std::byte> whole(frame_.nbytes(), std::byte{0x55});
    std::vector<std::byte> again(frame_.nbytes(), std::byte{0xaa});
    const auto read = reader().read(0, whole);
    demand(reader().read(0, again).has_value() == read.has_value());
    if (read) demand(whole == again);  // no byte is left as it was
    compare(read, whole, decode_chunks(random));
    if (!read) return;
    demand(test::subranges_agree(source_, chunks_, frame_, small_limits(), whole, random, 4));
  }

 private:
  [[nodiscard]] codec::FrameReader reader() const {
    return {source_, chunks_, frame_, small_limits()};
  }

  void read_metalayers() const {
    for (const auto& layer : frame_.metalayers()) {
      const auto content = codec::read_metalayer(source_, layer);
      demand(content.has_value());  // open() checked that it is in the header
    }
    for (const auto& layer : frame_.vlmetalayers()) {
      const auto content = codec::read_vlmetalayer(source_, layer, small_limits());
      demand(!content || content->size() <= small_limits().vlmeta_bytes);
    }
    const auto checksums = codec::read_checksums(frame_, source_, small_limits());
    demand(checksums || checksums.error().kind != codec::Errc::internal);
  }

  // For frames that are too large to read completely: reads of both ends must succeed or fail
  // cleanly.
  void read_ends() const {
    std::vector<std::byte> end(std::min<std::uint64_t>(frame_.nbytes(), 4096));
    auto ends = reader();
    for (const std::uint64_t offset : {std::uint64_t{0}, frame_.nbytes() - end.size()}) {
      const auto read = ends.read(offset, end);
      demand(read || read.error().kind != codec::Errc::internal);
    }
  }

  void check_array(std::mt19937& random) const {
    const auto& meta = frame_.array();
    if (!meta || !*meta) return;
    const auto layout = codec::layout_of(**meta, frame_.header());
    if (layout) check_runs(*layout, random);
  }

  // Decodes the chunks one after another, block by block, up to the end of the frame's bytes.
  // Nothing if a chunk does not decode.
  [[nodiscard]] std::optional<std::vector<std::byte>> decode_chunks(std::mt19937& random) const {
    std::vector<std::byte> all;
    auto serial = reader();
    for (codec::ChunkIndex index; index.value < frame_.chunk_count(); ++index.value) {
      if (all.size() > frame_.nbytes()) break;
      const auto chunk = serial.open_chunk(index);
      if (!chunk || chunk->nbytes() > kMaxDecodedBytes) return std::nullopt;
      const auto plain = test::decode_by_blocks(chunks_, *chunk);
      const auto whole = plain ? std::span<const std::byte>(*plain) : std::span<const std::byte>();
      demand(test::parts_agree(chunks_, *chunk, whole, random, 4));
      if (!plain) {
        demand(plain.error().kind != codec::Errc::internal);
        return std::nullopt;
      }
      all.insert(all.end(), plain->begin(), plain->end());
    }
    return all;
  }

  void compare(const codec::Status& read, std::span<const std::byte> whole,
               const std::optional<std::vector<std::byte>>& chunks) const {
    if (!read) demand(read.error().kind != codec::Errc::internal);
    if (!chunks) {
      // If chunks vary in size, the frame's bytes may end before the bad block of a chunk.
      demand(!read || frame_.header().has_variable_chunks());
      return;
    }
    // If the stored bytes have no room for the chunks' headers, chunks share headers, and the frame
    // is refused.
    const auto& header = frame_.header();
    if (header.has_variable_chunks() &&
        frame_.chunk_count() > header.cbytes / codec::kShortHeaderBytes) {
      return demand(!read);
    }
    // If the sizes do not add up, no position is certain, and the frame is refused as a whole.
    if (chunks->size() != frame_.nbytes()) return demand(!read);
    demand(read.has_value());
    demand(std::ranges::equal(*chunks, whole));
  }

  const codec::ByteSource& source_;
  const codec::ByteSource& chunks_;
  const codec::Frame& frame_;
};

}  // namespace framefs::fuzz
