#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "codec/core/byte_source.h"
#include "tests/support/bytes.h"

namespace framefs::test {

// The chunk files of a sparse frame, in memory.  Threads: any number.
class MemoryChunks final : public codec::ByteSource {
 public:
  explicit MemoryChunks(std::map<std::uint32_t, Bytes> chunks) : chunks_(std::move(chunks)) {}

  [[nodiscard]] codec::Status read_at(std::uint64_t offset,
                                      std::span<std::byte> out) const override {
    FRAMEFS_TRY(const auto rest, rest_of(offset));
    if (out.size() > rest.size())
      return codec::fail(codec::Errc::truncated, "read", offset & kMask);
    std::ranges::copy(rest.first(out.size()), out.begin());
    return {};
  }
  [[nodiscard]] codec::Result<std::uint64_t> size() const override { return ~std::uint64_t{0}; }
  [[nodiscard]] codec::Result<std::uint64_t> available_from(std::uint64_t offset) const override {
    FRAMEFS_TRY(const auto rest, rest_of(offset));
    return rest.size();
  }

 private:
  // Each file has 2 GiB of the address space, in the order of the ids.
  static constexpr unsigned kShift = 31;
  static constexpr std::uint64_t kMask = (std::uint64_t{1} << kShift) - 1;

  // The bytes from `offset` to the end of the file that contains it.
  [[nodiscard]] codec::Result<std::span<const std::byte>> rest_of(std::uint64_t offset) const {
    const std::uint64_t id = offset >> kShift;
    const auto file = chunks_.find(static_cast<std::uint32_t>(id));
    if (file == chunks_.end() || id != file->first) {
      return codec::fail_value(codec::Errc::bad_field, "chunk file", 0,
                               static_cast<std::int64_t>(id));
    }
    const std::span<const std::byte> all(file->second);
    return all.subspan(std::min<std::uint64_t>(offset & kMask, all.size()));
  }

  const std::map<std::uint32_t, Bytes> chunks_;
};

}  // namespace framefs::test
