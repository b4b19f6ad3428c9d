#include "codec/frame/salvage.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "codec/array/array_meta.h"
#include "codec/chunk/chunk_encoder.h"
#include "codec/frame/chunk_scan.h"
#include "codec/frame/chunk_space.h"
#include "codec/frame/frame.h"
#include "codec/frame/frame_trailer.h"
#include "codec/frame/index_search.h"
#include "codec/frame/metalayer.h"

namespace framefs::codec {
namespace {

// The parts of the header that can be read.
struct Head {
  std::optional<FrameHeader> fixed;
  bool has_metalayers = false;
  std::vector<NamedContent> metalayers;
  ChunkContext context;
};

// Accepts a header in which only the magic was overwritten.
std::optional<FrameHeader> parse_with_magic(std::array<std::byte, kFrameFixedHeaderBytes> head) {
  constexpr std::string_view kMagic =
      "\x9e\xa8"
      "b2frame";
  std::ranges::transform(kMagic, head.begin(), [](char c) { return static_cast<std::byte>(c); });
  head[kMagic.size()] = std::byte{0};
  const auto header = parse_frame_header(head);
  return header ? std::optional(*header) : std::nullopt;
}

std::optional<FrameHeader> read_fixed_header(const ByteSource& file) {
  std::array<std::byte, kFrameFixedHeaderBytes> head{};
  if (!file.read_at(0, head)) return std::nullopt;
  const auto header = parse_frame_header(head);
  return header ? std::optional(*header) : parse_with_magic(head);
}

// Reads the metalayers of a header of `header_len` bytes.  Its fixed part may be lost.
void read_metalayers(const ByteSource& file, std::uint64_t header_len, std::size_t map_at,
                     const Limits& limits, Head& head) {
  if (header_len <= map_at || header_len > limits.frame_header_bytes) return;
  std::vector<std::byte> whole(header_len);
  if (!file.read_at(0, whole)) return;
  const auto layers = parse_metalayers(whole, map_at, 0, kMaxMetalayers);
  if (!layers) return;
  for (const auto& layer : *layers) {
    const auto content = std::span(whole).subspan(layer.content.offset, layer.content.size);
    head.metalayers.push_back({layer.name, {content.begin(), content.end()}});
  }
  head.has_metalayers = true;
  const auto* const array = find_array_layer(*layers);
  if (array == nullptr) return;
  const auto meta =
      parse_array_meta(std::span(whole).subspan(array->content.offset, array->content.size));
  if (meta) head.context.block_shape = BlockShape{.ndim = meta->ndim, .dims = meta->blockshape};
}

Head read_head(const ByteSource& file, const Limits& limits) {
  Head head;
  head.fixed = read_fixed_header(file);
  if (head.fixed) {
    head.context.schunk_typesize = head.fixed->typesize;
    read_metalayers(file, head.fixed->header_len, head.fixed->metalayers_at(), limits, head);
  }
  return head;
}

// Reads the vl-metalayers of a trailer that begins at `at`.  Its end may be lost.
bool read_vlmetalayers(const ByteSource& file, std::uint64_t at, std::uint64_t end,
                       const Limits& limits, std::vector<NamedContent>& to) {
  if (end <= at) return false;
  std::vector<std::byte> trailer(std::min(end - at, limits.frame_trailer_bytes));
  if (!file.read_at(at, trailer)) return false;
  const auto layers = parse_metalayers(trailer, kTrailerMapAt, at, kMaxVlMetalayers);
  if (!layers) return false;
  bool all = true;
  for (const auto& layer : *layers) {
    if (layer.name == kChecksumLayer) continue;  // it does not count for another frame
    auto content = Frame::read_vlmetalayer(file, layer, limits);
    all = all && content;
    if (content) to.push_back({layer.name, std::move(*content)});
  }
  return all;
}

// The places of the chunks: in one file behind the header, or in chunk files.
struct Places {
  bool is_sparse = false;
  std::vector<FoundChunk> chunks;  // can include index chunks and chunks of vl-metalayers
  [[nodiscard]] ByteRange range_of(std::uint64_t base, std::int64_t entry) const {
    const auto value = static_cast<std::uint64_t>(entry);
    return {is_sparse ? chunk_file_at(static_cast<std::uint32_t>(value)) : base + value, 0};
  }
};

// Returns the most frequent decoded size.
std::uint32_t usual_chunk_bytes(const std::vector<FoundChunk>& chunks) {
  std::map<std::uint32_t, std::uint64_t> counts;
  std::uint64_t most = 0;
  std::uint32_t usual = 0;
  for (const auto& chunk : chunks) {
    const auto count = ++counts[chunk.header.nbytes];
    if (count < most || (count == most && chunk.header.nbytes <= usual)) continue;
    most = count;
    usual = chunk.header.nbytes;
  }
  return usual;
}

// Returns parameters for later writers.  Only the typesize must be that of the old frame.
EncodeParams params_of(const std::optional<FrameHeader>& header, const ChunkHeader& chunk) {
  EncodeParams params;
  params.typesize = header ? header->typesize : chunk.typesize;
  if (params.typesize == 0) params.typesize = 1;
  const auto id = header ? header->codec_id : static_cast<std::uint8_t>(CodecId::zstd);
  if (id <= static_cast<std::uint8_t>(CodecId::zstd)) params.codec = static_cast<CodecId>(id);
  if (header && header->clevel <= 9) params.clevel = header->clevel;
  params.filters = header ? header->filters : chunk.filters;
  if (!check_params(params)) params.filters = {};
  return params;
}

SalvagedEntry stored_entry(const FoundChunk& chunk) {
  return {.stored = chunk.stored, .nbytes = chunk.header.nbytes};
}

// Puts the chunks in the order of an index.
void order_by_index(const FoundIndex& found, const Places& places,
                    const std::optional<FrameHeader>& header, SalvagePlan& plan) {
  std::unordered_map<std::uint64_t, const FoundChunk*> by_place;
  for (const auto& chunk : places.chunks) by_place.emplace(chunk.stored.offset, &chunk);
  const std::uint64_t count = found.entries.size();
  const auto chunksize = plan.params.chunksize;
  // Without a stored last chunk, only the header knows its size.
  std::uint32_t last = chunksize;
  if (header && header->nbytes > 0 && (header->nbytes - 1) / chunksize + 1 == count) {
    last = static_cast<std::uint32_t>(header->nbytes - (count - 1) * chunksize);
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto entry = found.entries[i];
    const std::uint32_t nbytes = i + 1 < count ? chunksize : last;
    if (entry < 0) {
      plan.entries.push_back({.stored = {}, .special = special_of_code(entry), .nbytes = nbytes});
      continue;
    }
    const auto chunk = by_place.find(places.range_of(found.base, entry).offset);
    const bool fits = chunk != by_place.end() && chunk->second->header.nbytes <= chunksize &&
                      (i + 1 == count || chunk->second->header.nbytes == chunksize);
    plan.entries.push_back(
        fits ? stored_entry(*chunk->second)
             : SalvagedEntry{
                   .stored = {}, .special = Special::zero, .is_lost = true, .nbytes = nbytes});
  }
}

// Puts the chunks in file order: first all of the full size, then a shorter one, if there is one.
void order_by_place(const Places& places, const std::optional<FrameHeader>& header,
                    std::uint64_t begin, SalvagePlan& plan) {
  const auto chunksize = plan.params.chunksize;
  const auto& chunks = places.chunks;
  std::optional<std::size_t> shorter;
  bool is_contiguous = true;
  std::uint64_t end = begin;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const auto& chunk = chunks[i];
    const bool follows = places.is_sparse || chunk.stored.offset == end;
    if (chunk.header.nbytes == chunksize) {
      is_contiguous = is_contiguous && follows && !shorter;
      plan.entries.push_back(stored_entry(chunk));
      end = chunk.stored.offset + chunk.stored.size;
    } else if (chunk.header.nbytes < chunksize && follows) {
      shorter = i;
    }
  }
  if (shorter) plan.entries.push_back(stored_entry(chunks[*shorter]));
  const bool is_all = !header || header->nbytes == plan.nbytes();
  plan.order = is_contiguous && is_all ? SalvageOrder::file : SalvageOrder::unknown;
}

std::uint64_t count_left_out(const Places& places, const SalvagePlan& plan) {
  std::unordered_set<std::uint64_t> used;
  for (const auto& entry : plan.entries) {
    if (entry.stored) used.insert(entry.stored->offset);
  }
  return static_cast<std::uint64_t>(std::ranges::count_if(
      places.chunks, [&](const auto& chunk) { return !used.contains(chunk.stored.offset); }));
}

Result<SalvagePlan> plan_from(const ByteSource& file, Head head, Places places,
                              std::optional<FoundIndex> index, std::uint64_t begin,
                              const Limits& limits) {
  SalvagePlan plan;
  plan.has_header = head.fixed.has_value();
  if (!head.fixed) read_metalayers(file, begin, kFrameFixedHeaderBytes, limits, head);
  plan.has_metalayers = head.has_metalayers;
  const auto usual = usual_chunk_bytes(places.chunks);
  const auto chunksize =
      head.fixed && head.fixed->chunksize >= usual ? head.fixed->chunksize : usual;
  if (head.fixed && head.fixed->has_variable_chunks()) {
    return fail(Errc::unsupported, "salvage of a frame whose chunks vary in size");
  }
  if (chunksize == 0) return fail(Errc::bad_field, "no chunk was found");
  const auto sample = places.chunks.empty() ? ChunkHeader{} : places.chunks.front().header;
  plan.params = {.encode = params_of(head.fixed, sample),
                 .chunksize = chunksize,
                 .metalayers = std::move(head.metalayers)};
  if (index) {
    order_by_index(*index, places, head.fixed, plan);
    plan.index_at = index->at;
    plan.order = index->is_current ? SalvageOrder::index : SalvageOrder::earlier_index;
    FRAMEFS_TRY(const auto size, file.size());
    plan.has_trailer = read_vlmetalayers(file, index->end, size, limits, plan.params.vlmetalayers);
  } else {
    order_by_place(places, head.fixed, begin, plan);
  }
  plan.left_out = count_left_out(places, plan);
  return plan;
}

// Returns whether an index has an entry for the chunk at that offset.
bool names(const FoundIndex& index, std::uint64_t at) {
  return at >= index.base &&
         std::ranges::find(index.entries, static_cast<std::int64_t>(at - index.base)) !=
             index.entries.end();
}

// Returns a chunk of zeros, for a place where an index entry cannot stand for zeros.
Result<std::vector<std::byte>> zero_chunk(const EncodeParams& frame, std::uint32_t nbytes) {
  auto params = frame;
  params.omit_zero_chunks = false;
  params.filters = {};
  const std::vector<std::byte> zeros(nbytes);
  std::vector<std::byte> out(ChunkPlan::max_bytes(nbytes));
  ChunkEncoder encoder;
  FRAMEFS_TRY(const auto size, encoder.encode(params, zeros, out));
  out.resize(size);
  return out;
}

Status append_entry(FrameWriter& writer, const SalvagePlan& plan, const SalvagedEntry& entry,
                    const ByteSource& chunks) {
  if (entry.stored) {
    std::vector<std::byte> stored(entry.stored->size);
    FRAMEFS_CHECK(chunks.read_at(entry.stored->offset, stored));
    return writer.append_chunk(stored);
  }
  if (entry.nbytes % plan.params.encode.typesize == 0) {
    return writer.append_special(entry.special, entry.nbytes);
  }
  FRAMEFS_TRY(const auto zeros, zero_chunk(plan.params.encode, entry.nbytes));
  return writer.append_chunk(zeros);
}

}  // namespace

