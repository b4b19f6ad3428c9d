#include "codec/frame/salvage.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "codec/chunk/chunk.h"
#include "codec/chunk/chunk_encoder.h"
#include "codec/frame/chunk_scan.h"
#include "codec/frame/chunk_space.h"
#include "codec/frame/cut_chunk.h"
#include "codec/frame/frame_space.h"
#include "codec/frame/index_search.h"
#include "codec/frame/metalayer.h"
#include "codec/frame/named_chunks.h"
#include "codec/frame/readable_ends.h"

namespace framefs::codec {
namespace {

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

SalvagedEntry stored_entry(const FoundChunk& chunk, const SalvagePlan& plan) {
  const bool is_kept =
      chunk.lost.empty() && FrameWriter::takes(chunk.header, plan.params.encode.typesize);
  return {.stored = chunk.stored,
          .nbytes = chunk.header.nbytes,
          .is_encoded_anew = !is_kept,
          .lost = chunk.lost};
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
        fits ? stored_entry(*chunk->second, plan)
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
      plan.entries.push_back(stored_entry(chunk, plan));
      end = chunk.stored.offset + chunk.stored.size;
    } else if (chunk.header.nbytes < chunksize && follows) {
      shorter = i;
    }
  }
  if (shorter) plan.entries.push_back(stored_entry(chunks[*shorter], plan));
  if (!is_contiguous) {
    plan.order = SalvageOrder::unknown;
  } else {
    const bool is_all = !header || header->nbytes == plan.nbytes();
    plan.order = is_all ? SalvageOrder::file : SalvageOrder::incomplete;
  }
}

std::uint64_t count_left_out(const Places& places, const SalvagePlan& plan) {
  std::unordered_set<std::uint64_t> used;
  for (const auto& entry : plan.entries) {
    if (entry.stored) used.insert(entry.stored->offset);
  }
  return static_cast<std::uint64_t>(std::ranges::count_if(
      places.chunks, [&](const auto& chunk) { return !used.contains(chunk.stored.offset); }));
}

// Removes the chunks that hold vl-metalayers.
void remove_layers(const std::vector<Metalayer>& layers, std::vector<FoundChunk>& chunks) {
  std::unordered_set<std::uint64_t> places;
  for (const auto& layer : layers) places.insert(layer.content.offset);
  std::erase_if(chunks, [&](const auto& chunk) { return places.contains(chunk.stored.offset); });
}

// `tail_at` is the end of the last commit's index, or 0 if that is unknown.
Result<SalvagePlan> plan_from(const ByteSource& file, ReadableHead head, Places places,
                              const std::optional<FoundIndex>& index, std::uint64_t begin,
                              std::uint64_t tail_at, const Limits& limits) {
  SalvagePlan plan;
  plan.has_header = head.fixed.has_value();
  plan.context = head.context;
  plan.limits = limits;
  if (!head.fixed) add_metalayers(file, begin, kFrameFixedHeaderBytes, limits, head);
  plan.has_metalayers = head.has_metalayers;
  FRAMEFS_TRY(const auto size, file.size());
  auto tail = tail_at > 0 ? read_tail(file, tail_at, size, limits) : ReadableTail{};
  plan.has_trailer = tail.is_whole || !head.may_have_vlmetalayers;
  if (!places.is_sparse) remove_layers(tail.layers, places.chunks);
  const auto sample = places.chunks.empty() ? ChunkHeader{} : places.chunks.front().header;
  const auto encode = params_of(head.fixed, sample);
  plan.left_out = std::erase_if(places.chunks, [&](const FoundChunk& chunk) {
    return !chunk.has_certain_place && !FrameWriter::takes(chunk.header, encode.typesize);
  });
  if (head.fixed && head.fixed->has_variable_chunks()) {
    return fail(Errc::unsupported, "salvage of a frame whose chunks vary in size");
  }
  const auto usual = usual_chunk_bytes(places.chunks);
  const auto chunksize =
      head.fixed && head.fixed->chunksize >= usual ? head.fixed->chunksize : usual;
  const bool has_data = !places.chunks.empty() || index;
  if ((!has_data && !head.is_of_empty_frame()) || chunksize == 0)
    return fail(Errc::bad_field, "no chunk was found");
  plan.params = {.encode = encode,
                 .chunksize = chunksize,
                 .metalayers = std::move(head.metalayers),
                 .vlmetalayers = std::move(tail.vlmetalayers)};
  if (index) {
    order_by_index(*index, places, head.fixed, plan);
    plan.index_at = index->at;
    plan.order = index->is_current ? SalvageOrder::index : SalvageOrder::earlier_index;
  } else {
    order_by_place(places, head.fixed, begin, plan);
  }
  if (head.fixed) plan.header_nbytes = head.fixed->nbytes;
  plan.left_out += count_left_out(places, plan);
  return plan;
}

