#pragma once

#include <cstdint>

#include "codec/core/id_names.h"

namespace framefs::codec::filter_id {

// Source: chunk format, filter ids; codec/FORMAT.md, "Filters".
inline constexpr std::uint8_t kNone = 0;
inline constexpr std::uint8_t kShuffle = 1;
inline constexpr std::uint8_t kBitshuffle = 2;
inline constexpr std::uint8_t kDelta = 3;
inline constexpr std::uint8_t kTruncPrec = 4;
inline constexpr std::uint8_t kFirstReserved = 5;
inline constexpr std::uint8_t kNdcell = 32;
inline constexpr std::uint8_t kNdmean = 33;
inline constexpr std::uint8_t kBytedeltaBuggy = 34;
inline constexpr std::uint8_t kBytedelta = 35;
inline constexpr std::uint8_t kIntTrunc = 36;

// Whether the format has not assigned this id, so that a filter slot with it is damaged.
constexpr bool is_reserved(std::uint8_t id) noexcept {
  return id >= kFirstReserved && id < kFirstRegisteredId;
}

// Offsets of slot 0 in the chunk header.
inline constexpr std::uint64_t kFiltersAt = 16;
inline constexpr std::uint64_t kFiltersMetaAt = 24;

}  // namespace framefs::codec::filter_id
