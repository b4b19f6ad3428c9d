// framefs_fetch_rate: the speed of a client that needs no filesystem, the limit for remote mounts.
//
//   framefs_fetch_rate CONNECTIONS THREADS URL FRAME...
//
// Each FRAME is a local file; URL and its name lead to the same bytes on a server.  One thread
// fetches all of them by libcurl, in ranges of up to 8 MiB over CONNECTIONS connections.  THREADS
// threads decode each chunk once its bytes are here.  The places of the chunks come from the local
// file, so that the client needs no round trips for them.  Prints {"bytes", "reads", "wall_s",
// "cpu_s"} as JSON; each chunk counts as a read.

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <curl/curl.h>
#include <fmt/core.h>

#include "codec/chunk/block_decoder.h"
#include "codec/chunk/chunk_reader.h"
#include "codec/core/byte_source.h"
#include "codec/core/checked.h"
#include "codec/frame/frame.h"
#include "tests/bench/stopwatch.h"
#include "tests/support/bytes.h"

namespace framefs {
namespace {

constexpr std::uint64_t kMinPartBytes = 1 << 20;
constexpr std::uint64_t kMaxPartBytes = 8 << 20;

// A frame that is fetched.
struct Remote {
  std::string url;
  test::Bytes bytes;  // as fetched so far
  std::unique_ptr<codec::MemorySource> source;
  std::optional<codec::Frame> frame;
  std::vector<std::int64_t> entries;
  std::vector<std::uint64_t> ends;  // of each chunk, in the file
  std::vector<bool> has_part{};
  std::uint64_t part_bytes = 0;
  std::uint64_t next_chunk = 0;  // the first that no thread has
  std::uint64_t next_part = 0;   // all parts before it are here
};

codec::Result<Remote> open_local(const std::string& path) {
  Remote remote;
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  remote.bytes.resize(in ? static_cast<std::size_t>(in.tellg()) : 0);
  in.seekg(0);
  in.read(test::as_chars(remote.bytes.data()), static_cast<std::streamsize>(remote.bytes.size()));
  remote.source = std::make_unique<codec::MemorySource>(remote.bytes);
  FRAMEFS_TRY(remote.frame, codec::Frame::open(*remote.source, {}));
  const auto& frame = *remote.frame;
  remote.entries.resize(frame.chunk_count());
  FRAMEFS_CHECK(frame.read_entries(*remote.source, {0}, remote.entries));
  for (const auto entry : remote.entries) {
    auto end = frame.header().cbytes;
    for (const auto other : remote.entries) {
      if (other > entry) end = std::min(end, static_cast<std::uint64_t>(other));
    }
    remote.ends.push_back(entry < 0 ? 0 : frame.header().header_len + end);
  }
  // The bytes must come from the server.
  std::ranges::fill(remote.bytes, std::byte{});
  return remote;
}

// A chunk whose bytes are here.
struct Job {
  const Remote* remote;
  codec::ChunkIndex chunk;
};

// The chunks that wait for a thread.
class Jobs {
 public:
  void add(Job job) {
    const std::scoped_lock hold(mutex_);
    jobs_.push_back(job);
    changed_.notify_one();
  }
  void end() {
    const std::scoped_lock hold(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }
  std::optional<Job> take() {
    std::unique_lock hold(mutex_);
    changed_.wait(hold, [this] { return is_over_ || !jobs_.empty(); });
    if (jobs_.empty()) return std::nullopt;
    const auto job = jobs_.front();
    jobs_.pop_front();
    return job;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool is_over_ = false;
};

class Worker {
 public:
  codec::Status decode(const Job& job) {
    const auto& remote = *job.remote;
    FRAMEFS_TRY(const auto chunk,
                remote.frame->open_chunk(*remote.source, job.chunk, remote.entries[job.chunk.value],
                                         limits_));
    out_.resize(std::max<std::size_t>(out_.size(), chunk.nbytes()));
    const auto out = std::span(out_).first(chunk.nbytes());
    if (chunk.body() != codec::ChunkBody::blocks) {
      return codec::ChunkReader(*remote.source, chunk).read(0, out);
    }
    for (std::uint32_t i = 0; i < chunk.block_count(); ++i) {
      FRAMEFS_TRY(const auto stored, chunk.stored_range({i}));
      const auto range = chunk.block_range({i});
      const auto first = i > 0 && chunk.needs_first_block()
                             ? std::span<const std::byte>(out).first(chunk.block_range({0}).size)
                             : std::span<const std::byte>{};
      const std::span<const std::byte> bytes(remote.bytes);
      FRAMEFS_CHECK(decoder_.decode(chunk, {i}, bytes.subspan(stored.offset, stored.size),
                                    out.subspan(range.offset, range.size), first));
    }
    return {};
  }

 private:
  const codec::Limits limits_;
  codec::BlockDecoder decoder_;
  test::Bytes out_;
};

// Fetches all parts of all frames, in order, over a fixed number of connections.
class Fetcher {
 public:
  Fetcher(std::span<Remote> remotes, std::size_t connections, Jobs& jobs)
      : remotes_(remotes), connections_(connections), jobs_(jobs), multi_(curl_multi_init()) {
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(connections));
    std::uint64_t total = 0;
    for (const auto& remote : remotes) total += remote.bytes.size();
    for (auto& remote : remotes_) {
      remote.part_bytes =
          std::clamp(codec::div_ceil(total, connections), kMinPartBytes, kMaxPartBytes);
      remote.has_part.resize(codec::div_ceil(remote.bytes.size(), remote.part_bytes));
    }
  }
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;
  ~Fetcher() { curl_multi_cleanup(multi_); }

  bool run() {
    while (transfers_.size() < connections_ && begin_next(nullptr)) {
    }
    for (int active = 1; active > 0 && !has_failed_;) {
      curl_multi_perform(multi_, &active);
      int left = 0;
      while (const auto* const message = curl_multi_info_read(multi_, &left)) {
        if (message->msg == CURLMSG_DONE) active += end(message->easy_handle, message->data.result);
      }
      if (active > 0) curl_multi_poll(multi_, nullptr, 0, 1000, nullptr);
    }
    return !has_failed_;
  }

 private:
  struct Transfer {
    Remote* remote = nullptr;
    std::uint64_t part = 0;
    std::span<std::byte> left{};
  };

  static std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    const auto got = std::as_bytes(std::span(bytes, size * count));
    if (got.size() > transfer.left.size()) return 0;
    std::ranges::copy(got, transfer.left.begin());
    transfer.left = transfer.left.subspan(got.size());
    return got.size();
  }

