#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "codec/chunk/encode_trial.h"
#include "codec/compressor/stream_encoder.h"

namespace framefs::codec {

// The names of codecs and filters in options and reports.
inline constexpr std::array<std::pair<std::string_view, CodecId>, 5> kCodecWords = {
    {{"blosclz", CodecId::blosclz},
     {"lz4", CodecId::lz4},
     {"lz4hc", CodecId::lz4hc},
     {"zlib", CodecId::zlib},
     {"zstd", CodecId::zstd}}};
inline constexpr std::array<std::pair<std::string_view, FilterChoice>, 4> kFilterWords = {
    {{"none", FilterChoice::none},
     {"shuffle", FilterChoice::shuffle},
     {"bitshuffle", FilterChoice::bitshuffle},
     {"bytedelta", FilterChoice::bytedelta}}};

}  // namespace framefs::codec
