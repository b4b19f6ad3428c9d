#pragma once

#include <cstdint>
#include <optional>

#include "tests/support/bytes.h"
#include "tests/support/frame_builder.h"

namespace framefs::test {

// Fields of a beta frame that a FrameSpec lacks: the trailer's user data, and the versions.
struct BetaExtras {
  std::optional<Bytes> usermeta;      // plain; stored as a memcpyed chunk
  std::uint8_t general_flags = 0x21;  // 0x11 in development after beta.5
  std::uint8_t trailer_version = 1;   // 0 up to beta.2
};

// Builds a frame as 2.0.0-beta.2 to beta.5 wrote it: a header of 13 items without a block size, and
// filters without gaps, in the order of the spec.  The spec must have no vl-metalayers.  The caller
// chooses the version of the chunks; the betas wrote versions 3 and 4.
// Source: codec/FORMAT.md, "Frames of the betas".
BuiltFrame build_beta_frame(const FrameSpec& spec, const BetaExtras& extras = {});

}  // namespace framefs::test
