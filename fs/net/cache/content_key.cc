#include "fs/net/cache/content_key.h"

#include <xxhash.h>

namespace framefs::net {

ContentKey content_key(std::string_view text) {
  const auto hash = XXH3_128bits(text.data(), text.size());
  return {.high = hash.high64, .low = hash.low64};
}

}  // namespace framefs::net
