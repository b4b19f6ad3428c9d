#include <algorithm>
#include <array>

#include "codec/frame/frame_writer.h"
#include "fs/core/may_wait.h"
#include "fs/write/frame_write_session.h"

namespace framefs::fs {
namespace {

// The chunks stored at a time without a commit.  A commit that waits for the lock waits for no more
// than these.
constexpr std::uint64_t kFlushedBytes = 8u << 20;
// A thread that must not wait stores no more than this.
constexpr std::uint64_t kPromptBytes = 256u << 10;

}  // namespace

// The first chunk that is not all zeros determines how it and all later chunks are encoded.
Status FrameWriteSession::choose_params_from(std::span<const OverlayFrame::Storing> chunks) {
  if (!choose_params_) return {};
  const auto first = std::ranges::find_if(chunks, [&](const OverlayFrame::Storing& chunk) {
    return std::ranges::any_of(chunk.plain, [](std::byte byte) { return byte != std::byte{0}; });
  });
  if (first == chunks.end()) return {};
  FRAMEFS_TRY(params_, choose_params_(first->plain));
  choose_params_ = nullptr;
  const auto chunksize =
      overlay_.read([](const ChunkOverlay& overlay) { return overlay.chunksize(); });
  auto header = codec::frame_header_for(params_, chunksize, header_.type);
  header.header_len = header_.header_len;
  backend_->set_params(header);
  return {};
}

// Chunks that are stored at a time, and the memory for that.
struct FrameWriteSession::Batch {
  std::span<const ChunkOverlay::Frozen> chunks;
  std::uint64_t bytes = 0;
};

FrameWriteSession::Batch FrameWriteSession::next_batch(
    std::span<const ChunkOverlay::Frozen> frozen) const {
  const auto most = services_.chunk_writer.budget().batch_bytes();
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
Status FrameWriteSession::write_frozen(std::vector<ChunkOverlay::Frozen> frozen) {
  Status status;
  std::span<ChunkOverlay::Frozen> left(frozen);
  while (!left.empty() && status) {
    const auto batch = next_batch(left);
    status = write_batch(batch);
    for (auto& chunk : left.first(batch.chunks.size())) chunk.bytes.reset();
    left = left.subspan(batch.chunks.size());
  }
  if (left.empty()) return status;
  overlay_.write([&](ChunkOverlay& overlay) {
    for (const auto& chunk : left) overlay.thaw(chunk);
  });
  return status;
}

// Afterwards each chunk of the batch is either stored or dirty again.
Status FrameWriteSession::write_batch(const Batch& batch) {
  const auto share = services_.chunk_writer.budget().take(batch.bytes);
  std::vector<std::unique_ptr<Bytes>> buffers;
  std::vector<OverlayFrame::Storing> chunks;
  for (const auto& frozen : batch.chunks) {
    auto plain = frozen.bytes->whole(frozen.nbytes);
    if (plain.empty()) {
      buffers.push_back(services_.chunk_writer.buffer(frozen.nbytes));
      plain = buffers.back()->writable();
    }
    chunks.push_back({frozen, plain});
  }
  std::vector<ChunkWriter::Job> jobs;
  std::vector<std::optional<ChunkUpdate>> updates(chunks.size());
  const auto complete = [&](const OverlayFrame::Storing& chunk) {
    return reading([&] { return overlay_frame_->complete(chunk); });
  };
  auto status = [&]() -> Status {
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      // The parameters of a new frame are not chosen yet, and the choice needs all bytes of its
      // first chunk.
      if (!choose_params_) {
        FRAMEFS_TRY(updates[i],
                    reading([&] { return overlay_frame_->plan_update(chunks[i], params_); }));
      }
      if (!updates[i]) FRAMEFS_CHECK(complete(chunks[i]));
    }
    FRAMEFS_CHECK(choose_params_from(chunks));
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      jobs.push_back({.plain = chunks[i].plain, .update = updates[i] ? &*updates[i] : nullptr});
    }
    services_.chunk_writer.write(*backend_, params_, jobs);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      if (!jobs[i].needs_all_bytes) continue;
      FRAMEFS_CHECK(complete(chunks[i]));
      jobs[i] = {.plain = jobs[i].plain};
      services_.chunk_writer.write(*backend_, params_, std::span(&jobs[i], 1));
    }
    return {};
  }();
  jobs.resize(chunks.size());
  std::vector<std::int64_t> dropped;
  overlay_.write([&](ChunkOverlay& overlay) {
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      if (status && jobs[i].entry) {
        const auto id = services_.content_ids.next();
        const auto old = overlay.land(chunks[i].frozen, *jobs[i].entry, id);
        if (old >= 0) dropped.push_back(old);
      } else {
        overlay.thaw(chunks[i].frozen);
      }
    }
  });
  drop(dropped);
  for (const auto& job : jobs) {
    if (status && !job.entry) status = std::unexpected(job.entry.error());
  }
  return status;
}

Status FrameWriteSession::flush(ChunkOverlay::Which which) {
  bool is_done = false;
  while (!is_done) {
    FRAMEFS_TRY(is_done, flush_some(which));
  }
  return {};
}

Result<bool> FrameWriteSession::flush_some(ChunkOverlay::Which which) {
  const auto hold = take_commit_lock_promptly();
  if (!hold || (!may_wait() && used_bytes() > kPromptBytes)) {
    return std::unexpected(would_wait().error());
  }
  if (is_removed_) return true;
  FRAMEFS_CHECK(backend_->check_usable());
  FRAMEFS_CHECK(note_lost(take_new_lock_file()));
  auto frozen =
      overlay_.write([&](ChunkOverlay& overlay) { return overlay.freeze(which, kFlushedBytes); });
  if (frozen.empty()) return true;
  FRAMEFS_CHECK(note_lost(write_frozen(std::move(frozen))));
  return overlay_.read([&](const ChunkOverlay& overlay) { return !overlay.has_unstored(which); });
}

// An index entry cannot express that the last item of a zero chunk is truncated.
Result<std::int64_t> FrameWriteSession::write_last_zeros(std::uint64_t nbytes) {
  const auto chunksize =
      overlay_.read([](const ChunkOverlay& overlay) { return overlay.chunksize(); });
  const auto size = nbytes % chunksize;
  const auto share = services_.chunk_writer.budget().take(size + ChunkWriter::memory_bytes(size));
  const std::vector<std::byte> zeros(size);
  std::array<ChunkWriter::Job, 1> job{ChunkWriter::Job{zeros}};
  services_.chunk_writer.write(*backend_, params_, job);
  if (job[0].entry) committed_only_ = *job[0].entry;
  return job[0].entry;
}

}  // namespace framefs::fs
