#include "codec/frame/metalayer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "codec/core/byte_reader.h"
#include "codec/core/limits.h"
#include "codec/core/msgpack_markers.h"
#include "codec/core/work_budget.h"

namespace framefs::codec {
namespace {

// The length of a short string, in the low bits of its marker.
constexpr std::uint8_t kFixStrLength = 0x1F;

// An array marker and the directory's size, which is redundant.
constexpr std::size_t kMapPreamble = 4;
constexpr std::uint64_t kContentHead = 5;  // marker and length of a content

Status expect(ByteReader& in, std::uint8_t marker, const char* field) {
  const auto at = in.position();
  FRAMEFS_TRY(const auto found, in.u8(field));
  if (found != marker) return fail_value(Errc::bad_field, field, at, found);
  return {};
}

// The most bytes that a directory takes.
constexpr std::size_t kMaxEntryBytes = 1 + kMaxMetalayerName + 5;
constexpr std::size_t kMaxDirectoryBytes = kMapPreamble + 3 + kMaxVlMetalayers * kMaxEntryBytes + 3;

// A read of a few bytes, in units of codec/core/work_budget.h.
constexpr std::uint64_t kUnitsPerHead = 256;

// An entry of the directory, and what stands at its offset.
struct DirectoryEntry {
  std::string name;
  std::int32_t offset = 0;
  std::array<std::byte, kContentHead> head{};
};

Result<ByteRange> parse_content(const DirectoryEntry& entry, std::uint64_t part_size) {
  const auto at = static_cast<std::uint64_t>(entry.offset);
  ByteReader in(std::span(entry.head).first(std::min(part_size - at, kContentHead)));
  if (const auto marker = expect(in, kMarkerBin32, "metalayer content marker"); !marker) {
    return fail_of_part(marker.error(), at);
  }
  const auto length = in.be<std::uint32_t>("metalayer length");
  if (!length) return fail(Errc::truncated, "metalayer length", at + 1);
  if (*length > part_size - at - kContentHead) {
    return fail_value(Errc::truncated, "metalayer length", at + 1, *length);
  }
  return ByteRange{at + kContentHead, *length};
}

Result<std::string> parse_name(ByteReader& in) {
  const auto at = in.position();
  FRAMEFS_TRY(const auto marker, in.u8("metalayer name"));
  if ((marker & ~kFixStrLength) != kMarkerFixStr) {
    return fail_value(Errc::bad_field, "metalayer name", at, marker);
  }
  FRAMEFS_TRY(const auto bytes, in.take(marker & kFixStrLength, "metalayer name"));
  std::string name;
  name.reserve(bytes.size());
  std::ranges::transform(bytes, std::back_inserter(name),
                         [](std::byte b) { return static_cast<char>(b); });
  return name;
}

// Checks names, number and sizes, so that all sizes fit the fields that store them.
Status check_layers(std::span<const NamedContent> layers, std::size_t before, std::uint16_t most) {
  constexpr std::size_t kEntryBytes = 6;     // besides the name
  constexpr std::size_t kFramingBytes = 16;  // around entries and contents, at most
  if (layers.size() > most) {
    return fail_value(Errc::over_limit, "metalayer count", before,
                      static_cast<std::int64_t>(layers.size()));
  }
  std::size_t directory = kFramingBytes;
  std::size_t all = before + kFramingBytes;
  for (const auto& layer : layers) {
    const auto same_name = [&](const NamedContent& other) { return other.name == layer.name; };
    if (layer.name.empty() || layer.name.size() > kMaxMetalayerName ||
        std::ranges::count_if(layers, same_name) > 1) {
      return fail(Errc::bad_field, "metalayer name", before);
    }
    directory += kEntryBytes + layer.name.size();
    constexpr std::size_t kMax = std::numeric_limits<std::int32_t>::max();
    if (layer.content.size() > kMax) return fail(Errc::over_limit, "metalayer length", before);
    all += kEntryBytes + layer.name.size() + kContentHead + layer.content.size();
    if (all > kMax || directory > std::numeric_limits<std::uint16_t>::max()) {
      return fail(Errc::over_limit, "metalayers", before);
    }
  }
  return {};
}

// The entries of the directory, whose offsets lie in a part of `part_size` bytes.
Result<std::vector<DirectoryEntry>> parse_entries(ByteReader& in, std::size_t map_at,
                                                  std::uint64_t part_size, std::uint16_t most) {
  FRAMEFS_TRY([[maybe_unused]] const auto before, in.take(map_at, "metalayers"));
  FRAMEFS_TRY([[maybe_unused]] const auto preamble, in.take(kMapPreamble, "metalayers"));
  FRAMEFS_CHECK(expect(in, kMarkerMap16, "metalayer map"));
  FRAMEFS_TRY(const auto count, in.be<std::uint16_t>("metalayer count"));
  if (count > most) return fail_value(Errc::bad_field, "metalayer count", in.position() - 2, count);
  std::vector<DirectoryEntry> entries;
  entries.reserve(count);
  for (std::uint16_t i = 0; i < count; ++i) {
    DirectoryEntry entry;
    FRAMEFS_TRY(entry.name, parse_name(in));
    const auto entry_at = in.position();
    FRAMEFS_CHECK(expect(in, kMarkerInt32, "metalayer offset marker"));
    FRAMEFS_TRY(entry.offset, in.be<std::int32_t>("metalayer offset"));
    if (entry.offset < 0 || std::cmp_greater(entry.offset, part_size)) {
      return fail_value(Errc::bad_field, "metalayer offset", entry_at, entry.offset);
    }
    entries.push_back(std::move(entry));
  }
  FRAMEFS_CHECK(expect(in, kMarkerArray16, "metalayer contents"));
  FRAMEFS_TRY(const auto contents, in.be<std::uint16_t>("metalayer contents"));
  if (contents != count) {
    return fail_value(Errc::bad_field, "metalayer contents", in.position() - 2, contents);
  }
  return entries;
}

}  // namespace

Result<std::vector<Metalayer>> parse_metalayers(const ByteSource& part, std::size_t map_at,
                                                std::uint64_t part_at, std::uint16_t most) {
  FRAMEFS_TRY(const auto size, part.size());
  std::vector<std::byte> begin(
      std::min(size, std::min<std::uint64_t>(map_at, size) + std::uint64_t{kMaxDirectoryBytes}));
  FRAMEFS_CHECK(part.read_at(0, begin));
  ByteReader in(begin);
  FRAMEFS_TRY(auto entries, parse_entries(in, map_at, size, most));
  std::vector<ByteSource::Read> heads;
  heads.reserve(entries.size());
  for (auto& entry : entries) {
    const auto at = static_cast<std::uint64_t>(entry.offset);
    heads.push_back({at, std::span(entry.head).first(std::min(size - at, kContentHead))});
  }
  FRAMEFS_CHECK(spend_work(heads.size() * kUnitsPerHead));
  FRAMEFS_CHECK(part.read_ranges(heads));
  std::vector<Metalayer> layers;
  layers.reserve(entries.size());
  for (auto& entry : entries) {
    FRAMEFS_TRY(auto content, parse_content(entry, size));
    content.offset += part_at;
    layers.push_back({std::move(entry.name), content});
  }
  return layers;
}

Result<std::vector<Metalayer>> parse_metalayers(std::span<const std::byte> part, std::size_t map_at,
                                                std::uint64_t part_at, std::uint16_t most) {
  return parse_metalayers(MemorySource(part), map_at, part_at, most);
}

const Metalayer* find_array_layer(const std::vector<Metalayer>& layers) {
  for (const auto* name : {"b2nd", "caterva"}) {
    const auto found = std::ranges::find(layers, name, &Metalayer::name);
    if (found != layers.end()) return &*found;
  }
  return nullptr;
}

Status append_metalayers(ByteWriter& out, std::span<const NamedContent> layers,
                         std::size_t size_counts_from, std::uint16_t most) {
  FRAMEFS_CHECK(check_layers(layers, out.size(), most));
  constexpr std::size_t kOffsetBytes = 4;
  const auto count = static_cast<std::uint16_t>(layers.size());
  // The offset of the first content: after the map's head and entries, and the array's head.
  std::size_t content_at = out.size() + kMapPreamble + 3;
  for (const auto& layer : layers) content_at += 1 + layer.name.size() + 1 + kOffsetBytes;
  const auto directory_end = content_at;
  content_at += 3;

  out.u8(kMarkerFixArray + 3);
  out.u8(kMarkerUint16);
  out.be(static_cast<std::uint16_t>(directory_end - size_counts_from));
  out.u8(kMarkerMap16);
  out.be(count);
  for (const auto& layer : layers) {
    out.u8(static_cast<std::uint8_t>(kMarkerFixStr | layer.name.size()));
    out.append(std::as_bytes(std::span(layer.name)));
    out.u8(kMarkerInt32);
    out.be(static_cast<std::int32_t>(content_at));
    content_at += kContentHead + layer.content.size();
  }
  out.u8(kMarkerArray16);
  out.be(count);
  for (const auto& layer : layers) {
    out.u8(kMarkerBin32);
    out.be(static_cast<std::uint32_t>(layer.content.size()));
    out.append(layer.content);
  }
  return {};
}

}  // namespace framefs::codec
