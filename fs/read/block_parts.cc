#include "fs/read/block_parts.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace framefs::fs {
namespace {

// Partial decoding uses memory that a thread keeps.  Larger blocks are always decoded as a whole.
constexpr std::uint64_t kLargestBlockOfParts = 1u << 20;
// Only a part of at most 1/kMaxPartOfBlock of a block is decoded alone.
constexpr std::uint64_t kMaxPartOfBlock = 8;
// A read of at most 1/kMaxTouchOfBlock of a block is likely to be followed by reads of other parts.
constexpr std::uint64_t kMaxTouchOfBlock = 2;
// A reader of many blocks gets parts for this many touches of each, because a part costs a sixth of
// its block and more.  A reader that comes back to a block after fewer touches of all blocks is in
// the middle of a slice, and will come back again.
constexpr std::uint32_t kEarlyTouches = 6;
constexpr std::uint32_t kSliceTouches = 128;

}  // namespace

bool BlockParts::is_worth_a_part(const BlockRequest& request, ByteRange within) {
  const auto size = request.decoded_bytes();
  if (size > kLargestBlockOfParts || within.size > size / kMaxPartOfBlock) return false;
  return codec::BlockDecoder::has_parts(*request.chunk) && !cache_.knows(request.key());
}

// A decoder that needs the whole block for a part has paid for all of it.  Later readers get it,
// unless another value would have to leave the cache for it.  If readers seldom come back to a
// block, its memory would cost more than it saves: new pages take half as long as the decoder.
bool BlockParts::is_worth_the_rest(const BlockRequest& request) const {
  return !request.stops_early() && touches_.are_often_repeated() &&
         cache_.has_room(request.decoded_bytes());
}

auto BlockParts::fetch(const codec::ByteSource& source, const BlockRequest& request,
                       ByteRange within) -> Part {
  if (within.size > request.decoded_bytes() / kMaxTouchOfBlock) return {};
  const auto key = request.key();
  const bool is_again = touches_.note(key).count > 1;
  if (is_again || is_worth_the_rest(request)) return {.bytes = nullptr, .is_hot = true};
  if (!is_worth_a_part(request, within)) return {};
  const auto place = request.chunk->stored_range(request.block);
  if (!place) return {};
  const auto lease = contexts_.take();
  DecodeContext& context = *lease;
  const auto stored = context.stored.take(place->size);
  if (!source.read_at(place->offset, stored)) return {};
  const auto whole = context.plain.take(request.decoded_bytes());
  if (!context.decoder.decode_part(*request.chunk, request.block, stored, whole, within)) {
    return {};
  }
  auto bytes = std::make_shared<Bytes>(buffers_, within.size);
  std::ranges::copy(whole.subspan(within.offset, within.size), bytes->writable().begin());
  return {.bytes = std::move(bytes)};
}

bool BlockParts::is_early(const BlockRequest& request, ByteRange within) {
  if (within.size > request.decoded_bytes() / kMaxPartOfBlock) return false;
  if (!request.stops_early()) return false;
  const auto touch = touches_.note(request.key());
  const bool is_slice = touch.count > 1 && touch.age < kSliceTouches;
  return touch.count <= kEarlyTouches && !is_slice && is_worth_a_part(request, within);
}

Status BlockParts::decode_one(const codec::ByteSource& source, DecodeContext& context,
                              const StoredBlock& block, std::span<const std::byte> stored,
                              ByteRange within, const Use& use) {
  const auto& request = block.request;
  const auto& chunk = *request.chunk;
  const auto whole = context.plain.take(request.decoded_bytes());
  if (within.size < whole.size() && codec::BlockDecoder::has_parts(chunk)) {
    FRAMEFS_CHECK(context.decoder.decode_part(chunk, request.block, stored, whole, within));
  } else {
    std::span<std::byte> first;
    if (request.needs_first_block()) {
      FRAMEFS_TRY(const auto place, chunk.stored_range({0}));
      const auto stored_first = context.apart.take(place.size);
      FRAMEFS_CHECK(source.read_at(place.offset, stored_first));
      first = context.first.take(chunk.block_range({0}).size);
      FRAMEFS_CHECK(context.decoder.decode(chunk, {0}, stored_first, first, {}));
    }
    FRAMEFS_CHECK(context.decoder.decode(chunk, request.block, stored, whole, first));
  }
  use(block.place, whole);
  return {};
}

Status BlockParts::decode(const codec::ByteSource& source, std::span<const BlockPart> parts,
                          const Use& use) {
  std::vector<StoredBlock> blocks;
  blocks.reserve(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    FRAMEFS_TRY(const auto stored, parts[i].request.stored());
    blocks.push_back({parts[i].request, i, stored});
  }
  std::vector<StoredBlock*> by_offset;
  const auto runs = runs_of(blocks, by_offset);
  std::vector<Status> results(runs.size());
  const auto decode_run = [&](std::size_t i) -> Status {
    const auto context = contexts_.take();
    const auto [begin, size] = range_of(runs[i]);
    const auto stored = context->stored.take(size);
    FRAMEFS_CHECK(source.read_at(begin, stored));
    for (const auto* const block : runs[i]) {
      const auto part = stored.subspan(block->stored.offset - begin, block->stored.size);
      FRAMEFS_CHECK(decode_one(source, *context, *block, part, parts[block->place].within, use));
    }
    return {};
  };
  workers_.run(runs.size(), [&](std::size_t i) { results[i] = decode_run(i); });
  for (const auto& result : results) FRAMEFS_CHECK(result);
  return {};
}

}  // namespace framefs::fs
