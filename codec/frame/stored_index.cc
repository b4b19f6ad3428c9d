#include "codec/frame/stored_index.h"

#include <algorithm>
#include <utility>

#include "codec/chunk/chunk_reader.h"
#include "codec/core/byte_reader.h"
#include "codec/core/checked.h"
#include "codec/core/work_budget.h"
#include "codec/frame/frame_index.h"

namespace framefs::codec {
namespace {

// Limits of an index in memory and time.  The reference library makes blocks of 32 KiB to 4 MiB
// (stune.c), so its longest index has 65,000 blocks.
constexpr std::uint64_t kMaxIndexBlockBytes = 16u << 20;
constexpr std::uint64_t kMaxIndexTableBytes = 1u << 20;
// Larger tables of an index are not kept while a frame is open.
constexpr std::uint64_t kKeptIndexBytes = 64u << 10;
// Entries that are decoded and kept together, at least.
constexpr std::uint64_t kMinWindowEntries = 8192;

}  // namespace

Result<StoredIndex> StoredIndex::open(const ByteSource& source, ByteRange place,
                                      std::optional<std::uint64_t> entries, const Limits& limits) {
  StoredIndex index(place);
  FRAMEFS_TRY(auto chunk, index.open_chunk(source, limits));
  if (chunk.header().typesize != kIndexEntryBytes) {
    return fail_value(Errc::bad_field, "typesize of the index", place.offset + 3,
                      chunk.header().typesize);
  }
  index.entries_ = chunk.nbytes() / kIndexEntryBytes;
  const bool is_whole = index.entries_ > 0 && chunk.nbytes() % kIndexEntryBytes == 0;
  if (!is_whole || index.entries_ != entries.value_or(index.entries_)) {
    return fail_value(Errc::bad_field, "nbytes of the index", place.offset + 4, chunk.nbytes());
  }
  if (chunk.body() == ChunkBody::blocks) {
    const auto block = div_ceil<std::uint64_t>(chunk.header().blocksize, kIndexEntryBytes);
    index.window_entries_ = block * std::max<std::uint64_t>(kMinWindowEntries / block, 1);
  } else {
    index.window_entries_ = kMinWindowEntries;
  }
  if (chunk.memory_bytes() <= kKeptIndexBytes) index.tables_ = std::move(chunk);
  return index;
}

// A few bytes of a file must not make the pieces that are decoded, or the tables, large.
Result<Chunk> StoredIndex::open_chunk(const ByteSource& source, const Limits& limits) const {
  Limits own = limits;
  own.block_bytes = std::min<std::uint64_t>(limits.block_bytes, kMaxIndexBlockBytes);
  own.chunk_table_bytes = std::min<std::uint64_t>(limits.chunk_table_bytes, kMaxIndexTableBytes);
  auto chunk =
      Chunk::open(source, place_.offset, place_.size, {.schunk_typesize = kIndexEntryBytes}, own);
  if (!chunk) return fail_of_part(chunk.error(), place_.offset);
  if (chunk->header().vl_blocks) {
    return fail(Errc::unsupported, "variable-length blocks of the index", place_.offset);
  }
  return chunk;
}

Status StoredIndex::read(const ByteSource& source, ChunkIndex first,
                         std::span<std::int64_t> out) const {
  std::optional<Chunk> reopened;
  if (!tables_) {
    FRAMEFS_TRY(reopened, open_chunk(source, Limits{}));
    if (reopened->nbytes() != entries_ * kIndexEntryBytes) {
      return fail_value(Errc::bad_field, "nbytes of the index", place_.offset + 4,
                        reopened->nbytes());
    }
  }
  FRAMEFS_CHECK(spend_work(out.size_bytes()));
  const auto stored = std::as_writable_bytes(out);
  ChunkReader reader(source, tables_ ? *tables_ : *reopened);
  if (const auto read = reader.read(first.value * kIndexEntryBytes, stored); !read) {
    return fail_of_part(read.error(), place_.offset);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = load_le<std::int64_t>(stored.data() + i * kIndexEntryBytes);
  }
  return {};
}

}  // namespace framefs::codec
