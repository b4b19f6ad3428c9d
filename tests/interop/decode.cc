// The framefs side of scripts/interop --decode: decodes damaged frames, chunk by chunk.
//
//   framefs_interop_decode FOLDER
//
// Prints a line for each frame, "NAME frame ok" or "NAME frame ERROR", and one for each of its
// first chunks, "NAME NUMBER BYTES HASH" or "NAME NUMBER ERROR".  library_decode.c prints the same.
// "NAME NUMBER undefined" is a chunk of which the library leaves bytes as they were in memory.
#include <fcntl.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "codec/filter/filter_ids.h"
#include "codec/frame/frame.h"
#include "codec/frame/frame_reader.h"
#include "fs/core/diagnostics/error_map.h"
#include "fs/core/files/file.h"
#include "tests/support/decode_oracle.h"

namespace framefs {
namespace {

constexpr std::uint64_t kMaxChunks = 32;
constexpr std::uint32_t kMaxChunkBytes = 1u << 20;

// FNV-1a of 64 bits: the other side is C and has it in three lines.
std::uint64_t hash_of(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
  for (const auto byte : bytes) {
    hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100'0000'01b3;
  }
  return hash;
}

// Whether bytedelta leaves a rest of a block behind its streams.
bool is_undefined(const codec::ChunkHeader& header, std::uint32_t item_bytes) {
  return std::ranges::any_of(header.filters, [&](const codec::FilterSlot& slot) {
    const auto streams = slot.meta != 0 ? slot.meta : item_bytes;
    const bool is_bytedelta =
        slot.id == codec::filter_id::kBytedelta || slot.id == codec::filter_id::kBytedeltaBuggy;
    return is_bytedelta && header.blocksize > 0 &&
           (header.blocksize % streams != 0 || header.nbytes % header.blocksize % streams != 0);
  });
}

std::string decoded(codec::FrameReader& reader, const codec::ByteSource& source,
                    codec::ChunkIndex index, std::uint32_t item_bytes) {
  const auto chunk = reader.open_chunk(index);
  if (!chunk) return fs::describe(chunk.error());
  if (chunk->nbytes() > kMaxChunkBytes) return "too large for the test";
  if (is_undefined(chunk->header(), item_bytes)) return "undefined";
  const auto plain = test::decode_whole(source, *chunk);
  if (!plain) return fs::describe(plain.error());
  return fmt::format("{} {:016x}", plain->size(), hash_of(*plain));
}

void decode_frame(const std::filesystem::path& path) {
  const auto name = path.filename().string();
  const fs::FileReader source(fs::UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
  const auto frame = codec::Frame::open(source, codec::Limits{});
  if (!frame) {
    std::cout << name << " frame " << fs::describe(frame.error()) << '\n';
    return;
  }
  std::cout << name << " frame ok\n";
  codec::FrameReader reader(source, *frame, codec::Limits{});
  const auto count = std::min(frame->chunk_count(), kMaxChunks);
  for (codec::ChunkIndex index; index.value < count; ++index.value) {
    std::cout << name << ' ' << index.value << ' '
              << decoded(reader, source, index, frame->header().typesize) << '\n';
  }
}

}  // namespace
}  // namespace framefs

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: framefs_interop_decode FOLDER\n";
    return 2;
  }
  std::vector<std::filesystem::path> frames;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    if (entry.path().extension() == ".b2frame") frames.push_back(entry.path());
  }
  std::ranges::sort(frames);
  for (const auto& path : frames) framefs::decode_frame(path);
  return frames.empty() ? 1 : 0;
}
