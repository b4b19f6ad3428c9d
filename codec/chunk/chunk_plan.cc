#include "codec/chunk/chunk_plan.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "codec/core/byte_writer.h"
#include "codec/core/checked.h"
#include "codec/filter/filter_ids.h"

namespace framefs::codec {
namespace {

constexpr std::uint8_t kChunkVersion = 5;              // what every release since 2.0.3 reads
constexpr std::size_t kShortestBlocksChunk = 32;       // releases store smaller chunks uncompressed
constexpr std::size_t kStart = sizeof(std::uint32_t);  // of a block start and a dictionary size

// Whether the bytes repeat with this period.
bool repeats(std::span<const std::byte> bytes, std::size_t period) {
  return bytes.size() <= period ||
         std::memcmp(bytes.data(), bytes.data() + period, bytes.size() - period) == 0;
}

bool is_zero(std::span<const std::byte> bytes) {
  return !bytes.empty() && bytes[0] == std::byte{0} && repeats(bytes, 1);
}

// The filters of a chunk with these blocks.  bytedelta is left out if its streams do not fill the
// last block: until 3.3.2, the library neither wrote nor read the bytes behind them.
// Source: codec/ERRATA.md.
FilterSlots filters_for(const EncodeParams& params, const ChunkHeader& header) {
  auto filters = params.filters;
  const auto last = header.nbytes % header.blocksize;
  for (auto& slot : filters) {
    if (slot.id != filter_id::kBytedelta) continue;
    const auto width = slot.meta != 0 ? slot.meta : params.typesize;
    if (header.blocksize % width != 0 || last % width != 0) slot = {};
  }
  return filters;
}

}  // namespace

Result<ChunkPlan> ChunkPlan::make_header(const EncodeParams& params, std::size_t nbytes) {
  FRAMEFS_CHECK(check_params(params));
  if (nbytes > kMaxChunkBytes) {
    return fail_value(Errc::over_limit, "nbytes", 4, static_cast<std::int64_t>(nbytes));
  }
  ChunkPlan plan;
  plan.params_ = params;
  auto& header = plan.header_;
  header.version = kChunkVersion;
  header.codec = format_of(params.codec);
  header.codec_id = static_cast<std::uint8_t>(params.codec);
  header.extended = true;
  header.typesize = params.typesize <= kLargestTypesizeInHeader
                        ? static_cast<std::uint8_t>(params.typesize)
                        : std::uint8_t{1};
  header.nbytes = static_cast<std::uint32_t>(nbytes);
  header.blocksize = blocksize_for(params, header.nbytes);
  header.nblocks = div_ceil(header.nbytes, header.blocksize);
  header.dont_split = !splits_blocks(params, header.blocksize);
  header.filters = filters_for(params, header);
  FRAMEFS_TRY(plan.filters_,
              ForwardPipeline::make(header.filters, {.typesize = header.typesize,
                                                     .schunk_typesize = params.typesize}));
  return plan;
}

Result<ChunkPlan> ChunkPlan::make(const EncodeParams& params, std::span<const std::byte> plain) {
  FRAMEFS_TRY(auto plan, make_header(params, plain.size()));
  plan.choose_params(plain);
  if (plan.outcome_ == ChunkOutcome::blocks && params.use_dict) FRAMEFS_CHECK(plan.train(plain));
  return plan;
}

Result<ChunkPlan> ChunkPlan::make_blocks(const EncodeParams& params, std::uint32_t nbytes) {
  if (params.use_dict || params.clevel == 0) return fail(Errc::bad_field, "parameters", 0);
  FRAMEFS_TRY(auto plan, make_header(params, nbytes));
  if (!plan.is_worthwhile(plan.blocks_begin())) {
    return fail_value(Errc::bad_field, "nbytes", 4, nbytes);
  }
  plan.outcome_ = ChunkOutcome::blocks;
  return plan;
}

Result<std::optional<ChunkPlan>> ChunkPlan::make_update(const EncodeParams& params,
                                                        std::uint32_t nbytes, const Chunk& stored) {
  const auto& old = stored.header();
  if (params.use_dict || params.clevel == 0 || stored.body() != ChunkBody::blocks ||
      stored.needs_first_block() || stored.split_is_ambiguous()) {
    return std::nullopt;
  }
  FRAMEFS_TRY(auto plan, make_header(params, nbytes));
  // A kept block must mean the same under the new header.  Only the sizes of the chunk may differ,
  // and the fields that codecs of the library itself do not use.
  auto same = plan.header_;
  same.nbytes = old.nbytes;
  same.nblocks = old.nblocks;
  same.cbytes = old.cbytes;
  same.codec_id = old.codec_id;
  same.codec_meta = old.codec_meta;
  if (old != same || !plan.is_worthwhile(plan.blocks_begin())) return std::nullopt;
  plan.outcome_ = ChunkOutcome::blocks;
  return plan;
}

bool ChunkPlan::fits(BlockIndex block, const Chunk& stored) const noexcept {
  return block.value < stored.block_count() && block_range(block) == stored.block_range(block);
}

void ChunkPlan::choose_params(std::span<const std::byte> plain) {
  const std::size_t item = params_.typesize;
  // Readers refuse a repeated item if the chunk's size is not a multiple of it; some readers also
  // refuse such zeros.
  const bool is_repeated = plain.size() % item == 0 && repeats(plain, item);
  const bool is_short = plain.size() < kShortestBlocksChunk;
  if (is_repeated && params_.omit_zero_chunks && is_zero(plain)) {
    outcome_ = ChunkOutcome::zeros;
  } else if (is_repeated && plain.size() > item && !is_short) {
    outcome_ = ChunkOutcome::value;
  } else if (is_short || params_.clevel == 0 || !is_worthwhile(blocks_begin())) {
    outcome_ = ChunkOutcome::plain;
  } else {
    outcome_ = ChunkOutcome::blocks;
  }
}

// Trains on pieces of filtered blocks from all over the chunk.
Status ChunkPlan::train(std::span<const std::byte> plain) {
  constexpr std::size_t kMinDictionary = 256;   // a smaller one does not pay off
  constexpr std::size_t kDictionaryShare = 20;  // at most 1/20 of the chunk
  constexpr std::size_t kSamplesPerDictionary = 64;
  constexpr std::size_t kSampleBytes = 1024;
  const auto most = std::min<std::size_t>(plain.size() / kDictionaryShare, kMaxDictBytes);
  if (most < kMinDictionary) return {};

  const std::size_t budget = kSamplesPerDictionary * most;
  const std::size_t every = div_ceil(plain.size(), budget);  // take one piece of this many
  std::vector<std::byte> samples;
  std::vector<std::size_t> sizes;
  std::vector<std::byte> first(header_.blocksize);
  std::vector<std::byte> second(header_.blocksize);
  std::size_t piece = 0;
  for (BlockIndex block; block.value < header_.nblocks; ++block.value) {
    const auto range = block_range(block);
    auto filtered = filters_.encode(plain.subspan(range.offset, range.size), first, second);
    for (; !filtered.empty(); ++piece) {
      const auto size = std::min(filtered.size(), kSampleBytes);
      if (piece % every == 0) {
        samples.insert(samples.end(), filtered.begin(),
                       filtered.begin() + static_cast<std::ptrdiff_t>(size));
        sizes.push_back(size);
      }
      filtered = filtered.subspan(size);
    }
  }
  FRAMEFS_TRY(dictionary_,
              EncoderDictionary::train(params_.codec, params_.clevel, samples, sizes, most));
  if (dictionary_ &&
      (dictionary_->bytes().size() < kMinDictionary || !is_worthwhile(blocks_begin()))) {
    dictionary_.reset();
  }
  header_.has_dict = dictionary_.has_value();
  return {};
}

ByteRange ChunkPlan::block_range(BlockIndex block) const noexcept {
  const auto begin = block.value * header_.blocksize;
  return {begin, std::min<std::uint64_t>(header_.blocksize, header_.nbytes - begin)};
}

std::uint32_t ChunkPlan::stream_count(BlockIndex block) const noexcept {
  const bool is_full = block_range(block).size == header_.blocksize;
  return is_full && !header_.dont_split ? header_.typesize : 1;
}

std::size_t ChunkPlan::max_block_bytes(BlockIndex block) const noexcept {
  constexpr std::size_t kStreamHead = sizeof(std::int32_t);
  return block_range(block).size + kStreamHead * stream_count(block);
}

std::size_t ChunkPlan::blocks_begin() const noexcept {
  const auto starts = kExtendedHeaderBytes + kStart * header_.nblocks;
  return dictionary_ ? starts + kStart + dictionary_->bytes().size() : starts;
}

std::size_t ChunkPlan::assemble(std::span<const std::byte> plain,
                                std::span<const std::span<const std::byte>> blocks,
                                std::span<std::byte> out) const {
  switch (outcome_) {
    case ChunkOutcome::zeros:
      return 0;
    case ChunkOutcome::value:
      return write_value(plain, out);
    case ChunkOutcome::plain:
      return write_plain(plain, out);
    case ChunkOutcome::blocks:
      break;
  }
  std::size_t at = blocks_begin();
  std::vector<std::uint32_t> ends;
  ends.reserve(blocks.size());
  for (const auto& block : blocks) {
    if (!is_worthwhile(at + block.size())) return write_plain(plain, out);
    std::ranges::copy(block, out.begin() + static_cast<std::ptrdiff_t>(at));
    at += block.size();
    ends.push_back(static_cast<std::uint32_t>(at));
  }
  return finish_blocks(ends, out);
}

std::size_t ChunkPlan::finish_blocks(std::span<const std::uint32_t> ends,
                                     std::span<std::byte> out) const {
  auto header = header_;
  header.cbytes = ends.back();
  encode_chunk_header(header, out.first<kExtendedHeaderBytes>());
  std::byte* to = out.data() + kExtendedHeaderBytes;
  auto begin = static_cast<std::uint32_t>(blocks_begin());
  for (const auto end : ends) {
    store_le(to, begin);
    to += kStart;
    begin = end;
  }
  if (dictionary_) {
    const auto bytes = dictionary_->bytes();
    store_le(to, static_cast<std::uint32_t>(bytes.size()));
    std::memcpy(to + kStart, bytes.data(), bytes.size());
  }
  return header.cbytes;
}

std::size_t ChunkPlan::write_plain(std::span<const std::byte> plain,
                                   std::span<std::byte> out) const {
  auto header = header_;
  header.memcpyed = true;
  header.has_dict = false;  // the reference library cannot read a memcpyed chunk with one
  header.cbytes = kExtendedHeaderBytes + header.nbytes;
  encode_chunk_header(header, out.first<kExtendedHeaderBytes>());
  std::ranges::copy(plain, out.begin() + kExtendedHeaderBytes);
  return header.cbytes;
}

std::size_t ChunkPlan::write_value(std::span<const std::byte> plain,
                                   std::span<std::byte> out) const {
  auto header = header_;
  header.special = Special::value;
  header.cbytes = kExtendedHeaderBytes + params_.typesize;
  encode_chunk_header(header, out.first<kExtendedHeaderBytes>());
  std::ranges::copy(plain.first(params_.typesize), out.begin() + kExtendedHeaderBytes);
  return header.cbytes;
}

}  // namespace framefs::codec
