#include "fs/read/block_fetcher.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "fs/read/fetched_runs.h"

namespace framefs::fs {
namespace {

// Waits longer than this mean that the CPUs are oversubscribed: a low-priority thread that decodes
// ahead was preempted.  After such a wait, decoding ahead pauses for kPausePerWait times as long.
// This bounds the share of time that such waits can cost.
constexpr std::chrono::milliseconds kLongWait{12};
constexpr int kPausePerWait = 10;

}  // namespace

struct BlockFetcher::Job : StoredBlock {
  DecodeCache::Ticket ticket;
  Block first_block;  // for the delta filter
  Block decoded;
  std::optional<Error> error;
};

struct BlockFetcher::Batch {
  explicit Batch(std::span<const BlockRequest> all) : requests(all), blocks(all.size()) {}

  void note(std::size_t place, const Error& error) {
    if (!failure) failure = Failure{error, requests[place].chunk_index};
  }

  const std::span<const BlockRequest> requests;
  std::vector<Block> blocks;    // the results, in the order of the requests
  std::vector<Job> jobs;        // the blocks that this fetch() decodes
  std::vector<Job*> by_offset;  // the same jobs, for runs_of()
  std::vector<std::pair<std::size_t, std::shared_ptr<DecodeCache::Flight>>> awaited;
  std::optional<Failure> failure;
};

BlockFetcher::BlockFetcher(DecodeCache& cache, BufferPool& buffers, WorkerPool& workers)
    : cache_(cache),
      buffers_(buffers),
      workers_(workers),
      parts_(cache, buffers, workers, contexts_) {}
BlockFetcher::~BlockFetcher() = default;

Status BlockFetcher::decode_job(const codec::ByteSource& source, DecodeContext& context, Job& job,
                                std::span<const std::byte> stored) {
  const auto& request = job.request;
  auto block = std::make_shared<Bytes>(buffers_, request.decoded_bytes());
  const auto first = job.first_block ? job.first_block->view() : std::span<const std::byte>{};
  if (request.group) {
    FRAMEFS_CHECK(
        request.group->decode(source, stored, context.decoder, context.apart, block->writable()));
  } else {
    FRAMEFS_CHECK(
        request.decode(context.decoder, job.stored.offset, stored, block->writable(), first));
  }
  job.decoded = block;
  job.ticket.publish(std::move(block), job.decoded->view().size());
  return {};
}

// The stored bytes of each run.
std::vector<ByteRange> BlockFetcher::ranges_of(std::span<const Run> runs) {
  std::vector<ByteRange> ranges;
  for (const auto& run : runs) ranges.push_back(range_of(run));
  return ranges;
}

void BlockFetcher::decode_run(const codec::ByteSource& source, Run run) {
  const auto context = contexts_.take();
  const auto [begin, size] = range_of(run);
  const auto stored = context->stored.take(size);
  const bool whole = source.read_at(begin, stored).has_value();
  for (auto* const job : run) {
    const auto part = stored.subspan(job->stored.offset - begin, job->stored.size);
    Status status;
    // If the run as a whole cannot be read, for example at the end of a truncated file, its first
    // blocks may still be whole.  Each block is then read alone.
    if (!whole) status = source.read_at(job->stored.offset, part);
    if (status) status = decode_job(source, *context, *job, part);
    if (!status) fail(*job, status.error());
  }
}

void BlockFetcher::decode_run(const FetchedRuns& fetched, Run run) {
  const auto context = contexts_.take();
  for (auto* const job : run) {
    const auto stored = fetched.bytes_at(job->stored);
    const auto status = stored ? decode_job(fetched, *context, *job, *stored)
                               : Status(std::unexpected(stored.error()));
    if (!status) fail(*job, status.error());
  }
}

void BlockFetcher::fail(Job& job, const Error& error) {
  parts_.note_damaged(job.request);
  job.error = error;
  job.ticket.fail(error);
}

void BlockFetcher::decode(Batch& batch, const codec::ByteSource& source) {
  if (batch.jobs.empty()) return;
  const auto runs = runs_of(batch.jobs, batch.by_offset);
  if (source.is_far()) {
    // All readers share the threads that decode, so this thread waits for the network.
    const auto context = contexts_.take();
    const FetchedRuns fetched(source, ranges_of(runs), context->stored);
    workers_.run(runs.size(), [&](std::size_t i) { decode_run(fetched, runs[i]); });
  } else {
    workers_.run(runs.size(), [&](std::size_t i) { decode_run(source, runs[i]); });
  }
  for (auto& job : batch.jobs) {
    if (job.error) batch.note(job.place, *job.error);
    batch.blocks[job.place] = std::move(job.decoded);
  }
}

auto BlockFetcher::first_blocks(const codec::ByteSource& source,
                                std::span<const BlockRequest> requests)
    -> std::expected<FirstBlocks, Failure> {
  std::vector<BlockRequest> wanted;
  for (const auto& request : requests) {
    const bool asked = !wanted.empty() && wanted.back().chunk_index == request.chunk_index;
    if (request.needs_first_block() && !asked) {
      wanted.push_back({request.chunk, request.chunk_index, {0}, request.content});
    }
  }
  FirstBlocks firsts;
  if (wanted.empty()) return firsts;
  auto blocks = fetch(source, wanted);
  if (!blocks) return std::unexpected(blocks.error());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    firsts.emplace(wanted[i].chunk_index.value, std::move((*blocks)[i]));
  }
  return firsts;
}