// Removes index chunks from the chunks that may hold data: an index is not data, even the index of
// an old commit.  But data can look like an index, and then the frame's index names it.
void remove_indexes(const IndexSearch& search, std::vector<FoundChunk>& found) {
  std::unordered_set<std::uint64_t> named;
  if (search.best) {
    for (const auto entry : search.best->entries) {
      if (entry >= 0) named.insert(search.best->base + static_cast<std::uint64_t>(entry));
    }
  }
  std::erase_if(found, [&](const FoundChunk& chunk) {
    const auto at = chunk.stored.offset;
    return search.is_index(at) && !named.contains(at);
  });
}

// Encodes a chunk that is stored even if it is all zeros.  The filters of the frame may round.
Result<std::vector<std::byte>> encode_stored(EncodeParams params,
                                             std::span<const std::byte> plain) {
  params.omit_zero_chunks = false;
  params.filters = {};
  std::vector<std::byte> out(ChunkPlan::max_bytes(plain.size()));
  ChunkEncoder encoder;
  FRAMEFS_TRY(const auto size, encoder.encode(params, plain, out));
  out.resize(size);
  return out;
}

// A chunk of zeros, for places where an index entry cannot stand for zeros.  It is made once for
// all lost chunks of a size.
class ZeroChunk {
 public:
  explicit ZeroChunk(const EncodeParams& params) : params_(params) {}
  Result<std::span<const std::byte>> of(std::uint32_t nbytes) {
    if (nbytes != nbytes_) {
      const std::vector<std::byte> zeros(nbytes);
      FRAMEFS_TRY(stored_, encode_stored(params_, zeros));
      nbytes_ = nbytes;
    }
    return stored_;
  }

 private:
  const EncodeParams& params_;
  std::uint32_t nbytes_ = 0;
  std::vector<std::byte> stored_;
};

// Returns a new chunk of the bytes of a stored chunk that can be decoded, with zeros for the rest.
Result<std::vector<std::byte>> encode_anew(const SalvagePlan& plan, ByteRange stored,
                                           std::uint32_t nbytes, const ByteSource& chunks) {
  FRAMEFS_TRY(const auto chunk,
              Chunk::open(chunks, stored.offset, stored.size, plan.context, plan.limits));
  std::vector<std::byte> plain(nbytes);
  decode_each_block(chunks, chunk, [&](std::uint64_t from, std::span<const std::byte> bytes) {
    std::ranges::copy(bytes, plain.begin() + static_cast<std::ptrdiff_t>(from));
  });
  auto params = plan.params.encode;
  // The blocks of an array have a shape.
  params.blocksize = std::min<std::uint32_t>(chunk.header().blocksize, kMaxBlockBytes);
  return encode_stored(params, plain);
}

