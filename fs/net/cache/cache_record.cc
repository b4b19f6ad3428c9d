#include "fs/net/cache/cache_record.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include <xxhash.h>

namespace framefs::net {
namespace {

constexpr std::string_view kMagic = "FFSCACH1";
constexpr std::size_t kHashAt = 40;

template <class T>
void put(CacheHeader& header, std::size_t at, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    header[at + i] = static_cast<std::byte>(value >> (8 * i));
  }
}

template <class T>
T get(std::span<const std::byte> header, std::size_t at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<T>(std::to_integer<T>(header[at + i]) << (8 * i));
  }
  return value;
}

std::uint64_t hash_of(std::span<const std::byte> header, std::span<const std::byte> data) {
  const auto fields = header.subspan(kMagic.size(), kHashAt - kMagic.size());
  // The fields' hash seeds the data's: one call for each, and no state to allocate.
  const auto seed = XXH3_64bits(fields.data(), fields.size());
  return XXH3_64bits_withSeed(data.data(), data.size(), seed);
}

}  // namespace

CacheHeader make_cache_header(const CacheRecord& record, std::span<const std::byte> data) {
  CacheHeader header{};
  std::ranges::copy(std::as_bytes(std::span(kMagic)), header.begin());
  put(header, 8, record.key.high);
  put(header, 16, record.key.low);
  put(header, 24, record.offset);
  put(header, 32, record.length);
  put(header, kHashAt, hash_of(header, data));
  return header;
}

std::optional<CacheRecord> parse_cache_header(std::span<const std::byte> header) {
  if (header.size() < kCacheHeaderBytes) return std::nullopt;
  if (!std::ranges::equal(header.first(kMagic.size()), std::as_bytes(std::span(kMagic)))) {
    return std::nullopt;
  }
  CacheRecord record;
  record.key = {get<std::uint64_t>(header, 8), get<std::uint64_t>(header, 16)};
  record.offset = get<std::uint64_t>(header, 24);
  record.length = get<std::uint32_t>(header, 32);
  const bool is_sane = record.length > 0 && record.length <= kMaxRecordBytes &&
                       get<std::uint32_t>(header, 36) == 0 &&
                       record.offset <= UINT64_MAX - record.length;
  if (!is_sane) return std::nullopt;
  return record;
}

bool verify_cache_record(std::span<const std::byte> header, std::span<const std::byte> data) {
  const auto record = parse_cache_header(header);
  return record && record->length == data.size() &&
         get<std::uint64_t>(header, kHashAt) == hash_of(header, data);
}

}  // namespace framefs::net
