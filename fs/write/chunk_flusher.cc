#include "fs/write/chunk_flusher.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "codec/frame/frame_writer.h"
#include "fs/core/error_map.h"

namespace framefs::fs {

// The first chunk that is not all zeros determines how it and all later chunks are encoded.
Status ChunkFlusher::choose_params_from(std::span<const OverlayFrame::Storing> chunks) {
  if (!choose_params_) return {};
  const auto first = std::ranges::find_if(chunks, [&](const OverlayFrame::Storing& chunk) {
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

// Chunks that are stored at a time, and the memory for that.
struct ChunkFlusher::Batch {
  std::span<const ChunkOverlay::Frozen> chunks;
  std::uint64_t bytes = 0;
};

ChunkFlusher::Batch ChunkFlusher::next_batch(std::span<const ChunkOverlay::Frozen> frozen) const {
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
    for (auto& chunk : left.first(batch.chunks.size())) chunk.bytes.reset();
    left = left.subspan(batch.chunks.size());
  }
  if (left.empty()) return status;
  overlay_.write([&](ChunkOverlay& overlay) {
    for (const auto& chunk : left) overlay.thaw(chunk);
  });
  return status;
}

// Afterwards each chunk of the batch is stored, dirty again or dropped.
Status ChunkFlusher::store_batch(const Batch& batch) {
  const auto share = chunk_writer_.budget().take(batch.bytes);
  std::vector<std::unique_ptr<Bytes>> buffers;
  std::vector<OverlayFrame::Storing> chunks;
  for (const auto& frozen : batch.chunks) {
    auto plain = frozen.bytes->whole(frozen.nbytes);
    if (plain.empty()) {
      buffers.push_back(chunk_writer_.buffer(frozen.nbytes));
      plain = buffers.back()->writable();
    }
    chunks.push_back({frozen, plain});
  }
  std::vector<ChunkWriter::Job> jobs;
  std::vector<std::optional<ChunkUpdate>> updates(chunks.size());
  std::optional<std::size_t> damaged;  // place in `chunks`
  const auto reading = [&](std::size_t place, const auto& read) {
    auto done = overlay_.read([&](const auto&) { return read(chunks[place]); });
    if (!done && is_damage(done.error())) damaged = place;
    return done;
  };
  const auto complete = [&](const OverlayFrame::Storing& chunk) {
    return overlay_frame_.complete(chunk);
  };
  const auto plan_update = [&](const OverlayFrame::Storing& chunk) {
    return overlay_frame_.plan_update(chunk, params_);
  };
  auto status = [&]() -> Status {
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      // The parameters of a new frame are not chosen yet, and the choice needs all bytes of its
      // first chunk.
      if (!choose_params_) {
        FRAMEFS_TRY(updates[i], reading(i, plan_update));
      }
      if (!updates[i]) FRAMEFS_CHECK(reading(i, complete));
    }
    FRAMEFS_CHECK(choose_params_from(chunks));
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      jobs.push_back({.plain = chunks[i].plain, .update = updates[i] ? &*updates[i] : nullptr});
    }
    chunk_writer_.write(backend_, params_, jobs);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      if (!jobs[i].needs_all_bytes) continue;
      FRAMEFS_CHECK(reading(i, complete));
      jobs[i] = {.plain = jobs[i].plain};
      chunk_writer_.write(backend_, params_, std::span(&jobs[i], 1));
    }
    return {};
  }();
  jobs.resize(chunks.size());
  std::vector<std::int64_t> dropped;
  overlay_.write([&](ChunkOverlay& overlay) {
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      if (status && jobs[i].entry) {
        const auto id = content_ids_.next();
        const auto old = overlay.land(chunks[i].frozen, *jobs[i].entry, id);
        if (overlay.has_many_ids()) overlay.renew_ids(content_ids_.next());
        if (old >= 0) dropped.push_back(old);
      } else if (damaged == i && ChunkOverlay::can_drop(chunks[i].frozen)) {
        overlay.drop(chunks[i].frozen);
        dropped_ = status.error();
        has_just_dropped_ = true;
      } else {
        overlay.thaw(chunks[i].frozen);
      }
    }
  });
  for (const auto entry : dropped) backend_.drop(entry);
  for (const auto& job : jobs) {
    if (status && !job.entry) status = std::unexpected(job.entry.error());
  }
  return status;
}

// An index entry cannot express that the last item of a zero chunk is truncated.
Result<std::int64_t> ChunkFlusher::store_last_zeros(std::uint64_t nbytes) {
  const auto size = nbytes % chunksize();
  const auto share = chunk_writer_.budget().take(size + ChunkWriter::memory_bytes(size));
  const std::vector<std::byte> zeros(size);
  std::array<ChunkWriter::Job, 1> job{ChunkWriter::Job{zeros}};
  chunk_writer_.write(backend_, params_, job);
  return job[0].entry;
}

}  // namespace framefs::fs
