#include "fs/net/net_stats.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "fs/core/diagnostics/log.h"

namespace framefs::net {
namespace {

std::int64_t in_ms(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

}  // namespace

void NetStats::answered(RequestKind kind, int status, std::uint64_t bytes,
                        std::chrono::nanoseconds time) {
  const auto digit = static_cast<std::size_t>(std::clamp(status / 100, 0, 5));
  add(answers_[static_cast<std::size_t>(kind)][digit], 1);
  add(bytes_fetched_, bytes);
  const auto took = std::max(time, std::chrono::nanoseconds(0));
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(took).count();
  add(latency_sum_us_, static_cast<std::uint64_t>(us));
  const auto bucket =
      static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(in_ms(took))));
  add(latencies_[std::min(bucket, latencies_.size() - 1)], 1);
}

NetStats::Counts NetStats::counts() const {
  const auto value = [](const Counter& counter) { return counter.load(std::memory_order_relaxed); };
  Counts counts;
  for (std::size_t kind = 0; kind < kRequestKinds; ++kind) {
    std::ranges::transform(answers_[kind], counts.answers[kind].begin(), value);
  }
  std::ranges::transform(latencies_, counts.latencies.begin(), value);
  counts.latency_sum_us = value(latency_sum_us_);
  counts.bytes_fetched = value(bytes_fetched_);
  counts.bytes_served = value(bytes_served_);
  counts.retries = value(retries_);
  counts.hedges = value(hedges_);
  counts.memory_hits = value(memory_hits_);
  counts.disk_hits = value(disk_hits_);
  counts.misses = value(misses_);
  counts.prefetched_bytes = value(prefetched_bytes_);
  // The counters are not consistent with each other.
  const auto read = value(prefetched_read_bytes_);
  counts.unused_bytes = counts.prefetched_bytes - std::min(counts.prefetched_bytes, read);
  counts.repeated_listings = value(repeated_listings_);
  counts.hidden_entries = value(hidden_entries_);
  return counts;
}

std::string to_json(const NetStats::Counts& counts) {
  constexpr std::array<std::string_view, kRequestKinds> kKinds = {"get", "head", "list"};
  std::string text = "{";
  for (std::size_t kind = 0; kind < kRequestKinds; ++kind) {
    const auto& answers = counts.answers[kind];
    text += fmt::format("\"{}_none\":{},", kKinds[kind], answers[0]);
    for (std::size_t digit = 1; digit < answers.size(); ++digit) {
      text += fmt::format("\"{}_{}xx\":{},", kKinds[kind], digit, answers[digit]);
    }
  }
  text += fmt::format(
      "\"bytes_fetched\":{},\"bytes_served\":{},\"prefetched_bytes\":{},\"retries\":{},"
      "\"hedges\":{},\"memory_hits\":{},\"disk_hits\":{},\"misses\":{},\"latency_ms\":[{}],"
      "\"latency_sum_us\":{},",
      counts.bytes_fetched, counts.bytes_served, counts.prefetched_bytes, counts.retries,
      counts.hedges, counts.memory_hits, counts.disk_hits, counts.misses,
      fmt::join(counts.latencies, ","), counts.latency_sum_us);
  text += fmt::format(
      "\"unused_bytes\":{},\"repeated_listings\":{},\"hidden_entries\":{},\"in_flight\":{},"
      "\"waiting\":{},\"limit\":{},"
      "\"oldest_ms\":{},\"since_answer_ms\":{},\"last_error\":{}}}",
      counts.unused_bytes, counts.repeated_listings, counts.hidden_entries, counts.in_flight,
      counts.waiting, counts.limit, in_ms(counts.oldest),
      counts.since_answer ? std::to_string(in_ms(*counts.since_answer)) : "null",
      nlohmann::json(fs::printable(counts.last_error)).dump());
  return text;
}

}  // namespace framefs::net
