#include "fs/read/block_fetcher.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "codec/compressor/stream_decoder.h"
#include "codec/core/scratch.h"
#include "fs/read/fetched_runs.h"

namespace framefs::fs {
namespace {

// Limits of a run of adjacent blocks: the stored bytes of one read, and the decoded bytes of one
// thread.  The limits are high enough to make system calls and scheduling cheap, and low enough to
// keep all CPUs busy.
constexpr std::uint64_t kRunStoredBytes = 128u << 10;
constexpr std::uint64_t kRunDecodedBytes = 256u << 10;

// Waits longer than this mean that the CPUs are oversubscribed: a low-priority thread that decodes
// ahead was preempted.  After such a wait, decoding ahead pauses for kPausePerWait times as long.
// This bounds the share of time that such waits can cost.
constexpr std::chrono::milliseconds kLongWait{12};
constexpr int kPausePerWait = 10;

// Partial decoding uses memory that a thread keeps.  Larger blocks are always decoded as a whole.
constexpr std::uint64_t kLargestBlockOfParts = 1u << 20;
// Only a part of at most 1/kMaxPartOfBlock of a block is decoded alone.
constexpr std::uint64_t kMaxPartOfBlock = 8;
// A read of at most 1/kMaxTouchOfBlock of a block is likely to be followed by reads of other parts.
constexpr std::uint64_t kMaxTouchOfBlock = 2;
// A reader of many blocks gets parts for this many touches of each, because a part costs a sixth of
// its block and more.  A reader that comes back to a block after fewer touches of all blocks is in
// the middle of a slice, and will come back again.
constexpr std::uint32_t kEarlyTouches = 6;
constexpr std::uint32_t kSliceTouches = 128;

std::uint64_t block_bytes(const BlockRequest& request) {
  if (request.group) return request.group->nbytes();
  return request.chunk->block_range(request.block).size;
}

// The offset of the request's chunk in the source.
std::uint64_t chunk_offset(const BlockRequest& request) {
  return request.chunk->plain_offset() - request.chunk->header().header_bytes();
}

// The place in the source, from which errors count, too.
codec::Result<ByteRange> stored_range(const BlockRequest& request) {
  auto range = request.group ? request.group->stored() : request.chunk->stored_range(request.block);
  if (!range) range.error().at += chunk_offset(request);
  return range;
}

// Decodes a block whose bytes `stored` lie at `offset`, from the start of which errors count.
Status decode_block(codec::BlockDecoder& decoder, const BlockRequest& request, std::uint64_t offset,
                    std::span<const std::byte> stored, std::span<std::byte> out,
                    std::span<const std::byte> first) {
  auto decoded = decoder.decode(*request.chunk, request.block, stored, out, first);
  if (decoded) return {};
  auto error = decoded.error();
  error.at += error.kind == codec::Errc::unsupported ? chunk_offset(request) : offset;
  return std::unexpected(error);
}

// Whether a part of the block can be decoded without what follows it.
bool stops_early(const BlockRequest& request) {
  const auto& chunk = *request.chunk;
  return codec::StreamDecoder::stops_early(chunk.stream_format(), chunk.dictionary());
}

bool needs_first_block(const BlockRequest& request) {
  return !request.group && request.block.value != 0 && request.chunk->needs_first_block();
}

// The number of blocks at the front that are adjacent and make one run.
template <class Stored>
std::size_t run_length(std::span<Stored* const> blocks) {
  std::uint64_t end = blocks.front()->stored.offset;
  std::uint64_t stored = 0;
  std::uint64_t decoded = 0;
  for (std::size_t count = 0; count < blocks.size(); ++count) {
    const auto& block = *blocks[count];
    stored += block.stored.size;
    decoded += block_bytes(block.request);
    const bool too_much = stored > kRunStoredBytes || decoded > kRunDecodedBytes;
    if (count > 0 && (too_much || block.stored.offset != end)) return count;
    end = block.stored.offset + block.stored.size;
  }
  return blocks.size();
}

// Splits all blocks into runs, each for one thread.  The runs refer to `by_offset`.
template <class Stored>
auto runs_of(std::vector<Stored>& blocks, std::vector<Stored*>& by_offset) {
  by_offset.reserve(blocks.size());
  for (auto& block : blocks) by_offset.push_back(&block);
  std::ranges::sort(by_offset, {}, [](const Stored* block) { return block->stored.offset; });

  std::vector<std::span<Stored* const>> runs;
  for (std::span<Stored* const> rest(by_offset); !rest.empty();) {
    const auto count = run_length(rest);
    runs.push_back(rest.first(count));
    rest = rest.subspan(count);
  }
  return runs;
}

// The stored bytes of a run.
template <class Stored>
ByteRange range_of(std::span<Stored* const> run) {
  const auto begin = run.front()->stored.offset;
  return {begin, run.back()->stored.offset - begin + run.back()->stored.size};
}

}  // namespace

struct BlockFetcher::Context {
  codec::BlockDecoder decoder;
  codec::Scratch stored;
  codec::Scratch plain;  // for fetch_part()
  codec::Scratch apart;  // stored bytes that are not next to the others
  codec::Scratch first;  // the decoded first block of a chunk, for decode_parts()

  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return decoder.memory_bytes() + stored.memory_bytes() + plain.memory_bytes() +
           apart.memory_bytes() + first.memory_bytes();
  }
};

