#pragma once

#include <cstdint>

namespace framefs::codec {

// The type bytes of MessagePack that frames have.  Source: MessagePack specification, "Formats".
inline constexpr std::uint8_t kMarkerFixArray = 0x90;  // plus the number of items, up to 15
inline constexpr std::uint8_t kMarkerFixStr = 0xA0;    // plus the length, in the low five bits
inline constexpr std::uint8_t kMarkerBin8 = 0xC4;
inline constexpr std::uint8_t kMarkerBin16 = 0xC5;
inline constexpr std::uint8_t kMarkerBin32 = 0xC6;
inline constexpr std::uint8_t kMarkerUint8 = 0xCC;
inline constexpr std::uint8_t kMarkerUint16 = 0xCD;
inline constexpr std::uint8_t kMarkerUint32 = 0xCE;
inline constexpr std::uint8_t kMarkerInt16 = 0xD1;
inline constexpr std::uint8_t kMarkerInt32 = 0xD2;
inline constexpr std::uint8_t kMarkerInt64 = 0xD3;
inline constexpr std::uint8_t kMarkerFixext16 = 0xD8;
inline constexpr std::uint8_t kMarkerStr32 = 0xDB;
inline constexpr std::uint8_t kMarkerArray16 = 0xDC;
inline constexpr std::uint8_t kMarkerMap16 = 0xDE;

}  // namespace framefs::codec
