#include "src/check/frame_checker.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "codec/frame/chunk_scan.h"
#include "codec/frame/frame_array.h"
#include "codec/frame/metalayer_content.h"
#include "fs/core/diagnostics/error_map.h"
#include "fs/inspect/chunk_info.h"
#include "fs/inspect/frame_info.h"
#include "src/check/used_ranges.h"
#include "src/cli/cause_text.h"
#include "src/cli/size_text.h"

namespace framefs {
namespace {

using codec::DamagedRange;
using codec::Error;

// The number of chunks that are decoded between two calls of the progress function.
constexpr std::size_t kBatchChunks = 64;

// Says what is wrong with a frame that cannot be opened.
std::string cause_of_closed(const Error& error, std::uint64_t stored) {
  const bool is_short = error.kind == codec::Errc::truncated &&
                        std::string_view(error.field) == "frame_len" && error.value;
  if (!is_short) return cause_text(error);
  return fmt::format("the file has {} of {} bytes", whole_number_text(stored),
                     whole_number_text(static_cast<std::uint64_t>(*error.value)));
}

bool is_mismatch(const std::vector<DamagedRange>& bad) {
  return bad.size() == 1 && bad[0].error.kind == codec::Errc::checksum;
}

// The check of one frame.
class Run {
 public:
  Run(const fs::FrameOrigin& origin, const codec::Frame& frame, const codec::Limits& limits,
      fs::WorkerPool& pool, const FrameChecker::Found& found, FrameReport& report)
      : origin_(origin),
        frame_(frame),
        limits_(limits),
        pool_(pool),
        found_(found),
        report_(report),
        fetched_(frame.read_fetched(*origin.source, limits).value_or(std::nullopt)) {
    used_.add({0, frame.header().header_len});
  }

  void read_checksums() {
    auto read = codec::read_checksums(frame_, *origin_.source, limits_);
    if (read) {
      checksums_ = std::move(*read);
      report_.checksums = checksums_.state;
      return;
    }
    report_.checksums.reset();
    tell({.part = "checksums",
          .chunk = {},
          .file = {},
          .at = read.error().at,
          .lost = {},
          .cause = fs::describe(read.error()),
          .detail = {}});
  }

  void check_chunks(const FrameChecker::Progress& progress) {
    std::vector<fs::ChunkInfo> batch;
    bool goes_on = true;
    fs::visit_chunks(frame_, origin_, limits_, [&](const fs::ChunkInfo& chunk) {
      batch.push_back(chunk);
      if (batch.size() == kBatchChunks) {
        check_batch(batch);
        batch.clear();
        goes_on = progress(done_, frame_.nbytes());
      }
      return goes_on;
    });
    if (goes_on) check_batch(batch);
  }

  void check_layers() {
    for (const auto& layer : frame_.vlmetalayers()) {
      const auto content = codec::read_vlmetalayer(*origin_.source, layer, limits_);
      if (content) continue;
      tell({.part = fmt::format("vl-metalayer \"{}\"", layer.name),
            .chunk = {},
            .file = {},
            .at = layer.content.offset,
            .lost = {},
            .cause = fs::describe(content.error()),
            .detail = {}});
    }
    if (const auto layout = array_layout(); !layout) {
      tell({.part = "array metadata",
            .chunk = {},
            .file = {},
            .at = {},
            .lost = {},
            .cause = fs::describe(layout.error()),
            .detail = {}});
    }
  }

  // Whether a frame that is an array has the chunks that its shape requires.
  [[nodiscard]] codec::Status array_layout() const {
    const auto& array = frame_.array();
    if (!array) return {};
    FRAMEFS_TRY(const auto meta, *array);
    FRAMEFS_TRY([[maybe_unused]] const auto layout, codec::layout_of(meta, frame_.header()));
    return {};
  }

  void count_dead() {
    if (!is_contiguous()) return;
    const auto& header = frame_.header();
    const auto used = used_.bytes() + header.frame_len -
                      (frame_.chunk_count() > 0 ? frame_.index_at() : header.header_len);
    if (used <= report_.stored) report_.dead = report_.stored - used;
  }

 private:
  [[nodiscard]] bool is_contiguous() const noexcept {
    return origin_.type == codec::FrameType::contiguous;
  }

  void tell(const Damage& damage) {
    if (++report_.damages <= FrameChecker::kMaxTold) found_(damage);
  }

