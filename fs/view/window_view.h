#pragma once

#include <cstdint>
#include <memory>

#include "codec/core/byte_source.h"
#include "codec/core/result.h"
#include "fs/read/buffer_pool.h"
#include "fs/view/view.h"

namespace framefs::fs {

// Stored bytes, unchanged: a file that another file contains uncompressed.
class WindowView final : public View {
 public:
  WindowView(Result<std::shared_ptr<const codec::ByteSource>> source, BufferPool& buffers)
      : source_(std::move(source)), buffers_(buffers) {}

  [[nodiscard]] bool is_readable() const noexcept override { return source_.has_value(); }
  [[nodiscard]] Result<ReadResult> read(std::uint64_t offset, std::uint64_t size,
                                        Access access) const override;
  [[nodiscard]] Result<std::uint64_t> seek(Seek what, std::uint64_t offset) const override;

 private:
  const Result<std::shared_ptr<const codec::ByteSource>> source_;
  BufferPool& buffers_;
};

}  // namespace framefs::fs
