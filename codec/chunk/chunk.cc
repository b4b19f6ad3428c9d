#include "codec/chunk/chunk.h"

#include <algorithm>
#include <array>
#include <functional>

#include "codec/core/byte_reader.h"
#include "codec/core/work_budget.h"

namespace framefs::codec {
namespace {

constexpr std::uint32_t kStartBytes = 4;   // size of a block start
constexpr std::uint32_t kRecordBytes = 5;  // length of a stream and, at most, its token

// The cost of the parts of opening a chunk, in units of codec/core/work_budget.h.
constexpr std::uint64_t kUnitsPerRead = 256;  // a system call
constexpr std::uint64_t kUnitsPerStart = 16;
constexpr std::uint64_t kUnitsPerUnorderedStart = 512;
constexpr std::uint64_t kUnitsPerDictionaryByte = 4;
// A longer table of block starts is read in pieces.
constexpr std::uint64_t kTablePieceBytes = 256u << 10;
// Long loops spend once per this number of items.
constexpr std::size_t kStep = 64u << 10;

// Writers of these versions knew only Blosc1's rule for items that do not fill a group of eight.
// No writer of an earlier version had bitshuffle; the reference library applies the later rule.
// Source: codec/ERRATA.md, "bitshuffle before 2.0.0-beta.5".
constexpr std::uint8_t kFirstOldBitshuffleVersion = 2;
constexpr std::uint8_t kLastOldBitshuffleVersion = 3;

// Blosc1 split blocks only if it paid off, and did not record it in the header.
// Source: Blosc1 header text; c-blosc, blosc_d().
constexpr std::uint8_t kBlosc1Version = 2;
constexpr std::uint32_t kBlosc1MaxSplits = 16;
constexpr std::uint32_t kBlosc1MinStreamBytes = 128;

bool is_blosc1(const ChunkHeader& header) {
  return !header.extended && header.version <= kBlosc1Version;
}

bool blosc1_splits(const ChunkHeader& header) {
  return header.typesize <= kBlosc1MaxSplits &&
         header.blocksize / header.typesize >= kBlosc1MinStreamBytes;
}

std::uint32_t item_bytes(const ChunkHeader& header, const ChunkContext& context) {
  return context.schunk_typesize != 0 ? context.schunk_typesize : header.typesize;
}

PipelineShape pipeline_shape(const ChunkHeader& header, const ChunkContext& context) {
  const bool is_old =
      header.version >= kFirstOldBitshuffleVersion && header.version <= kLastOldBitshuffleVersion;
  return {.typesize = header.typesize,
          .schunk_typesize = item_bytes(header, context),
          .bitshuffle_tail =
              is_old ? BitshuffleTail::copy_whole_block : BitshuffleTail::copy_partial_group,
          .block_shape = context.block_shape};
}

Result<StreamFormat> make_stream_format(const ChunkHeader& header, const ChunkContext& context) {
  if (header.codec == CodecFormat::plugin && !header.extended) {
    return fail_value(Errc::unsupported, "plugin codec without an id", 2,
                      static_cast<std::int64_t>(header.codec));
  }
  const StreamFormat format{.codec = header.codec,
                            .plugin_id = header.codec_id,
                            .plugin_meta = header.codec_meta,
                            .typesize = item_bytes(header, context),
                            .block_shape = context.block_shape};
  // A missing codec is not an error here.  The first stream that needs the codec reports it;
  // streams that did not compress are stored raw and do not need it.
  const auto checked = check_stream_format(format);
  if (!checked && checked.error().kind != Errc::unsupported)
    return std::unexpected(checked.error());
  return format;
}

// Reads four-byte fields at ascending offsets, a page at a time.  A chunk may have millions of
// them.
class FieldWindow {
 public:
  FieldWindow(const ByteSource& source, std::uint64_t end) : source_(source), end_(end) {}

  // `at` + 4 is at most `end`.
  Result<std::int32_t> le_i32(std::uint64_t at) {
    if (at < begin_ || at - begin_ > size_ || size_ - (at - begin_) < sizeof(std::int32_t)) {
      begin_ = at;
      size_ = std::min<std::uint64_t>(page_.size(), end_ - at);
      FRAMEFS_CHECK(spend_work(kUnitsPerRead));
      FRAMEFS_CHECK(source_.read_at(at, std::span(page_).first(size_)));
    }
    return load_le<std::int32_t>(page_.data() + (at - begin_));
  }