  // Decodes the chunks in parallel, then reports in chunk order.
  void check_batch(const std::vector<fs::ChunkInfo>& batch) {
    std::vector<std::vector<DamagedRange>> bad(batch.size());
    pool_.run(batch.size(), [&](std::size_t i) { bad[i] = check_chunk(batch[i]); });
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto& chunk = batch[i];
      ++report_.chunks;
      if (is_mismatch(bad[i])) ++report_.mismatches;
      if (lacks_checksum(chunk)) ++report_.unhashed;
      if (chunk.offset && chunk.header) {
        check_place(chunk, {*chunk.offset, chunk.header->cbytes});
        done_ += chunk.header->nbytes;
      }
      for (const auto& [range, error] : bad[i]) report_range(chunk, range, error);
    }
  }

  // Checks that a chunk overlaps neither the header nor another chunk.
  void check_place(const fs::ChunkInfo& chunk, codec::ByteRange place) {
    if (!is_contiguous() || used_.add(place)) return;
    tell({.part = "chunk",
          .chunk = chunk.index,
          .file = {},
          .at = place.offset,
          .lost = {},
          .cause = "it shares bytes with the header or with another chunk",
          .detail = {}});
  }

  [[nodiscard]] std::vector<DamagedRange> check_chunk(const fs::ChunkInfo& info) const {
    const auto whole = [&](const Error& error) {
      const auto nbytes = frame_.header().has_variable_chunks()
                              ? (info.header ? info.header->nbytes : 0)
                              : frame_.chunk_range({info.index}).size;
      return std::vector<DamagedRange>{{{0, nbytes}, error}};
    };
    if (info.is_absent) return {};
    if (info.error) return whole(*info.error);
    std::int64_t entry = 0;
    if (const auto read = frame_.read_entries(*origin_.source, {info.index}, {&entry, 1}); !read) {
      return whole(read.error());
    }
    const auto chunk = frame_.open_chunk(*origin_.chunks, {info.index}, entry, limits_,
                                         fetched_ ? &*fetched_ : nullptr);
    if (!chunk) return whole(chunk.error());
    auto bad = codec::decode_each_block(*origin_.chunks, *chunk, {});
    if (!bad.empty() || entry < 0) return bad;
    const auto verified =
        codec::verify_chunk(*origin_.chunks, frame_.header(), entry, checksums_.of({info.index}));
    return verified ? bad : whole(verified.error());
  }

  [[nodiscard]] bool lacks_checksum(const fs::ChunkInfo& info) const {
    return checksums_.state == codec::FrameChecksums::State::valid && info.offset &&
           !checksums_.of({info.index}).exists();
  }

  void report_range(const fs::ChunkInfo& chunk, const codec::ByteRange& range, const Error& error) {
    std::optional<codec::ByteRange> lost;
    // If the chunk sizes vary, the position of all chunks after an unreadable chunk is unknown.
    if (!frame_.header().has_variable_chunks()) {
      lost = {frame_.chunk_range({chunk.index}).offset + range.offset, range.size};
    }
    report_.lost += range.size;
    tell({.part = "chunk",
          .chunk = chunk.index,
          .file = chunk.file,
          .at = chunk.offset,
          .lost = lost,
          .cause = cause_text(error),
          .detail = fs::describe(error)});
  }

  const fs::FrameOrigin& origin_;
  const codec::Frame& frame_;
  const codec::Limits& limits_;
  fs::WorkerPool& pool_;
  const FrameChecker::Found& found_;
  FrameReport& report_;
  codec::FrameChecksums checksums_;
  const std::optional<codec::FetchedBlocks> fetched_;
  UsedRanges used_;  // by the header and the chunks
  std::uint64_t done_ = 0;
};

}  // namespace

FrameReport FrameChecker::check(const fs::FrameOrigin& origin, const Found& found,
                                const Progress& progress) {
  FrameReport report;
  if (const auto size = origin.source->size()) report.stored = *size;
  const auto frame = fs::open_frame_at(origin, limits_);
  if (!frame) {
    report.damages = 1;
    const auto& error = frame.error();
    const bool has_place = error.kind != codec::Errc::system;
    found({.part = "frame",
           .chunk = {},
           .file = {},
           .at = has_place ? std::optional(error.at) : std::nullopt,
           .lost = {},
           .cause = cause_of_closed(error, report.stored),
           .detail = fs::describe(error)});
    return report;
  }
  report.is_opened = true;
  report.nbytes = frame->nbytes();
  if (frame->data_place().lies_elsewhere()) {
    report.elsewhere = fs::content_text(fs::describe_frame(*frame, *origin.source, limits_));
  }
  report.can_be_repaired = !frame->header().has_variable_chunks();
  Run run(origin, *frame, limits_, pool_, found, report);
  run.read_checksums();
  run.check_chunks(progress);
  run.check_layers();
  run.count_dead();
  return report;
}

}  // namespace framefs
