#include "tests/crash/frame_state.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "codec/array/array_layout.h"
#include "codec/array/npy_header.h"
#include "codec/array/run_cursor.h"
#include "codec/frame/frame.h"
#include "codec/frame/frame_array.h"
#include "codec/frame/frame_reader.h"
#include "codec/frame/metalayer_content.h"
#include "tests/support/fast_hash.h"
#include "tests/support/memory_chunks.h"
#include "tests/support/verify_checksums.h"

namespace framefs::test {
namespace {

using codec::Frame;
using codec::Limits;
using codec::Result;

constexpr std::string_view kIndexName = "chunks.b2frame";
constexpr std::string_view kChunkSuffix = ".chunk";

MemoryChunks chunk_files(const FrameFiles& files) {
  std::map<std::uint32_t, Bytes> chunks;
  for (const auto& [name, bytes] : files) {
    if (!name.ends_with(kChunkSuffix)) continue;
    std::uint32_t id = 0;
    constexpr int kBase = 16;
    std::from_chars(name.data(), name.data() + name.size(), id, kBase);
    chunks[id] = bytes;
  }
  return MemoryChunks(std::move(chunks));
}

// Index entries must not overlap: a writer that reuses the space of one would damage the other.
codec::Status check_overlaps(const codec::ByteSource& source, const codec::ByteSource& chunks,
                             const Frame& frame, bool is_sparse) {
  std::vector<std::int64_t> entries(frame.chunk_count());
  FRAMEFS_CHECK(frame.read_entries(source, {0}, entries));
  std::vector<codec::ByteRange> taken;
  for (const auto entry : entries) {
    if (entry < 0) continue;
    const auto begin = static_cast<std::uint64_t>(entry);
    std::uint64_t size = 1;
    if (!is_sparse) {
      constexpr std::uint64_t kCbytesAt = 12;
      std::array<std::byte, 4> field{};
      FRAMEFS_CHECK(chunks.read_at(frame.header().header_len + begin + kCbytesAt, field));
      size = 0;
      for (std::size_t i = field.size(); i-- > 0;)
        size = size << 8 | std::to_integer<std::uint8_t>(field[i]);
    }
    taken.push_back({begin, size});
  }
  std::ranges::sort(taken, {}, &codec::ByteRange::offset);
  for (std::size_t i = 1; i < taken.size(); ++i) {
    if (taken[i].offset - taken[i - 1].offset < taken[i - 1].size) {
      return codec::fail(codec::Errc::bad_field, "overlap", taken[i].offset);
    }
  }
  return {};
}

// The .npy file of an array whose chunks have been decoded.
Result<Bytes> npy_file(const Frame& frame, const codec::ArrayMeta& meta, const Bytes& decoded) {
  FRAMEFS_TRY(const auto layout, codec::layout_of(meta, frame.header()));
  Bytes file;
  append(file, codec::npy_header(meta, frame.header().typesize));
  if (layout.nbytes() == 0) return file;
  codec::RunCursor cursor(layout, {0, layout.nbytes()});
  while (cursor.next()) {
    const auto& run = cursor.run();
    const auto at = run.chunk.value * frame.header().chunksize +
                    run.block.value * layout.block_bytes() + run.within;
    append(file, std::span(decoded).subspan(at, run.size));
  }
  return file;
}

Result<std::uint64_t> state_of(const codec::ByteSource& source, const codec::ByteSource& chunks,
                               const Frame& frame, bool is_sparse) {
  FRAMEFS_CHECK(check_overlaps(source, chunks, frame, is_sparse));
  FRAMEFS_CHECK(test::verify_checksums(source, chunks, frame));
  Bytes content(frame.nbytes());
  codec::FrameReader reader(source, chunks, frame, Limits{});
  FRAMEFS_CHECK(reader.read(0, content));
  if (frame.array() && *frame.array()) {
    FRAMEFS_TRY(content, npy_file(frame, **frame.array(), content));
  }
  std::map<std::string, Bytes> vlmetalayers;
  for (const auto& layer : frame.vlmetalayers()) {
    if (layer.name == codec::kChecksumLayer) continue;  // no part of what the mount shows
    FRAMEFS_TRY(vlmetalayers[layer.name], read_vlmetalayer(source, layer, Limits{}));
  }
  return state_hash(content, vlmetalayers);
}

}  // namespace

std::uint64_t state_hash(std::span<const std::byte> content,
                         const std::map<std::string, Bytes>& vlmetalayers) {
  FastHash hash;
  hash.add(content);
  hash.add(content.size());
  for (const auto& [name, value] : vlmetalayers) {
    hash.add(std::as_bytes(std::span(name)));
    hash.add(fast_hash(value));
  }
  return hash.value();
}

Result<std::uint64_t> frame_state(const FrameFiles& files) {
  const bool is_sparse = !files.contains("");
  const auto index = files.find(is_sparse ? std::string(kIndexName) : "");
  if (index == files.end()) return codec::fail(codec::Errc::truncated, "no index file");
  const codec::MemorySource source(index->second);
  if (is_sparse) {
    const auto chunks = chunk_files(files);
    FRAMEFS_TRY(const auto frame, Frame::open_sparse(source, Limits{}));
    return state_of(source, chunks, frame, true);
  }
  FRAMEFS_TRY(const auto frame, Frame::open(source, Limits{}));
  return state_of(source, source, frame, false);
}

std::optional<std::string> shown_frame_name(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kSuffixes[] = {
      {".b2frame", ""}, {".b2f", ""}, {".b2", ""}, {".b2nd", ".npy"}};
  for (const auto& [suffix, shown] : kSuffixes) {
    if (name.ends_with(suffix) && name.size() > suffix.size()) {
      return std::string(name.substr(0, name.size() - suffix.size())).append(shown);
    }
  }
  return std::nullopt;
}

}  // namespace framefs::test