struct BlockFetcher::StoredBlock {
  const BlockRequest& request;
  std::size_t place;  // index in the results
  ByteRange stored;
};

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
    : cache_(cache), buffers_(buffers), workers_(workers) {}
BlockFetcher::~BlockFetcher() = default;

CacheKey BlockFetcher::key_of(const BlockRequest& request) {
  return {.content = request.content,
          .chunk = request.chunk_index.value,
          .block = static_cast<std::uint32_t>(request.block.value),
          .kind = request.group ? CacheKind::chunk_group : CacheKind::block};
}

std::uint64_t BlockFetcher::needed_bytes(std::span<const BlockRequest> requests) {
  std::uint64_t sum = 0;
  for (const auto& request : requests) {
    sum += block_bytes(request) + DecodeCache::kOverheadBytes;
    if (needs_first_block(request)) {
      sum += request.chunk->block_range({0}).size + DecodeCache::kOverheadBytes;
    }
  }
  return sum;
}

Status BlockFetcher::decode_job(const codec::ByteSource& source, Context& context, Job& job,
                                std::span<const std::byte> stored) {
  const auto& request = job.request;
  auto block = std::make_shared<Bytes>(buffers_, block_bytes(request));
  const auto first = job.first_block ? job.first_block->view() : std::span<const std::byte>{};
  if (request.group) {
    FRAMEFS_CHECK(
        request.group->decode(source, stored, context.decoder, context.apart, block->writable()));
  } else {
    FRAMEFS_CHECK(decode_block(context.decoder, request, job.stored.offset, stored,
                               block->writable(), first));
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
  // Damaged blocks are not decoded in parts, in whatever order they are read.
  touches_.note_most(key_of(job.request));
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
    if (needs_first_block(request) && !asked) {
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
    const auto stored = stored_range(request);
    if (!stored) {
      batch.note(i, stored.error());
      continue;
    }
    auto claim = cache_.claim(key_of(request), block_bytes(request));
    if (claim.ours) {
      auto first = needs_first_block(request) ? firsts[request.chunk_index.value] : nullptr;
      batch.jobs.push_back(
          {{request, i, *stored}, std::move(*claim.ours), std::move(first), nullptr, std::nullopt});
    } else if (claim.flight) {
      batch.awaited.emplace_back(i, std::move(claim.flight));
    } else {
      batch.blocks[i] = std::static_pointer_cast<const Bytes>(claim.ready);
    }
  }
}

bool BlockFetcher::is_worth_a_part(const BlockRequest& request, ByteRange within) {
  const auto size = block_bytes(request);
  if (size > kLargestBlockOfParts || within.size > size / kMaxPartOfBlock) return false;
  return codec::BlockDecoder::has_parts(*request.chunk) && !cache_.knows(key_of(request));
}

// A decoder that needs the whole block for a part has paid for all of it.  Later readers get it,
// unless another value would have to leave the cache for it.  If readers seldom come back to a
// block, its memory would cost more than it saves: new pages take half as long as the decoder.
bool BlockFetcher::is_worth_the_rest(const BlockRequest& request) const {
  return !stops_early(request) && touches_.are_often_repeated() &&
         cache_.has_room(block_bytes(request));
}

auto BlockFetcher::fetch_part(const codec::ByteSource& source, const BlockRequest& request,
                              ByteRange within) -> Part {
  if (within.size > block_bytes(request) / kMaxTouchOfBlock) return {};
  const auto key = key_of(request);
  const bool is_again = touches_.note(key).count > 1;
  if (is_again || is_worth_the_rest(request)) return {.bytes = nullptr, .is_hot = true};
  if (!is_worth_a_part(request, within)) return {};
  const auto place = request.chunk->stored_range(request.block);
  if (!place) return {};
  const auto lease = contexts_.take();
  Context& context = *lease;
  const auto stored = context.stored.take(place->size);
  if (!source.read_at(place->offset, stored)) return {};
  const auto whole = context.plain.take(block_bytes(request));
  if (!context.decoder.decode_part(*request.chunk, request.block, stored, whole, within)) {
    return {};
  }
  auto bytes = std::make_shared<Bytes>(buffers_, within.size);
  std::ranges::copy(whole.subspan(within.offset, within.size), bytes->writable().begin());
  return {.bytes = std::move(bytes)};
}

auto BlockFetcher::fetch_alone(const codec::ByteSource& source, const BlockRequest& request,
                               std::span<const std::byte> first) -> Result<Block> {
  if (auto known = cache_.find(key_of(request))) {
    return std::static_pointer_cast<const Bytes>(std::move(known));
  }
  FRAMEFS_TRY(const auto place, stored_range(request));
  const auto context = contexts_.take();
  const auto stored = context->stored.take(place.size);
  FRAMEFS_CHECK(source.read_at(place.offset, stored));
  auto block = std::make_shared<Bytes>(buffers_, block_bytes(request));
  FRAMEFS_CHECK(
      decode_block(context->decoder, request, place.offset, stored, block->writable(), first));
  return block;
}

bool BlockFetcher::is_early_part(const BlockRequest& request, ByteRange within) {
  if (within.size > block_bytes(request) / kMaxPartOfBlock) return false;
  if (!stops_early(request)) return false;
  const auto touch = touches_.note(key_of(request));
  const bool is_slice = touch.count > 1 && touch.age < kSliceTouches;
  return touch.count <= kEarlyTouches && !is_slice && is_worth_a_part(request, within);
}

Status BlockFetcher::decode_part(const codec::ByteSource& source, Context& context,
                                 const StoredBlock& block, std::span<const std::byte> stored,
                                 ByteRange within, const Use& use) {
  const auto& request = block.request;
  const auto& chunk = *request.chunk;
  const auto whole = context.plain.take(block_bytes(request));
  if (within.size < whole.size() && codec::BlockDecoder::has_parts(chunk)) {
    FRAMEFS_CHECK(context.decoder.decode_part(chunk, request.block, stored, whole, within));
  } else {
    std::span<std::byte> first;
    if (needs_first_block(request)) {
      FRAMEFS_TRY(const auto place, chunk.stored_range({0}));
      const auto stored_first = context.apart.take(place.size);
      FRAMEFS_CHECK(source.read_at(place.offset, stored_first));
      first = context.first.take(chunk.block_range({0}).size);
      FRAMEFS_CHECK(context.decoder.decode(chunk, {0}, stored_first, first, {}));
    }
    FRAMEFS_CHECK(context.decoder.decode(chunk, request.block, stored, whole, first));
  }
  use(block.place, whole);
  return {};
}

Status BlockFetcher::decode_parts(const codec::ByteSource& source, std::span<const BlockPart> parts,
                                  const Use& use) {
  std::vector<StoredBlock> blocks;
  blocks.reserve(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    FRAMEFS_TRY(const auto stored, stored_range(parts[i].request));
    blocks.push_back({parts[i].request, i, stored});
  }
  std::vector<StoredBlock*> by_offset;
  const auto runs = runs_of(blocks, by_offset);
  std::vector<Status> results(runs.size());
  const auto decode_one = [&](std::size_t i) -> Status {
    const auto context = contexts_.take();
    const auto [begin, size] = range_of(runs[i]);
    const auto stored = context->stored.take(size);
    FRAMEFS_CHECK(source.read_at(begin, stored));
    for (const auto* const block : runs[i]) {
      const auto part = stored.subspan(block->stored.offset - begin, block->stored.size);
      FRAMEFS_CHECK(decode_part(source, *context, *block, part, parts[block->place].within, use));
    }
    return {};
  };
  workers_.run(runs.size(), [&](std::size_t i) { results[i] = decode_one(i); });
  for (const auto& result : results) FRAMEFS_CHECK(result);
  return {};
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
      if (cache_.knows(key_of(requests.front()))) continue;
      some.push_back(requests.front());
      decoded += block_bytes(some.back());
    }
    const auto admission = cache_.try_admit(needed_bytes(some));
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
