// Replaces zfp.cc in builds without libzfp.
#include "codec/compressor/zfp.h"

namespace framefs::codec {

bool has_zfp() noexcept { return false; }

const char* zfp_version() noexcept { return ""; }

Status decode_zfp(const ZfpFormat& /*format*/, std::span<const std::byte> /*in*/,
                  std::span<std::byte> /*out*/, Scratch& /*scratch*/) {
  return fail(Errc::unsupported, "codec zfp");
}

}  // namespace framefs::codec
