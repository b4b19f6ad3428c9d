#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "codec/chunk/encode_params.h"
#include "codec/core/result.h"

namespace framefs::codec {

// What to do to the bytes before they are compressed.
enum class FilterChoice : std::uint8_t { none, shuffle, bitshuffle, bytedelta };

// The filter slots for it.
FilterSlots slots_of(FilterChoice filter) noexcept;

// What the user said about the data; the rest is found out.
struct EncodeHints {
  std::optional<std::uint32_t> typesize;
  std::optional<FilterChoice> filter;
};

// Completes `params` with the typesize and filter under which pieces of `sample`, the beginning of
// the data, take least; the simpler ones unless others gain something, or the sample is tiny.
// Errors: those of encoding.
Result<EncodeParams> choose_params_by_trial(const EncodeParams& params, const EncodeHints& hints,
                                            std::span<const std::byte> sample);

}  // namespace framefs::codec
