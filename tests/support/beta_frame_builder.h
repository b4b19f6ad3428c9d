#pragma once

#include <cstdint>
#include <optional>

#include "tests/support/bytes.h"
#include "tests/support/frame_builder.h"

namespace framefs::test {

// What the betas had in the trailer in place of vl-metalayers, and how they said what they are.
struct BetaExtras {
  std::optional<Bytes> usermeta;      // plain; it is stored as a memcpyed chunk
  std::uint8_t general_flags = 0x21;  // 0x11 in development after beta.5
  std::uint8_t trailer_version = 1;   // 0 up to beta.2
};

// A frame as 2.0.0-beta.2 to beta.5 wrote it: a header of 13 items without a block size, filters
// side by side.  The spec has no vl-metalayers; its filters' order is kept.  Chunks are what the
// caller makes them; the betas wrote version 3 and 4.
// Source: codec/FORMAT.md, "Frames of the betas".
BuiltFrame build_beta_frame(const FrameSpec& spec, const BetaExtras& extras = {});

}  // namespace framefs::test
