#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codec/frame/frame_reader.h"
#include "codec/frame/frame_writer.h"
#include "fs/core/files/file_sink.h"
#include "fs/source/chunk_files.h"
#include "fs/view/frame_view.h"
#include "fs/write/frame_write_session.h"
#include "fs/write/standalone_write_context.h"
#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/unit/fs/test_log.h"

namespace framefs::test {

// The services that write sessions need.
class WriteMount {
 public:
  explicit WriteMount(std::uint64_t overlay_bytes = 64u << 20)
      : kit_(log_.log(), {.cache_bytes = 16u << 20, .overlay_bytes = overlay_bytes, .threads = 2}) {
  }

  // Creates an empty frame at `path`, which becomes a directory if the frame is sparse.
  void create(const std::filesystem::path& path, const codec::FrameParams& params, bool sparse) {
    struct NoFiles final : codec::ChunkFiles {
      fs::Status write(std::uint32_t, std::span<const std::byte>) override { return {}; }
    } files;
    if (sparse) std::filesystem::create_directory(path);
    const auto at = sparse ? path / "chunks.b2frame" : path;
    fs::FileSink sink(
        fs::UniqueFd(::open(at.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)));
    auto writer = sparse ? codec::FrameWriter::create_sparse(sink, files, params)
                         : codec::FrameWriter::create(sink, params);
    REQUIRE(writer);
    REQUIRE(writer->finish());
  }

  std::shared_ptr<fs::FrameWriteSession> open(
      const std::filesystem::path& path,
      fs::FrameWriteSession::ChooseParams choose_params = nullptr) {
    const bool sparse = std::filesystem::is_directory(path);
    fs::UniqueFd fd(::open(path.c_str(), (sparse ? O_RDONLY : O_RDWR) | O_CLOEXEC));
    fs::WriteTarget source{.file = nullptr, .directory = {}, .name = "the frame"};
    if (sparse) {
      source.directory = std::move(fd);
    } else {
      source.file = std::make_shared<const fs::FileReader>(std::move(fd));
    }
    auto opening = kit_.begin(std::move(source));
    REQUIRE(opening);
    opening->choose_params = std::move(choose_params);
    change_opening(*opening);
    return kit_.make(std::move(*opening));
  }

  [[nodiscard]] std::vector<std::string> lines() const { return log_.lines(); }
  fs::OverlayBudget& overlay() { return kit_.overlay(); }

  // Called for each opening before a session is made from it.
  std::function<void(fs::FrameWriteSession::Opening&)> change_opening = [](auto&) {};

 private:
  TestLog log_;
  fs::StandaloneWriteContext kit_;
};

// The bytes that a reader of the mount gets.
inline Bytes read_session(const fs::FrameWriteSession& session, std::uint64_t offset,
                          std::uint64_t size) {
  const auto bytes = session.reading([&] {
    const fs::FrameView view(session.chunks());
    return view.read(offset, size, fs::Access::random);
  });
  REQUIRE(bytes);
  Bytes all;
  for (const auto& span : bytes->spans) append(all, span);
  return all;
}

// A stored frame, as a serial reader opens it.
struct StoredFrame {
  explicit StoredFrame(const std::filesystem::path& path)
      : is_sparse(std::filesystem::is_directory(path)),
        source(fs::UniqueFd(
            ::open((is_sparse ? path / "chunks.b2frame" : path).c_str(), O_RDONLY | O_CLOEXEC))),
        files(is_sparse ? std::make_unique<fs::ChunkFiles>(fs::UniqueFd(
                              ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)))
                        : nullptr) {
    auto opened =
        is_sparse ? codec::Frame::open_sparse(source, {}) : codec::Frame::open(source, {});
    REQUIRE(opened);
    frame = std::move(*opened);
  }
  [[nodiscard]] const codec::ByteSource& chunks() const {
    return is_sparse ? static_cast<const codec::ByteSource&>(*files) : source;
  }

  const bool is_sparse;
  const fs::FileReader source;
  const std::unique_ptr<fs::ChunkFiles> files;  // null unless the frame is sparse
  std::optional<codec::Frame> frame;
};

// Whether each chunk of the file is zeros that only its index entry describes.
inline std::vector<bool> stored_zero_entries(const std::filesystem::path& path) {
  const StoredFrame stored(path);
  std::vector<std::int64_t> entries(stored.frame->chunk_count());
  REQUIRE(stored.frame->read_entries(stored.source, {0}, entries));
  std::vector<bool> are_zero;
  for (const auto entry : entries) are_zero.push_back(stored.frame->is_zero_entry(entry));
  return are_zero;
}

// The bytes in the file.
inline Bytes read_stored(const std::filesystem::path& path) {
  const StoredFrame stored(path);
  codec::FrameReader reader(stored.source, stored.chunks(), *stored.frame, {});
  Bytes all(stored.frame->nbytes());
  REQUIRE(reader.read(0, all));
  return all;
}

}  // namespace framefs::test
