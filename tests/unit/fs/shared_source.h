#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "codec/core/byte_source.h"
#include "codec/core/units.h"
#include "fs/core/threads/guarded.h"
#include "tests/support/bytes.h"

namespace framefs::test {

// Bytes in memory; the source records every read.  Threads: any number, unlike RecordingSource.
class SharedSource final : public codec::ByteSource {
 public:
  explicit SharedSource(Bytes bytes) : bytes_(std::move(bytes)), source_(bytes_) {}

  codec::Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    reads_.with([&](auto& reads) { reads.push_back({offset, out.size()}); });
    return source_.read_at(offset, out);
  }
  codec::Result<std::uint64_t> size() const override { return source_.size(); }

  // The reads since the last call.
  std::vector<codec::ByteRange> take_reads() const {
    return reads_.with([](auto& reads) { return std::exchange(reads, {}); });
  }

 private:
  const Bytes bytes_;
  const codec::MemorySource source_;
  mutable fs::Guarded<std::vector<codec::ByteRange>> reads_;
};

}  // namespace framefs::test
