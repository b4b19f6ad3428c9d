#include "codec/core/byte_source.h"

#include <algorithm>

namespace framefs::codec {

Status MemorySource::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > bytes_.size() || out.size() > bytes_.size() - offset) {
    return fail(Errc::truncated, "source", offset);
  }
  std::copy_n(bytes_.data() + offset, out.size(), out.data());
  return {};
}

}  // namespace framefs::codec