void BlockFetcher::claim(Batch& batch, FirstBlocks& firsts) {
  for (std::size_t i = 0; i < batch.requests.size(); ++i) {
    const auto& request = batch.requests[i];
    const auto stored = request.stored();
    if (!stored) {
      batch.note(i, stored.error());
      continue;
    }
    auto claim = cache_.claim(request.key(), request.decoded_bytes());
    if (claim.ours) {
      auto first = request.needs_first_block() ? firsts[request.chunk_index.value] : nullptr;
      batch.jobs.push_back(
          {{request, i, *stored}, std::move(*claim.ours), std::move(first), nullptr, std::nullopt});
    } else if (claim.flight) {
      batch.awaited.emplace_back(i, std::move(claim.flight));
    } else {
      batch.blocks[i] = std::static_pointer_cast<const Bytes>(claim.ready);
    }
  }
}

auto BlockFetcher::fetch_alone(const codec::ByteSource& source, const BlockRequest& request,
                               std::span<const std::byte> first) -> Result<Block> {
  if (auto known = cache_.find(request.key())) {
    return std::static_pointer_cast<const Bytes>(std::move(known));
  }
  FRAMEFS_TRY(const auto place, request.stored());
  const auto context = contexts_.take();
  const auto stored = context->stored.take(place.size);
  FRAMEFS_CHECK(source.read_at(place.offset, stored));
  auto block = std::make_shared<Bytes>(buffers_, request.decoded_bytes());
  FRAMEFS_CHECK(request.decode(context->decoder, place.offset, stored, block->writable(), first));
  return block;
}

void BlockFetcher::wait_for_others(Batch& batch, const codec::ByteSource& source) {
  if (batch.awaited.empty()) return;
  const auto begin = std::chrono::steady_clock::now();
  for (auto& [place, flight] : batch.awaited) {
    const auto landed = flight->wait();
    if (landed) {
      batch.blocks[place] = std::static_pointer_cast<const Bytes>(*landed);
    } else if (DecodeCache::is_of_another(landed.error())) {
      auto again = fetch(source, batch.requests.subspan(place, 1));
      if (again) {
        batch.blocks[place] = std::move(again->front());
      } else {
        batch.note(place, again.error().error);
      }
    } else {
      batch.note(place, landed.error());
    }
  }
  const auto end = std::chrono::steady_clock::now();
  // A wait for the network does not mean that the CPUs are oversubscribed.
  if (end - begin > kLongWait && !source.is_far()) {
    ahead_from_.store(end + kPausePerWait * (end - begin), std::memory_order_relaxed);
  }
}

bool BlockFetcher::fetch_ahead(const codec::ByteSource& source,
                               std::span<const BlockRequest> requests) {
  while (!requests.empty()) {
    const auto from = ahead_from_.load(std::memory_order_relaxed);
    if (std::chrono::steady_clock::now() < from) return false;
    std::vector<BlockRequest> some;
    std::uint64_t decoded = 0;
    for (; !requests.empty() && decoded < kRunDecodedBytes; requests = requests.subspan(1)) {
      if (cache_.knows(requests.front().key())) continue;
      some.push_back(requests.front());
      decoded += some.back().decoded_bytes();
    }
    const auto admission = cache_.admissions().try_admit(needed_bytes(some));
    if (!admission) return false;
    auto firsts = first_blocks(source, some);
    if (!firsts) return false;
    Batch batch(some);
    claim(batch, *firsts);
    for (const auto& run : runs_of(batch.jobs, batch.by_offset)) decode_run(source, run);
  }
  return true;
}

auto BlockFetcher::fetch(const codec::ByteSource& source, std::span<const BlockRequest> requests)
    -> std::expected<std::vector<Block>, Failure> {
  // First blocks are fetched before this call claims any block: a thread that waits for another
  // thread's block must hold no claim itself.
  auto firsts = first_blocks(source, requests);
  if (!firsts) return std::unexpected(firsts.error());

  Batch batch(requests);
  claim(batch, *firsts);
  decode(batch, source);
  wait_for_others(batch, source);
  if (batch.failure) return std::unexpected(*batch.failure);
  return std::move(batch.blocks);
}

}  // namespace framefs::fs
