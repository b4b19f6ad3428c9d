#include "codec/core/error.h"

namespace framefs::codec {

const char* errc_name(Errc kind) noexcept {
  switch (kind) {
    case Errc::truncated:
      return "truncated";
    case Errc::bad_field:
      return "bad field";
    case Errc::checksum:
      return "checksum mismatch";
    case Errc::unsupported:
      return "unsupported";
    case Errc::over_limit:
      return "over limit";
    case Errc::no_space:
      return "no space";
    case Errc::system:
      return "system error";
    case Errc::internal:
      return "BUG";
  }
  return "BUG";
}

}  // namespace framefs::codec
