#include "tests/support/damage.h"

#include <algorithm>
#include <vector>

#include "codec/chunk/chunk.h"
#include "codec/chunk/chunk_reader.h"
#include "codec/core/byte_source.h"
#include "codec/frame/frame.h"
#include "codec/frame/frame_reader.h"
#include "codec/frame/metalayer_content.h"
#include "tests/support/decode_oracle.h"
#include "tests/support/outcome.h"

namespace framefs::test {
namespace {

constexpr std::size_t kMaxBytes = 1u << 20;

// libzstd uses another loop as long as a dictionary is new to its context, and the two loops do not
// refuse the same damaged streams.  Hence the first read of such a stream may fail and the second
// may succeed.
bool may_waver(const codec::Chunk& chunk) {
  return chunk.dictionary() != nullptr && chunk.header().codec == codec::CodecFormat::zstd;
}

// Reads [offset, offset + size) twice, into buffers with different old contents.  A byte that the
// reader does not write differs afterwards.
template <class Reader>
std::string read_twice(Reader& reader, std::uint64_t offset, std::size_t size, Bytes* result) {
  Bytes first(size, std::byte{0x55});
  Bytes second(size, std::byte{0xaa});
  const auto once = reader.read(offset, first);
  const auto again = reader.read(offset, second);
  if (once.has_value() != again.has_value()) return "a second read ends otherwise than the first";
  if (!once) {
    if (once.error().kind == codec::Errc::internal) return outcome(once);
    return {};
  }
  if (first != second) return "bytes that were not written";
  if (result != nullptr) *result = std::move(first);
  return {};
}

// Reads both ends of content that is too large to be read completely.
template <class Reader>
std::string read_ends(Reader& reader, std::uint64_t nbytes) {
  constexpr std::size_t kPiece = 64;
  if (auto wrong = read_twice(reader, 0, kPiece, nullptr); !wrong.empty()) return wrong;
  return read_twice(reader, nbytes - kPiece, kPiece, nullptr);
}

std::string metalayer_misbehaviour(const codec::ByteSource& source, const codec::Frame& frame) {
  for (const auto& layer : frame.metalayers()) {
    const auto content = codec::read_metalayer(source, layer);
    if (!content) return "a metalayer that was placed is not there";
    if (content->size() != layer.content.size) return "a metalayer of another size";
  }
  for (const auto& layer : frame.vlmetalayers()) {
    const auto content = codec::read_vlmetalayer(source, layer, small_limits());
    if (!content && content.error().kind == codec::Errc::internal) return outcome(content);
    if (content && content->size() > small_limits().vlmeta_bytes) return "vl-metalayer over limit";
  }
  return {};
}

std::string misbehaviour_of(const codec::Result<codec::Frame>& frame,
                            const codec::ByteSource& source, std::size_t source_bytes,
                            const codec::ByteSource& chunks) {
  if (!frame) {
    if (frame.error().kind == codec::Errc::internal) return outcome(frame);
    return {};
  }
  if (frame->header().frame_len > source_bytes) return "a frame larger than its bytes";
  if (auto wrong = metalayer_misbehaviour(source, *frame); !wrong.empty()) return wrong;
  codec::FrameReader reader(source, chunks, *frame, small_limits());
  if (frame->nbytes() > kMaxBytes) return read_ends(reader, frame->nbytes());
  return read_twice(reader, 0, frame->nbytes(), nullptr);
}

}  // namespace

codec::Limits small_limits() {
  codec::Limits limits;
  limits.block_bytes = kMaxBytes;
  limits.chunk_table_bytes = kMaxBytes;
  limits.frame_header_bytes = kMaxBytes;
  limits.frame_trailer_bytes = kMaxBytes;
  limits.vlmeta_bytes = kMaxBytes;
  return limits;
}

std::string chunk_misbehaviour(std::span<const std::byte> bytes,
                               const codec::ChunkContext& context) {
  const codec::MemorySource source(bytes);
  const auto chunk = codec::Chunk::open(source, 0, bytes.size(), context, small_limits());
  if (!chunk) {
    if (chunk.error().kind == codec::Errc::internal) return outcome(chunk);
    return {};
  }
  if (chunk->header().cbytes > bytes.size()) return "a chunk larger than the bytes it may take";
  codec::ChunkReader reader(source, *chunk);
  if (chunk->nbytes() > kMaxBytes) return read_ends(reader, chunk->nbytes());

  if (may_waver(*chunk)) {
    // From here on the reader's context knows the dictionary.  The contexts in decode_by_blocks()
    // do not.
    Bytes unused(chunk->nbytes());
    static_cast<void>(reader.read(0, unused));
  }
  Bytes whole;
  if (auto wrong = read_twice(reader, 0, chunk->nbytes(), &whole); !wrong.empty()) return wrong;
  const auto blocks = decode_by_blocks(source, *chunk);
  const bool whole_decodes = whole.size() == chunk->nbytes();
  if (blocks.has_value() != whole_decodes && !may_waver(*chunk)) {
    return "whole and by blocks: one fails, one does not";
  }
  if (blocks && whole_decodes && *blocks != whole) return "whole and by blocks differ";
  return {};
}

std::string frame_misbehaviour(std::span<const std::byte> bytes) {
  const codec::MemorySource source(bytes);
  return misbehaviour_of(codec::Frame::open(source, small_limits()), source, bytes.size(), source);
}

std::string sparse_misbehaviour(std::span<const std::byte> index_file,
                                const codec::ByteSource& chunks) {
  const codec::MemorySource source(index_file);
  return misbehaviour_of(codec::Frame::open_sparse(source, small_limits()), source,
                         index_file.size(), chunks);
}

std::string first_bad_flip(const Bytes& good, std::size_t begin, std::size_t end,
                           const Probe& probe) {
  Bytes damaged = good;
  for (std::size_t bit = 8 * begin; bit < 8 * end; ++bit) {
    const std::byte mask = std::byte{1} << (bit % 8);
    damaged.at(bit / 8) ^= mask;
    if (const auto wrong = probe(damaged); !wrong.empty()) {
      return "byte " + std::to_string(bit / 8) + ", bit " + std::to_string(bit % 8) + ": " + wrong;
    }
    damaged.at(bit / 8) ^= mask;
  }
  return {};
}

}  // namespace framefs::test
