#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>

#include "codec/core/byte_sink.h"
#include "codec/frame/frame_writer.h"
#include "tests/support/bytes.h"

namespace framefs::test {

// Doubles of ByteSink that keep the written bytes in memory.  Threads: one at a time, unlike real
// sinks.

// If `failing_call` is given, that call (the first is 1) fails with Errc::system and EIO.
class MemorySink final : public codec::ByteSink {
 public:
  explicit MemorySink(int failing_call = std::numeric_limits<int>::max())
      : countdown_(failing_call) {}

  codec::Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
    if (fails()) return refused("pwrite");
    synced_ = false;
    if (bytes_.size() < offset + bytes.size()) bytes_.resize(offset + bytes.size());
    std::ranges::copy(bytes, bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
    return {};
  }
  codec::Status sync() override {
    if (fails()) return refused("fsync");
    synced_ = true;
    return {};
  }
  codec::Status truncate(std::uint64_t size) override {
    if (fails()) return refused("ftruncate");
    synced_ = false;
    bytes_.resize(size);
    return {};
  }

  [[nodiscard]] const Bytes& bytes() const { return bytes_; }
  // Whether nothing changed since the last sync.
  [[nodiscard]] bool is_synced() const { return synced_; }
  [[nodiscard]] bool has_failed() const { return countdown_ <= 0; }

 private:
  bool fails() { return --countdown_ == 0; }
  static std::unexpected<codec::Error> refused(const char* call) {
    return std::unexpected(
        codec::Error{.kind = codec::Errc::system, .field = call, .at = 0, .sys = EIO});
  }

  Bytes bytes_;
  bool synced_ = false;
  int countdown_;
};

class MemoryChunkFiles final : public codec::ChunkFiles {
 public:
  codec::Status write(std::uint32_t id, std::span<const std::byte> chunk) override {
    files_[id].assign(chunk.begin(), chunk.end());
    return {};
  }
  [[nodiscard]] const std::map<std::uint32_t, Bytes>& files() const { return files_; }

 private:
  std::map<std::uint32_t, Bytes> files_;
};

}  // namespace framefs::test