std::uint64_t SalvagePlan::nbytes() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& entry : entries) sum += entry.nbytes;
  return sum;
}

std::vector<ByteRange> SalvagePlan::lost() const {
  std::vector<ByteRange> ranges;
  std::uint64_t at = 0;
  for (const auto& entry : entries) {
    if (entry.is_lost && !ranges.empty() && ranges.back().offset + ranges.back().size == at) {
      ranges.back().size += entry.nbytes;
    } else if (entry.is_lost) {
      ranges.push_back({at, entry.nbytes});
    }
    at += entry.nbytes;
  }
  return ranges;
}

Result<SalvagePlan> plan_salvage(const ByteSource& file, const Limits& limits,
                                 const SalvageProgress& progress) {
  auto head = read_head(file, limits);
  Places places;
  FRAMEFS_TRY(auto found, scan_for_chunks(file, 0, head.context, limits, progress));
  auto index = find_index(file, head.fixed, found, limits);
  // An index is not data, even the index of an old commit.  But data can look like an index.
  const auto is_old_index = [&](const FoundChunk& chunk) {
    const auto at = chunk.stored.offset;
    return index.is_index(at) && !(index.best && names(*index.best, at));
  };
  std::erase_if(found, is_old_index);
  if (found.empty() && !index.best) return fail(Errc::bad_field, "no chunk was found");
  places.chunks = std::move(found);
  const auto begin = index.best   ? index.best->base
                     : head.fixed ? std::uint64_t{head.fixed->header_len}
                                  : places.chunks.front().stored.offset;
  return plan_from(file, std::move(head), std::move(places), std::move(index.best), begin, limits);
}