Status append_entry(FrameWriter& writer, const SalvagePlan& plan, const SalvagedEntry& entry,
                    const ByteSource& chunks, ZeroChunk& zero) {
  if (entry.stored && entry.is_encoded_anew) {
    FRAMEFS_TRY(const auto chunk, encode_anew(plan, *entry.stored, entry.nbytes, chunks));
    return writer.append_chunk(chunk);
  }
  if (entry.stored) {
    std::vector<std::byte> stored(entry.stored->size);
    FRAMEFS_CHECK(chunks.read_at(entry.stored->offset, stored));
    return writer.append_chunk(stored);
  }
  if (entry.nbytes % plan.params.encode.typesize == 0) {
    return writer.append_special(entry.special, entry.nbytes);
  }
  FRAMEFS_TRY(const auto zeros, zero.of(entry.nbytes));
  return writer.append_chunk(zeros);
}

}  // namespace

std::uint64_t SalvagePlan::nbytes() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& entry : entries) sum += entry.nbytes;
  return sum;
}

bool SalvagePlan::is_whole() const {
  // The library can insert and move chunks, of which only the index tells.
  const bool is_ordered =
      order == SalvageOrder::index || (order == SalvageOrder::file && entries.size() <= 1);
  return is_ordered && has_metalayers && has_trailer && lost().empty();
}

std::vector<ByteRange> SalvagePlan::lost() const {
  std::vector<ByteRange> ranges;
  std::uint64_t at = 0;
  for (const auto& entry : entries) {
    if (entry.is_lost) append_range(ranges, {at, entry.nbytes});
    for (const auto& range : entry.lost) append_range(ranges, {at + range.offset, range.size});
    at += entry.nbytes;
  }
  return ranges;
}

Result<SalvagePlan> plan_salvage(const ByteSource& file, const Limits& limits,
                                 const SalvageProgress& progress) {
  auto head = read_head(file, limits);
  Places places;
  FRAMEFS_TRY(auto found, scan_for_chunks(file, 0, head.context, limits, progress));
  if (head.fixed) {
    FRAMEFS_CHECK(add_named_chunks(file, *head.fixed, head.context, limits, progress, found));
  }
  FRAMEFS_TRY(const auto search, find_index(file, head.fixed, found, limits, progress));
  const auto& index = search.best;
  remove_indexes(search, found);
  if (head.fixed && !index) {
    FRAMEFS_CHECK(add_cut_chunk(file, *head.fixed, head.context, limits, found));
  }
  places.chunks = std::move(found);
  const auto begin = index                    ? index->base
                     : head.fixed             ? std::uint64_t{head.fixed->header_len}
                     : !places.chunks.empty() ? places.chunks.front().stored.offset
                                              : 0;
  const auto tail_at = search.last ? search.last->offset + search.last->size
                       : index     ? index->end
                                   : head.tail_of_empty_frame();
  return plan_from(file, std::move(head), std::move(places), index, begin, tail_at, limits);
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
    auto chunk = sound_chunk_at(chunks, at, *available, head.context, limits);
    if (!chunk) chunk = readable_chunk_at(chunks, at, *available, 0, head.context, limits);
    if (chunk) places.chunks.push_back(*chunk);
    if (progress && !progress(places.chunks.size())) return scan_ended();
  }
  FRAMEFS_TRY(const auto found, scan_for_chunks(index_file, 0, head.context, limits, progress));
  FRAMEFS_TRY(const auto index,
              find_sparse_index(index_file, found, places.chunks, limits, progress));
  const auto begin = head.fixed ? head.fixed->header_len : index ? index->at : 0;
  const auto tail_at = index ? index->end : head.tail_of_empty_frame();
  return plan_from(index_file, std::move(head), std::move(places), index, begin, tail_at, limits);
}

Result<std::uint64_t> write_salvaged(const SalvagePlan& plan, const ByteSource& chunks,
                                     ByteSink& sink, const SalvageProgress& progress) {
  FRAMEFS_TRY(auto writer, FrameWriter::create(sink, plan.params));
  ZeroChunk zero(plan.params.encode);
  std::uint64_t done = 0;
  for (const auto& entry : plan.entries) {
    if (progress && !progress(done)) return scan_ended();
    FRAMEFS_CHECK(append_entry(writer, plan, entry, chunks, zero));
    done += entry.nbytes;
  }
  return writer.finish();
}

}  // namespace framefs::codec