 private:
  const ByteSource& source_;
  const std::uint64_t end_;
  std::uint64_t begin_ = 0;
  std::size_t size_ = 0;
  std::array<std::byte, 4096> page_{};
};

// The ends of blocks whose starts are in order.  Blocks of equal starts share one stream.
std::vector<std::uint32_t> ends_of_shared(std::span<const std::uint32_t> starts,
                                          std::uint32_t end) {
  std::vector<std::uint32_t> ends(starts.size());
  for (auto i = starts.size(); i-- > 0;) {
    if (i + 1 < starts.size()) end = starts[i] == starts[i + 1] ? ends[i + 1] : starts[i + 1];
    ends[i] = end;
  }
  return ends;
}

// Threaded writers store blocks in the order in which they finish.  A block ends where the next
// larger start is; the last one ends at `end`.
Result<std::vector<std::uint32_t>> ends_of_unordered(std::span<const std::uint32_t> starts,
                                                     std::uint32_t end) {
  if (std::ranges::is_sorted(starts)) return ends_of_shared(starts, end);
  FRAMEFS_CHECK(spend_work(starts.size() * kUnitsPerUnorderedStart));
  std::vector<std::uint32_t> sorted(starts.begin(), starts.end());
  std::ranges::sort(sorted);
  std::vector<std::uint32_t> ends;
  ends.reserve(starts.size());
  for (const auto start : starts) {
    const auto next = std::ranges::upper_bound(sorted, start);
    ends.push_back(next == sorted.end() ? end : *next);
  }
  return ends;
}

}  // namespace

Result<Chunk> Chunk::open(const ByteSource& source, std::uint64_t offset, std::uint64_t available,
                          const ChunkContext& context, const Limits& limits) {
  FRAMEFS_CHECK(spend_work(kUnitsPerRead));
  std::array<std::byte, kHeadBytes> buffer{};
  const auto head = std::span(buffer).first(std::min<std::uint64_t>(available, kHeadBytes));
  FRAMEFS_CHECK(source.read_at(offset, head));
  const auto header_span = head.first(std::min<std::size_t>(head.size(), kExtendedHeaderBytes));
  FRAMEFS_TRY(const auto header, parse_chunk_header(header_span, available));

  Chunk chunk(header, offset);
  switch (chunk.body()) {
    case ChunkBody::special:
      if (header.special == Special::value) {
        FRAMEFS_CHECK(chunk.load_value(source, limits));
      } else {
        FRAMEFS_CHECK(chunk.set_pattern());
      }
      break;
    case ChunkBody::plain:
      break;
    case ChunkBody::blocks:
      FRAMEFS_CHECK(chunk.load_block_tables(source, head, context, limits));
      break;
  }
  return chunk;
}

Result<Chunk> Chunk::make_special(Special special, std::uint32_t nbytes, std::uint32_t typesize) {
  ChunkHeader header;
  header.special = special;
  header.nbytes = nbytes;
  Chunk chunk(header, 0);
  if (special == Special::nan && typesize != 4 && typesize != 8) {
    return fail_value(Errc::bad_field, "typesize of a NaN chunk", 0, typesize);
  }
  chunk.header_.typesize = static_cast<std::uint8_t>(std::min<std::uint32_t>(typesize, 255));
  FRAMEFS_CHECK(chunk.set_pattern());
  return chunk;
}

Chunk Chunk::make_plain(std::uint32_t nbytes) {
  ChunkHeader header;
  header.nbytes = nbytes;
  header.memcpyed = true;
  return {header, 0};
}

ChunkBody Chunk::body() const noexcept {
  if (header_.special != Special::none) return ChunkBody::special;
  if (header_.memcpyed || header_.nbytes == 0) return ChunkBody::plain;
  return ChunkBody::blocks;
}

Status Chunk::set_pattern() {
  if (header_.special != Special::nan) return {};
  // The quiet NaNs that the reference library writes, as bytes.  Source: blosc2.c, set_nans().
  constexpr std::array kNan32 = {std::byte{0}, std::byte{0}, std::byte{0xc0}, std::byte{0x7f}};
  constexpr std::array kNan64 = {std::byte{0}, std::byte{0}, std::byte{0},    std::byte{0},
                                 std::byte{0}, std::byte{0}, std::byte{0xf8}, std::byte{0x7f}};
  if (header_.typesize == kNan32.size()) {
    pattern_.assign(kNan32.begin(), kNan32.end());
  } else if (header_.typesize == kNan64.size()) {
    pattern_.assign(kNan64.begin(), kNan64.end());
  } else {
    return fail_value(Errc::bad_field, "typesize of a NaN chunk", 3, header_.typesize);
  }
  return {};
}

Status Chunk::load_value(const ByteSource& source, const Limits& limits) {
  const std::uint32_t size = header_.cbytes - header_.header_bytes();
  if (size > limits.chunk_table_bytes)
    return fail_value(Errc::over_limit, "repeated value", 12, size);
  FRAMEFS_CHECK(spend_work(size));
  pattern_.resize(size);
  return source.read_at(plain_offset(), pattern_);
}

void Chunk::fill(std::uint64_t offset, std::span<std::byte> out) const {
  if (pattern_.empty()) {
    std::ranges::fill(out, std::byte{0});
    return;
  }
  std::size_t phase = offset % pattern_.size();
  // Write one period byte by byte, then double it: the copies are large for any pattern size.
  const std::size_t first = std::min(out.size(), pattern_.size());
  for (std::size_t i = 0; i < first; ++i) {
    out[i] = pattern_[phase];
    phase = phase + 1 == pattern_.size() ? 0 : phase + 1;
  }
  for (std::size_t done = first; done < out.size();) {
    const std::size_t step = std::min(done, out.size() - done);
    std::copy_n(out.data(), step, out.data() + done);
    done += step;
  }
}

Status Chunk::load_block_tables(const ByteSource& source, std::span<const std::byte> head,
                                const ChunkContext& context, const Limits& limits) {
  FRAMEFS_TRY(stream_format_, make_stream_format(header_, context));
  // A tuner's records are not filtered, whatever the slots say.
  const auto slots = header_.instrumented ? FilterSlots{} : header_.filters;
  FRAMEFS_TRY(filters_, FilterPipeline::make(slots, pipeline_shape(header_, context)));
  if (header_.vl_blocks && filters_.uses_delta()) {
    return fail(Errc::unsupported, "delta filter on variable-length blocks", 16);
  }
  if (header_.blocksize > limits.block_bytes) {
    return fail_value(Errc::over_limit, "blocksize", 8, header_.blocksize);
  }

  const std::uint64_t table_bytes = std::uint64_t{header_.nblocks} * kStartBytes;
  const std::uint32_t table_begin = header_.header_bytes();
  if (table_bytes > header_.cbytes - table_begin) {
    return fail_value(Errc::bad_field, "block count", 8, header_.nblocks);
  }
  if (table_bytes > limits.chunk_table_bytes) {
    return fail_value(Errc::over_limit, "block count", 8, header_.nblocks);
  }
  FRAMEFS_CHECK(spend_work(header_.nblocks * kUnitsPerStart));
  starts_.reserve(header_.nblocks);
  const auto add_starts = [&](std::span<const std::byte> table) {
    for (std::size_t at = 0; at < table.size(); at += kStartBytes) {
      // Negative starts become huge values, which fail the range check of stored_range().
      starts_.push_back(load_le<std::uint32_t>(table.data() + at));
    }
  };
  if (table_begin + table_bytes <= head.size()) {
    add_starts(head.subspan(table_begin, table_bytes));
  } else {
    std::vector<std::byte> piece;
    for (std::uint64_t at = 0; at < table_bytes; at += piece.size()) {
      piece.resize(std::min(table_bytes - at, kTablePieceBytes));
      FRAMEFS_CHECK(source.read_at(offset_ + table_begin + at, piece));
      add_starts(piece);
    }
  }
  blocks_begin_ = table_begin + static_cast<std::uint32_t>(table_bytes);
  if (header_.has_dict) FRAMEFS_CHECK(load_dictionary(source));
  if (header_.vl_blocks) return load_vl_sizes(source, limits);
  if (std::ranges::adjacent_find(starts_, std::ranges::greater_equal{}) != starts_.end()) {
    FRAMEFS_TRY(ends_, ends_of_unordered(starts_, header_.cbytes));
  }
  return {};
}

Status Chunk::load_dictionary(const ByteSource& source) {
  const std::uint32_t room = header_.cbytes - blocks_begin_;
  std::array<std::byte, 4> field{};
  if (room < field.size()) return fail(Errc::truncated, "dictionary size", blocks_begin_);
  FRAMEFS_CHECK(source.read_at(offset_ + blocks_begin_, field));
  const auto size = load_le<std::int32_t>(field.data());
  if (size < 1 || static_cast<std::uint32_t>(size) > kMaxDictBytes ||
      static_cast<std::uint32_t>(size) > room - field.size()) {
    return fail_value(Errc::bad_field, "dictionary size", blocks_begin_, size);
  }
  FRAMEFS_CHECK(spend_work(static_cast<std::uint64_t>(size) * kUnitsPerDictionaryByte));
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  FRAMEFS_CHECK(source.read_at(offset_ + blocks_begin_ + field.size(), bytes));
  blocks_begin_ += static_cast<std::uint32_t>(field.size() + bytes.size());
  FRAMEFS_TRY(dictionary_, Dictionary::make(header_.codec, bytes));
  return {};
}

// Variable-length blocks are stored in order, each preceded by its decoded size.  The decoded start
// of a block is the sum of all sizes before it.
Status Chunk::load_vl_sizes(const ByteSource& source, const Limits& limits) {
  vl_offsets_.reserve(starts_.size() + 1);
  FieldWindow sizes(source, offset_ + header_.cbytes);
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < starts_.size(); ++i) {
    if (i % kStep == 0) FRAMEFS_CHECK(spend_work(kStep));
    const std::uint64_t start_at = header_.header_bytes() + i * kStartBytes;
    const std::uint32_t lowest = i == 0 ? blocks_begin_ : starts_[i - 1] + kRecordBytes;
    const std::uint32_t next = i + 1 < starts_.size() ? starts_[i + 1] : header_.cbytes;
    if (starts_[i] < lowest || starts_[i] >= header_.cbytes || next <= starts_[i] ||
        next - starts_[i] < kRecordBytes) {
      return fail_value(Errc::bad_field, "block start", start_at, starts_[i]);
    }
    FRAMEFS_TRY(const auto size, sizes.le_i32(offset_ + starts_[i]));
    if (size <= 0 || static_cast<std::uint32_t>(size) > header_.nbytes - begin) {
      return fail_value(Errc::bad_field, "block size", starts_[i], size);
    }
    if (static_cast<std::uint32_t>(size) > limits.block_bytes) {
      return fail_value(Errc::over_limit, "block size", starts_[i], size);
    }
    vl_offsets_.push_back(static_cast<std::uint32_t>(begin));
    begin += static_cast<std::uint32_t>(size);
  }
  if (begin != header_.nbytes) return fail_value(Errc::bad_field, "nbytes", 4, header_.nbytes);
  vl_offsets_.push_back(header_.nbytes);
  return {};
}

