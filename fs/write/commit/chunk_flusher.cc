#include "fs/write/commit/chunk_flusher.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <memory>
#include <optional>

#include "codec/frame/frame_writer.h"
#include "fs/core/diagnostics/error_map.h"

namespace framefs::fs {

// A frozen chunk, as ChunkWriter completes it.
class ChunkFlusher::FrozenChunk final : public IncompleteChunk {
 public:
  FrozenChunk(const ChunkFlusher& flusher, ChunkOverlay::Frozen& frozen)
      : flusher_(flusher), frozen_(frozen) {}

  [[nodiscard]] const ChunkOverlay::Frozen& frozen() const noexcept { return frozen_; }
  // To be called when the chunk is stored, dirty again or dropped.  Gives its memory back.
  void release() {
    storing_.reset();
    frozen_.bytes.reset();
  }
  // All bytes, if all of them were written and lie in one buffer; otherwise nothing.
  [[nodiscard]] std::span<const std::byte> plain() const noexcept {
    const auto& written = frozen_.bytes->written();
    if (!written.covers(0, frozen_.nbytes)) return {};
    return frozen_.bytes->whole(frozen_.nbytes);
  }
  // Whether bytes of the stored chunk could not be read because it is damaged.
  [[nodiscard]] bool is_damaged() const noexcept {
    return is_damaged_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint32_t nbytes() const override { return frozen_.nbytes; }
  // Finds the stored chunk below.
  Status begin() {
    auto begun = flusher_.overlay_.read(
        [&](const ChunkOverlay&) { return flusher_.overlay_frame_.begin_storing(frozen_); });
    if (!begun) return noted(std::unexpected(begun.error()));
    storing_.emplace(std::move(*begun));
    return {};
  }
  Result<std::optional<ChunkUpdate>> plan_update() override {
    FRAMEFS_CHECK(begin());
    assert(storing_.has_value());
    auto update = flusher_.overlay_frame_.plan_update(*storing_, flusher_.params_);
    if (!update) static_cast<void>(noted(std::unexpected(update.error())));
    return update;
  }
  Status read(std::uint32_t offset, std::span<std::byte> out) override {
    assert(storing_.has_value());
    return noted(flusher_.overlay_frame_.complete(*storing_, offset, out));
  }
  [[nodiscard]] std::uint32_t piece_bytes() const override {
    assert(storing_.has_value());
    const auto& stored = storing_->stored;
    const bool has_blocks = stored && stored->body() == codec::ChunkBody::blocks;
    return has_blocks && !stored->header().vl_blocks ? stored->header().blocksize : frozen_.nbytes;
  }
  [[nodiscard]] std::span<std::byte> memory() override {
    return frozen_.bytes->whole(frozen_.nbytes);
  }

 private:
  Status noted(Status status) {
    // The flag is read after all calls have ended.
    if (!status && is_damage(status.error())) is_damaged_.store(true, std::memory_order_relaxed);
    return status;
  }

  const ChunkFlusher& flusher_;
  ChunkOverlay::Frozen& frozen_;
  std::optional<OverlayFrame::Storing> storing_;
  std::atomic<bool> is_damaged_{false};
};

// The first chunk that is not all zeros determines how it and all later chunks are encoded.
Status ChunkFlusher::choose_params_from(std::span<const ChunkWriter::Job> chunks) {
  const auto first = std::ranges::find_if(chunks, [&](const ChunkWriter::Job& chunk) {
    return std::ranges::any_of(chunk.plain, [](std::byte byte) { return byte != std::byte{0}; });
  });
  if (first == chunks.end()) return {};
  FRAMEFS_TRY(params_, choose_params_(first->plain));
  choose_params_ = nullptr;
  const auto& opened = overlay_frame_.frame()->header();
  auto header = codec::frame_header_for(params_, chunksize(), opened.type);
  header.header_len = opened.header_len;
  backend_.set_params(header);
  return {};
}

// Chunks that are stored together, and the memory for that.
struct ChunkFlusher::Batch {
  std::span<ChunkOverlay::Frozen> chunks;
  std::uint64_t bytes = 0;
};

ChunkFlusher::Batch ChunkFlusher::next_batch(std::span<ChunkOverlay::Frozen> frozen) const {
  // The parameters of a new frame are not chosen yet, and the choice needs all bytes of its first
  // chunk.
  if (choose_params_) return next_batch_of_new_frame(frozen);
  // Threads then rarely wait for the last chunk of a batch.
  constexpr std::size_t kChunksPerThread = 8;
  const auto most = chunk_writer_.budget().batch_bytes();
  const std::uint64_t threads = chunk_writer_.threads();
  std::uint64_t largest = 0;  // the memory of one chunk that is stored beside others
  std::size_t count = 0;
  for (const auto& chunk : frozen.first(std::min(frozen.size(), threads * kChunksPerThread))) {
    const auto blocksize = codec::blocksize_for(params_, chunk.nbytes);
    const auto bytes =
        std::max(largest, ChunkWriter::memory_beside_others(chunk.nbytes, blocksize));
    if (count > 0 && bytes * std::min<std::uint64_t>(count + 1, threads) > most) break;
    largest = bytes;
    ++count;
  }
  if (count > 1) return {frozen.first(count), largest * std::min<std::uint64_t>(count, threads)};
  const auto nbytes = frozen.front().nbytes;
  const auto blocksize = codec::blocksize_for(params_, nbytes);
  const auto alone = ChunkWriter::memory_bytes(nbytes) + nbytes +
                     threads * std::min<std::uint64_t>(nbytes, blocksize);
  return {frozen.first(1), alone};
}

ChunkFlusher::Batch ChunkFlusher::next_batch_of_new_frame(
    std::span<ChunkOverlay::Frozen> frozen) const {
  const auto most = chunk_writer_.budget().batch_bytes();
  Batch batch;
  std::size_t count = 0;
  for (const auto& chunk : frozen) {
    const auto buffer = chunk.bytes->whole(chunk.nbytes).empty() ? chunk.nbytes : 0;
    const auto bytes = buffer + ChunkWriter::memory_bytes(chunk.nbytes);
    if (count > 0 && batch.bytes + bytes > most) break;
    batch.bytes += bytes;
    ++count;
  }
  batch.chunks = frozen.first(count);
  return batch;
}

// Stores the chunks in batches: a frozen chunk has memory for little more than its written bytes,
// and storing it takes memory for all of them.
Status ChunkFlusher::store(std::vector<ChunkOverlay::Frozen> frozen) {
  has_just_dropped_ = false;
  Status status;
  std::span<ChunkOverlay::Frozen> left(frozen);
  while (!left.empty() && status) {
    const auto batch = next_batch(left);
    status = store_batch(batch);
    left = left.subspan(batch.chunks.size());
  }
  thaw(left);
  return status;
}

// The chunks are dirty again.
void ChunkFlusher::thaw(std::span<const ChunkOverlay::Frozen> frozen) {
  if (frozen.empty()) return;
  overlay_.write([&](ChunkOverlay& overlay) {
    for (const auto& chunk : frozen) overlay.thaw(chunk);
  });
}

// Makes all bytes of the chunks of a new frame, and chooses its parameters.
Status ChunkFlusher::complete_all(FrozenChunks& chunks,
                                  std::vector<std::unique_ptr<Bytes>>& buffers,
                                  std::span<ChunkWriter::Job> jobs) {
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (jobs[i].incomplete == nullptr) continue;
    auto memory = chunks[i]->memory();
    if (memory.empty()) {
      buffers.push_back(chunk_writer_.buffer(chunks[i]->nbytes()));
      memory = buffers.back()->writable();
    }
    auto completed = chunks[i]->begin();
    if (completed) completed = chunks[i]->read(0, memory);
    jobs[i] = {.plain = memory};
    if (!completed) jobs[i].entry = std::unexpected(completed.error());
    FRAMEFS_CHECK(completed);
  }
  return choose_params_from(jobs);
}

// Afterwards each chunk of the batch is stored, dirty again or dropped.
Status ChunkFlusher::store_batch(const Batch& batch) {
  const auto share = chunk_writer_.budget().take(batch.bytes);
  std::vector<std::unique_ptr<Bytes>> buffers;
  FrozenChunks chunks;
  std::vector<ChunkWriter::Job> jobs;
  for (auto& frozen : batch.chunks) {
    chunks.push_back(std::make_unique<FrozenChunk>(*this, frozen));
    const auto plain = chunks.back()->plain();
    jobs.push_back({.plain = plain, .incomplete = plain.empty() ? chunks.back().get() : nullptr});
  }
  if (choose_params_) {
    if (const auto completed = complete_all(chunks, buffers, jobs); !completed) {
      thaw(batch.chunks);
      return completed;
    }
  }
  std::vector<std::int64_t> replaced;
  chunk_writer_.write(backend_, params_, jobs,
                      [&](std::size_t i) { land(*chunks[i], jobs[i].entry, replaced); });
  for (const auto entry : replaced) backend_.drop(entry);
  for (const auto& job : jobs) FRAMEFS_CHECK(job.entry);
  return {};
}

// Ends the store of a chunk.  Writers that wait for room need not wait for the rest of the batch.
// Threads: any number.  Those of a batch share `replaced`, which the lock of the overlay guards.
void ChunkFlusher::land(FrozenChunk& chunk, const Result<std::int64_t>& stored,
                        std::vector<std::int64_t>& replaced) {
  const auto& frozen = chunk.frozen();
  overlay_.write([&](ChunkOverlay& overlay) {
    if (stored) {
      const auto old = overlay.land(frozen.chunk, *stored, content_ids_.next());
      if (overlay.has_many_ids()) overlay.renew_ids(content_ids_.next());
      if (old >= 0) replaced.push_back(old);
    } else if (chunk.is_damaged() && ChunkOverlay::can_drop(frozen)) {
      overlay.drop(frozen);
      has_just_dropped_ = true;
      dropped_ = stored.error();
    } else {
      overlay.thaw(frozen);
    }
  });
  chunk.release();
}

bool ChunkFlusher::are_truncated_zeros(std::int64_t entry, std::uint64_t nbytes) const {
  return nbytes % params_.typesize != 0 && overlay_frame_.frame()->is_zero_entry(entry);
}

// Stores chunks of `nbytes` zeros.
std::vector<Result<std::int64_t>> ChunkFlusher::store_zeros(std::size_t count,
                                                            std::uint64_t nbytes) {
  const auto threads = std::min<std::uint64_t>(count, chunk_writer_.threads());
  const auto share =
      chunk_writer_.budget().take(nbytes + threads * ChunkWriter::memory_bytes(nbytes));
  const std::vector<std::byte> zeros(nbytes);
  std::vector<ChunkWriter::Job> jobs(count, {.plain = zeros});
  chunk_writer_.write(backend_, params_, jobs, [](std::size_t) {});
  std::vector<Result<std::int64_t>> entries;
  entries.reserve(count);
  for (const auto& job : jobs) entries.push_back(job.entry);
  return entries;
}

Status ChunkFlusher::store_truncated_zeros(std::uint64_t count, std::uint64_t nbytes) {
  constexpr std::size_t kMostAtOnce = 1024;
  const auto chunksize = this->chunksize();
  if (chunksize % params_.typesize == 0) return {};
  const auto whole = std::min<std::uint64_t>(count, nbytes / chunksize);
  std::vector<std::uint64_t> chunks;
  for (std::uint64_t chunk = 0; chunk < whole;) {
    chunks.clear();
    overlay_.read([&](const ChunkOverlay& overlay) {
      for (; chunk < whole && chunks.size() < kMostAtOnce; ++chunk) {
        if (are_truncated_zeros(overlay.entry(chunk), chunksize)) chunks.push_back(chunk);
      }
    });
    if (chunks.empty()) break;
    const auto entries = store_zeros(chunks.size(), chunksize);
    overlay_.write([&](ChunkOverlay& overlay) {
      for (std::size_t i = 0; i < chunks.size(); ++i) {
        if (entries[i]) overlay.land(chunks[i], *entries[i], content_ids_.next());
      }
      if (overlay.has_many_ids()) overlay.renew_ids(content_ids_.next());
    });
    for (const auto& entry : entries) {
      if (!entry) return std::unexpected(entry.error());
    }
  }
  return {};
}

Result<std::optional<std::int64_t>> ChunkFlusher::store_last_zeros(std::uint64_t nbytes,
                                                                   std::int64_t last) {
  const auto size = nbytes % chunksize();
  if (!are_truncated_zeros(last, size)) return std::nullopt;
  return store_zeros(1, size).front();
}

}  // namespace framefs::fs
