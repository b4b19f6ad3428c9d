#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "codec/chunk/encode_params.h"
#include "codec/core/result.h"

namespace framefs::codec {

// The filter to apply before compression.
enum class FilterChoice : std::uint8_t { none, shuffle, bitshuffle, bytedelta };

// The filter slots for this choice.
FilterSlots slots_of(FilterChoice filter) noexcept;

// The user's statements about the data.  A trial determines the rest.
struct EncodeHints {
  std::optional<std::uint32_t> typesize;
  std::optional<FilterChoice> filter;
};

// Completes `params` with the typesize and the filter that encode pieces of `sample` smallest.
// `sample` is the beginning of the data.  Simpler choices win if the gain is small, if the sample
// is tiny, or if it is a small piece of text or of random bytes.
// Errors: errors of encoding.
Result<EncodeParams> choose_params_by_trial(const EncodeParams& params, const EncodeHints& hints,
                                            std::span<const std::byte> sample);

}  // namespace framefs::codec
