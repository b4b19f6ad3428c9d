#include "src/pack/pack_file.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "codec/chunk/chunk_encoder.h"
#include "codec/frame/frame_writer.h"
#include "src/cli/progress_bar.h"
#include "src/pack/pack_input.h"
#include "src/pack/replacement_file.h"

namespace framefs {
namespace {

using codec::Result;
using codec::Status;

// The plain bytes of one chunk.
struct Piece {
  std::vector<std::byte> plain;
  PackInput::Piece read;
};
// The chunks that are encoded at the same time.
using Batch = std::vector<Piece>;

// The encoder of one chunk of a batch, and its output.
struct Lane {
  codec::ChunkEncoder encoder;
  std::vector<std::byte> stored;
  Result<std::size_t> stored_bytes = 0;
};

Status fill(PackInput& input, Batch& batch) {
  for (auto& piece : batch) piece.read = {};
  for (auto& piece : batch) {
    FRAMEFS_TRY(piece.read, input.next(piece.plain));
    if (piece.read.size < piece.plain.size()) break;
  }
  return {};
}

void encode(const codec::EncodeParams& params, Piece& piece, Lane& lane) {
  lane.stored_bytes = 0;
  const auto [size, is_hole] = piece.read;
  // A hole whose size is no multiple of the item size must be stored as data.
  if (size == 0 || (is_hole && size % params.typesize == 0)) return;
  const auto plain = std::span(piece.plain).first(size);
  if (is_hole) std::ranges::fill(plain, std::byte{0});
  lane.stored_bytes = lane.encoder.encode(params, plain, lane.stored);
}

Status append(codec::FrameWriter& writer, const Batch& batch, const std::vector<Lane>& lanes) {
  for (std::size_t i = 0; i < batch.size() && batch[i].read.size > 0; ++i) {
    FRAMEFS_TRY(const auto size, lanes[i].stored_bytes);
    if (size == 0) {
      FRAMEFS_CHECK(writer.append_special(codec::Special::zero,
                                          static_cast<std::uint32_t>(batch[i].read.size)));
    } else {
      FRAMEFS_CHECK(writer.append_chunk(std::span(lanes[i].stored).first(size)));
    }
  }
  return {};
}

// The parameters are chosen from the first piece that is not a hole.
Result<codec::EncodeParams> choose_params(const PackOptions& options, const Batch& first) {
  std::span<const std::byte> sample;
  for (const auto& piece : first) {
    if (piece.read.size == 0 || piece.read.is_hole) continue;
    sample = std::span(piece.plain).first(piece.read.size);
    break;
  }
  return codec::choose_params_by_trial(options.encode, options.hints, sample);
}

std::size_t batch_chunks(const PackOptions& options, std::optional<std::uint64_t> plain_bytes) {
  const std::size_t threads =
      options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
  if (!plain_bytes) return threads;
  return std::clamp<std::size_t>(*plain_bytes / options.chunksize + 1, 1, threads);
}

// Rounds the chunk size down to whole items.
std::uint32_t chunksize_for(const PackOptions& options) {
  const std::uint32_t item = options.hints.typesize.value_or(8);
  return std::max(options.chunksize / item * item, std::uint32_t{1});
}

}  // namespace

Result<Packed> pack_file(const std::filesystem::path& from, const std::filesystem::path& to,
                         const PackOptions& options, fs::WorkerPool& pool) {
  FRAMEFS_TRY(auto input, PackInput::open(from));
  FRAMEFS_TRY(auto file, ReplacementFile::create(to, options.may_replace));
  const auto chunksize = chunksize_for(options);
  const auto chunks = batch_chunks(options, input.size());
  // A small file is one chunk.
  const auto room = static_cast<std::size_t>(
      std::clamp<std::uint64_t>(input.size().value_or(chunksize), 1, chunksize));
  Batch now(chunks);
  for (auto& piece : now) piece.plain.resize(room);
  auto next = now;
  std::vector<Lane> lanes(chunks);
  for (auto& lane : lanes) lane.stored.resize(codec::ChunkPlan::max_bytes(room));
  FRAMEFS_CHECK(fill(input, now));

  codec::FrameParams params{.encode = options.encode, .chunksize = chunksize};
  FRAMEFS_TRY(params.encode, choose_params(options, now));
  FRAMEFS_TRY(auto writer, codec::FrameWriter::create(file.sink(), params));
  ProgressBar progress(from.filename().string(), input.size(), options.quiet);
  while (now.front().read.size > 0) {
    // The next batch is read while this batch is encoded.
    Status read;
    pool.run(chunks + 1, [&](std::size_t task) {
      if (task == 0) {
        read = fill(input, next);
      } else {
        encode(params.encode, now[task - 1], lanes[task - 1]);
      }
    });
    FRAMEFS_CHECK(append(writer, now, lanes));
    FRAMEFS_CHECK(read);
    progress.update(writer.nbytes());
    std::swap(now, next);
  }
  FRAMEFS_TRY(const auto stored, writer.finish());
  FRAMEFS_CHECK(file.publish(input.file()));
  return Packed{.plain = writer.nbytes(), .stored = stored};
}

}  // namespace framefs
