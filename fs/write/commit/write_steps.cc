#include "fs/write/commit/write_steps.h"

#include <algorithm>

namespace framefs::fs {

std::vector<WritePiece> WriteSteps::next() {
  std::vector<WritePiece> step;
  std::uint64_t chunks = 0;
  while (!left_.empty() && chunks < kMaxChunks) {
    const auto& piece = left_.front();
    const auto begin = piece.offset + done_;
    const auto first = begin / chunksize_;
    const auto most = (first + kMaxChunks - chunks) * chunksize_ - begin;
    const auto size = std::min<std::uint64_t>(piece.bytes.size() - done_, most);
    if (size > 0) {
      step.push_back({begin, piece.bytes.subspan(done_, size)});
      chunks += (begin + size - 1) / chunksize_ - first + 1;
    }
    done_ += size;
    if (done_ < piece.bytes.size()) continue;
    left_ = left_.subspan(1);
    done_ = 0;
  }
  return step;
}

}  // namespace framefs::fs