  // Starts the next part, with the handle of an ended transfer if there is one.
  bool begin_next(CURL* easy) {
    while (at_ < remotes_.size() && part_ == remotes_[at_].has_part.size()) {
      ++at_;
      part_ = 0;
    }
    if (at_ == remotes_.size()) return false;
    auto& remote = remotes_[at_];
    Transfer* transfer = nullptr;
    if (easy == nullptr) {
      easy = curl_easy_init();
      transfer = transfers_.emplace_back(std::make_unique<Transfer>()).get();
      curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
      curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
      curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Fetcher::on_body);
      curl_easy_setopt(easy, CURLOPT_FAILONERROR, 1L);
      curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 512L << 10);
    } else {
      curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
    }
    const auto begin = part_ * remote.part_bytes;
    const auto size = std::min(remote.part_bytes, remote.bytes.size() - begin);
    *transfer = {&remote, part_++, std::span(remote.bytes).subspan(begin, size)};
    curl_easy_setopt(easy, CURLOPT_URL, remote.url.c_str());
    curl_easy_setopt(easy, CURLOPT_RANGE, fmt::format("{}-{}", begin, begin + size - 1).c_str());
    curl_multi_add_handle(multi_, easy);
    return true;
  }

  // Returns the number of transfers that it started.
  int end(CURL* easy, CURLcode code) {
    Transfer* transfer = nullptr;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
    curl_multi_remove_handle(multi_, easy);
    has_failed_ = has_failed_ || code != CURLE_OK || !transfer->left.empty();
    hand_over(*transfer->remote, transfer->part);
    if (begin_next(easy)) return 1;
    curl_easy_cleanup(easy);
    return 0;
  }

  // A part is here: hands the chunks over that are now whole.  Chunks lie in order in these frames.
  void hand_over(Remote& remote, std::uint64_t part) {
    remote.has_part[part] = true;
    while (remote.next_part < remote.has_part.size() && remote.has_part[remote.next_part]) {
      ++remote.next_part;
    }
    const auto here = std::min(remote.next_part * remote.part_bytes, remote.bytes.size());
    while (remote.next_chunk < remote.ends.size() && remote.ends[remote.next_chunk] <= here) {
      jobs_.add({&remote, {remote.next_chunk++}});
    }
  }

  const std::span<Remote> remotes_;
  const std::size_t connections_;
  Jobs& jobs_;
  CURLM* const multi_;
  std::vector<std::unique_ptr<Transfer>> transfers_;
  std::size_t at_ = 0;
  std::uint64_t part_ = 0;
  bool has_failed_ = false;
};

}  // namespace
}  // namespace framefs

int main(int argc, char** argv) {
  using namespace framefs;
  const std::vector<std::string> words(argv, argv + argc);
  const auto connections = argc > 4 ? std::strtoul(argv[1], nullptr, 10) : 0;
  const auto threads = argc > 4 ? std::strtoul(argv[2], nullptr, 10) : 0;
  if (connections == 0 || threads == 0 || connections > 1024 || threads > 1024) {
    std::cerr << "usage: framefs_fetch_rate CONNECTIONS THREADS URL FRAME...\n";
    return 2;
  }
  std::vector<Remote> remotes;
  std::uint64_t bytes = 0;
  std::uint64_t chunks = 0;
  for (const auto& path : std::span(words).subspan(4)) {
    auto remote = open_local(path);
    if (!remote) {
      std::cerr << "framefs_fetch_rate: " << path << " is no frame\n";
      return 1;
    }
    remote->url = words[3] + "/" + std::filesystem::path(path).filename().string();
    bytes += remote->frame->nbytes();
    chunks += remote->frame->chunk_count();
    remotes.push_back(std::move(*remote));
  }

  const bench::Stopwatch stopwatch;
  Jobs jobs;
  std::atomic<bool> is_decoded = true;
  bool is_fetched = false;
  {
    std::vector<std::jthread> workers;
    workers.reserve(threads);
    for (unsigned long i = 0; i < threads; ++i) {
      workers.emplace_back([&] {
        Worker worker;
        while (const auto job = jobs.take()) {
          if (!worker.decode(*job)) is_decoded = false;
        }
      });
    }
    is_fetched = Fetcher(remotes, connections, jobs).run();
    jobs.end();
  }
  if (!is_fetched || !is_decoded) {
    std::cerr << "framefs_fetch_rate: " << (is_fetched ? "wrong bytes" : "the server fails")
              << '\n';
    return 1;
  }
  stopwatch.print(bytes, chunks);
  return 0;
}
