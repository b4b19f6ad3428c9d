#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "codec/frame/frame_writer.h"
#include "fs/write/frame_write_session.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/write_mount.h"

namespace framefs::test {

inline codec::FrameParams frame_params(codec::CodecId codec, std::uint32_t typesize,
                                       std::uint32_t chunksize, std::uint32_t blocksize = 0) {
  codec::FrameParams params{
      .encode = {.codec = codec, .typesize = typesize, .blocksize = blocksize},
      .chunksize = chunksize};
  params.encode.filters.back().id = 1;
  return params;
}

// A frame in its own folder, open for writing.
struct WrittenFile {
  using Change = std::function<void(fs::FrameWriteSession::Opening&)>;
  WrittenFile(
      std::uint32_t chunksize, bool sparse, Change change = [](auto&) {})
      : WrittenFile(frame_params(codec::CodecId::lz4, 1, chunksize), sparse, std::move(change)) {}
  WrittenFile(const codec::FrameParams& params, bool sparse, Change change = [](auto&) {}) {
    mount.create(path, params, sparse);
    mount.change_opening = std::move(change);
    session = mount.open(path);
  }

  const TempDirectory folder;
  const std::filesystem::path path = folder.path() / "x.b2frame";
  WriteMount mount;
  std::shared_ptr<fs::FrameWriteSession> session;
};

inline void write_at(fs::FrameWriteSession& session, std::uint64_t offset,
                     std::span<const std::byte> bytes) {
  const fs::FrameWriteSession::Piece piece{offset, bytes};
  REQUIRE(session.write(std::span(&piece, 1)));
}

// A frame that is being written, with the bytes that it should have.
struct ComparedFile : WrittenFile {
  using WrittenFile::WrittenFile;

  void write(std::uint64_t offset, std::span<const std::byte> bytes) {
    write_at(*session, offset, bytes);
    plain.resize(std::max<std::size_t>(plain.size(), offset + bytes.size()));
    std::ranges::copy(bytes, plain.begin() + static_cast<std::ptrdiff_t>(offset));
  }

  Bytes plain;
};

}  // namespace framefs::test
