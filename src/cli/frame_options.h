#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "codec/chunk/encode_trial.h"
#include "codec/compressor/stream_encoder.h"
#include "fs/core/mount_options.h"

namespace framefs {

// The options that say how new frames are stored.  Mounts and `framefs pack` have the same ones,
// and the keys of a rule have their names.
struct FrameOptions {
  std::optional<codec::CodecId> codec;
  std::optional<int> level;  // 0 to 9
  std::optional<codec::FilterChoice> filter;
  std::optional<std::uint32_t> typesize;    // bytes, as the sizes below
  std::optional<std::uint32_t> chunk_size;  // decoded
  std::optional<std::uint32_t> block_size;  // decoded
  std::optional<bool> checksums;

  static constexpr std::uint32_t kLargestTypesize = 1u << 20;

  // Replaces the values of `frame` that are given.
  void apply_to(fs::NewFrameOptions& frame) const;
};

inline constexpr std::array kFrameOptionNames = {
    "--codec", "--level", "--filter", "--typesize", "--chunk-size", "--block-size", "--checksums"};

// The defaults that --help names.
struct FrameDefaults {
  const char* level;
  const char* chunk_size;
};

// Adds the options of kFrameOptionNames.
void add_frame_options(CLI::App& app, FrameOptions& options, const FrameDefaults& defaults);

// Why a chunk of `chunk_size` bytes cannot have items of `typesize`; nothing if it can.
std::optional<std::string> items_without_room(std::optional<std::uint32_t> typesize,
                                              std::uint32_t chunk_size);

}  // namespace framefs
