#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/core/result.h"
#include "codec/frame/frame.h"
#include "codec/frame/frame_reader.h"
#include "tests/conformance/manifest.h"

namespace framefs::test {

// The frame of a manifest entry, contiguous or sparse, with its two sources.
class FrameFixture {
 public:
  explicit FrameFixture(const ManifestEntry& entry);

  // The frame, or the error of opening it; bad_field if a sparse frame has no index file.
  [[nodiscard]] const codec::Result<codec::Frame>& frame() const { return frame_; }
  [[nodiscard]] const codec::ByteSource& source() const { return source_; }
  [[nodiscard]] const codec::ByteSource& chunks() const { return files_ ? *files_ : source_; }
  [[nodiscard]] codec::FrameReader reader() const {
    return {source_, chunks(), *frame_, codec::Limits{}};
  }

 private:
  [[nodiscard]] codec::Result<codec::Frame> open(const ManifestEntry& entry);

  const std::vector<std::byte> bytes_;  // of the frame, or of the index file
  const codec::MemorySource source_;
  std::unique_ptr<const codec::ByteSource> files_;  // for a sparse frame
  const codec::Result<codec::Frame> frame_;
};

}  // namespace framefs::test
