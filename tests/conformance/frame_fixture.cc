#include "tests/conformance/frame_fixture.h"

#include <fcntl.h>

#include <filesystem>
#include <utility>

#include "fs/source/chunk_files.h"

namespace framefs::test {
namespace {

ManifestEntry index_file_of(ManifestEntry entry) {
  if (entry.kind == "sframe") entry.file /= "chunks.b2frame";
  return entry;
}

// Empty if there is no file.
std::vector<std::byte> read_frame_file(const ManifestEntry& entry) {
  if (!std::filesystem::exists(entry.file)) return {};
  return read_entry(entry);
}

}  // namespace

FrameFixture::FrameFixture(const ManifestEntry& entry)
    : bytes_(read_frame_file(index_file_of(entry))), source_(bytes_), frame_(open(entry)) {}

codec::Result<codec::Frame> FrameFixture::open(const ManifestEntry& entry) {
  if (entry.kind != "sframe") return codec::Frame::open(source_, codec::Limits{});
  fs::UniqueFd folder(::open(entry.file.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  files_ = std::make_unique<const fs::ChunkFiles>(std::move(folder));
  return codec::Frame::open_sparse(source_, codec::Limits{});
}

}  // namespace framefs::test
