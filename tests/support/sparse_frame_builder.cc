#include "tests/support/sparse_frame_builder.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace framefs::test {
namespace {

void write_file(const std::filesystem::path& path, std::span<const std::byte> content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(as_chars(content.data()), static_cast<std::streamsize>(content.size()));
  file.close();
  if (file) return;
  std::fprintf(stderr, "sparse_frame_builder: cannot write %s\n", path.c_str());
  std::abort();
}

}  // namespace

std::string chunk_file_name(std::uint32_t id) {
  std::string digits(8, '0');
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, id >>= 4) {
    *digit = "0123456789ABCDEF"[id & 15];
  }
  return digits + ".chunk";
}

BuiltSparseFrame build_sparse_index(const FrameSpec& spec, FrameNumbers numbers,
                                    std::span<const std::int64_t> entries) {
  numbers.is_sparse = true;
  BuiltSparseFrame frame;
  frame.index_file = build_frame_header(spec, numbers);
  frame.index_at = frame.index_file.size();
  if (!entries.empty()) append(frame.index_file, build_index_chunk(entries, spec.index));
  frame.trailer_at = frame.index_file.size();
  append(frame.index_file, build_trailer(spec.vlmetalayers));
  numbers.frame_bytes = frame.index_file.size();
  std::ranges::copy(build_frame_header(spec, numbers), frame.index_file.begin());
  return frame;
}

BuiltSparseFrame build_sparse_frame(const FrameSpec& spec, std::span<const std::uint32_t> ids) {
  check_chunks(spec);
  FrameNumbers numbers;
  std::vector<std::int64_t> entries;
  std::map<std::uint32_t, Bytes> chunks;
  std::uint32_t stored = 0;
  for (const FrameChunk& chunk : spec.chunks) {
    numbers.nbytes += chunk.nbytes;
    numbers.cbytes += chunk.stored.size();
    if (chunk.special) {
      entries.push_back(special_index_entry(*chunk.special));
      continue;
    }
    const std::uint32_t id = ids.empty() ? stored : ids[stored];
    ++stored;
    chunks[id] = chunk.stored;
    entries.push_back(id);
  }
  BuiltSparseFrame frame = build_sparse_index(spec, numbers, entries);
  frame.chunks = std::move(chunks);
  return frame;
}

void write_sparse_frame(const std::filesystem::path& folder, const BuiltSparseFrame& frame) {
  std::filesystem::create_directories(folder);
  write_file(folder / "chunks.b2frame", frame.index_file);
  for (const auto& [id, chunk] : frame.chunks) write_file(folder / chunk_file_name(id), chunk);
}

}  // namespace framefs::test