ByteRange Chunk::block_range(BlockIndex block) const {
  if (header_.vl_blocks) {
    const auto begin = vl_offsets_[block.value];
    return {begin, vl_offsets_[block.value + 1] - begin};
  }
  const std::uint64_t begin = block.value * header_.blocksize;
  return {begin, std::min<std::uint64_t>(header_.blocksize, header_.nbytes - begin)};
}

BlockIndex Chunk::block_at(std::uint64_t offset) const {
  if (!header_.vl_blocks) return {offset / header_.blocksize};
  const auto after = std::ranges::upper_bound(vl_offsets_, offset);
  return {static_cast<std::uint64_t>(after - vl_offsets_.begin()) - 1};
}

std::uint32_t Chunk::stream_count(BlockIndex block) const {
  if (header_.vl_blocks || header_.dont_split) return 1;
  if (block_range(block).size < header_.blocksize) return 1;  // the leftover block
  if (is_blosc1(header_) && !blosc1_splits(header_)) return 1;
  return header_.typesize;
}

Result<ByteRange> Chunk::stored_range(BlockIndex block) const {
  const std::uint32_t start = starts_[block.value];
  if (start < blocks_begin_ || start >= header_.cbytes) {
    return fail_value(Errc::bad_field, "block start",
                      header_.header_bytes() + block.value * kStartBytes, start);
  }
  std::uint64_t end = header_.cbytes;
  if (!ends_.empty()) {
    end = ends_[block.value];
  } else if (block.value + 1 < starts_.size()) {
    end = starts_[block.value + 1];
  }
  // If starts ascend up to a damaged one, that one may be beyond the chunk.
  end = std::min<std::uint64_t>(end, header_.cbytes);
  const std::uint64_t most =
      block_range(block).size + std::uint64_t{stream_count(block)} * kRecordBytes;
  return ByteRange{offset_ + start, std::min(end - start, most)};
}

std::uint64_t Chunk::memory_bytes() const noexcept {
  const auto tables = starts_.capacity() + ends_.capacity() + vl_offsets_.capacity();
  return sizeof(*this) + pattern_.capacity() + tables * sizeof(std::uint32_t) +
         (dictionary_ ? dictionary_->memory_bytes() : 0);
}

}  // namespace framefs::codec
