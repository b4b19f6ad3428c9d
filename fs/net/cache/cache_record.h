#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "fs/net/cache/content_key.h"

namespace framefs::net {

// A record of the disk cache: a header of 48 bytes, then stored bytes of an object.  All numbers
// are little-endian.
//   0  magic "FFSCACH1"
//   8  ContentKey, high then low (URL and version)
//  24  offset in the object
//  32  length of the bytes (32 bits), then zero (32 bits)
//  40  XXH3 of bytes 8 to 39 and of the bytes after the header
struct CacheRecord {
  ContentKey key;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;

  bool operator==(const CacheRecord&) const = default;
};

inline constexpr std::size_t kCacheHeaderBytes = 48;
inline constexpr std::size_t kCacheKeyAt = 8;
inline constexpr std::size_t kCacheKeyBytes = 16;
// A longer part becomes several records, because a read verifies a whole record.
inline constexpr std::uint32_t kMaxRecordBytes = 128 << 10;

using CacheHeader = std::array<std::byte, kCacheHeaderBytes>;

CacheHeader make_cache_header(const CacheRecord& record, std::span<const std::byte> data);

// Parses a header.  Nothing if the bytes are no header.  Only verify_cache_record() tells whether
// the header is correct, because that needs the data.
std::optional<CacheRecord> parse_cache_header(std::span<const std::byte> header);

// Checks that header and data belong together and are unchanged since they were written.
bool verify_cache_record(std::span<const std::byte> header, std::span<const std::byte> data);

}  // namespace framefs::net