Result<SalvagePlan> plan_sparse_salvage(const ByteSource& index_file, const ByteSource& chunks,
                                        std::span<const std::uint32_t> ids, const Limits& limits,
                                        const SalvageProgress& progress) {
  auto head = read_head(index_file, limits);
  Places places{.is_sparse = true, .chunks = {}};
  for (const auto id : ids) {
    const auto at = chunk_file_at(id);
    const auto available = chunks.available_from(at);
    if (!available) continue;
    const auto chunk = sound_chunk_at(chunks, at, *available, head.context, limits);
    if (chunk) places.chunks.push_back(*chunk);
    if (progress && !progress(places.chunks.size())) return scan_ended();
  }
  FRAMEFS_TRY(const auto found, scan_for_chunks(index_file, 0, head.context, limits, {}));
  auto index = find_sparse_index(index_file, found, places.chunks, limits);
  if (places.chunks.empty() && !index) return fail(Errc::bad_field, "no chunk was found");
  const auto begin = head.fixed ? head.fixed->header_len : index ? index->at : 0;
  return plan_from(index_file, std::move(head), std::move(places), std::move(index), begin, limits);
}

Result<std::uint64_t> write_salvaged(const SalvagePlan& plan, const ByteSource& chunks,
                                     ByteSink& sink) {
  FRAMEFS_TRY(auto writer, FrameWriter::create(sink, plan.params));
  for (const auto& entry : plan.entries) FRAMEFS_CHECK(append_entry(writer, plan, entry, chunks));
  return writer.finish();
}

}  // namespace framefs::codec
