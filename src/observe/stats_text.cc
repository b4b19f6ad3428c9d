#include "src/observe/stats_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "src/cli/printable.h"
#include "src/cli/size_text.h"
#include "src/observe/given_values.h"

namespace framefs {
namespace {

using given::Json;
using given::number;
using given::real;
using given::value_at;
using given::word;

void add_line(std::string& text, const char* key, const std::string& value) {
  text += fmt::format("  {:<12}{}\n", key, value);
}

// The numbers of the classes of a histogram, of which there are at most 64.
std::vector<std::uint64_t> classes(const Json& value) {
  constexpr std::size_t kMaxClasses = 64;
  std::vector<std::uint64_t> counts;
  for (const auto& count : value) {
    if (counts.size() < kMaxClasses) counts.push_back(number(count));
  }
  return counts;
}

std::string size_of(const Json& value) { return size_for_people(number(value)); }

// A limit as the user has probably given it: "256M", not "268.4 MB".
std::string limit_of(const Json& value) {
  auto size = number(value);
  constexpr std::uint64_t kStep = 1024;
  constexpr std::string_view kUnits = "KMGT";
  std::size_t unit = 0;
  for (; size > 0 && size % kStep == 0 && unit < kUnits.size(); ++unit) size /= kStep;
  return unit == 0 ? size_of(value) : fmt::format("{}{}", size, kUnits[unit - 1]);
}

// Whether all numbers of a section are 0: the mount has not used what they count.
bool is_unused(const Json& section, std::initializer_list<const char*> places) {
  return std::ranges::all_of(
      places, [&](const char* place) { return number(value_at(section, place)) == 0; });
}

std::string share_of(std::uint64_t part, std::uint64_t all) {
  const double share = all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
  return fmt::format("{:.0f}%", 100 * share);
}

std::string time_text(double us) {
  if (us < 1000) return fmt::format("{:.0f} us", us);
  if (us < 1e6) return fmt::format("{:.1f} ms", us / 1000);
  return fmt::format("{:.1f} s", us / 1e6);
}

std::string duration_text(double seconds) {
  constexpr double kMax = 1e15;
  const auto whole = static_cast<std::uint64_t>(std::clamp(seconds, 0.0, kMax));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

void add_requests(std::string& text, const Json& requests) {
  text += fmt::format("  {:<12}{:>12}  {:>10}  {:>10}\n", "requests", "count", "p50", "p99");
  for (const auto& [kind, latency] : requests.items()) {
    if (number(value_at(latency, "/count")) == 0) continue;
    text += fmt::format("    {:<10}{:>12}  {:>10}  {:>10}\n", printable(kind),
                        number(value_at(latency, "/count")),
                        "< " + time_text(real(value_at(latency, "/p50_us"))),
                        "< " + time_text(real(value_at(latency, "/p99_us"))));
  }
}

std::string error_list(const Json& errors) {
  std::string list;
  for (const auto& [name, count] : errors.items()) {
    if (number(count) == 0) continue;
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", printable(name), number(count));
  }
  return list.empty() ? "none" : list;
}

void add_cache(std::string& text, const Json& cache) {
  const auto hits = number(value_at(cache, "/hits"));
  const auto all = hits + number(value_at(cache, "/misses"));
  add_line(text, "cache",
           fmt::format("{} of {} in use, {} of {} look-ups hit, {} decoded",
                       size_of(value_at(cache, "/held_bytes")),
                       limit_of(value_at(cache, "/budget_bytes")), share_of(hits, all), all,
                       size_of(value_at(cache, "/made_bytes"))));
}

void add_read_ahead(std::string& text, const Json& ahead) {
  if (is_unused(ahead, {"/decoded_bytes", "/used_bytes", "/wasted_bytes"})) return;
  add_line(text, "read-ahead",
           fmt::format("{} decoded, {} used, {} wasted", size_of(value_at(ahead, "/decoded_bytes")),
                       size_of(value_at(ahead, "/used_bytes")),
                       size_of(value_at(ahead, "/wasted_bytes"))));
}

void add_writes(std::string& text, const Json& writes) {
  add_line(text, "dirty",
           fmt::format("{} of {} in use", size_of(value_at(writes, "/dirty_bytes")),
                       limit_of(value_at(writes, "/budget_bytes"))));
  if (is_unused(writes, {"/commits", "/failed_commits", "/stored_bytes", "/compactions"})) return;
  add_line(
      text, "commits",
      fmt::format("{}, {} failed, {} stored in chunks, {} compactions",
                  number(value_at(writes, "/commits")), number(value_at(writes, "/failed_commits")),
                  size_of(value_at(writes, "/stored_bytes")),
                  number(value_at(writes, "/compactions"))));
}

// The answers of servers by the class of their status, as in "2xx": the counters of all kinds of
// requests, whose keys are as in "get_2xx".
std::map<std::string, std::uint64_t> answers_by_class(const Json& network) {
  std::map<std::string, std::uint64_t> answers;
  for (const auto& [key, count] : network.items()) {
    const auto place = key.find('_');
    const auto status = key.substr(place + 1);
    if (status.ends_with("xx") || status == "none") answers[status] += number(count);
  }
  return answers;
}

// Returns an upper bound for this share of the latencies, in seconds.
double network_quantile(const Json& network, double share) {
  constexpr double kMillisecond = 0.001;
  const auto counts = classes(value_at(network, "/latency_ms"));
  const auto all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  std::uint64_t seen = 0;
  double bound = kMillisecond;
  for (const auto count : counts) {
    seen += count;
    if (all > 0 && static_cast<double>(seen) >= static_cast<double>(all) * share) return bound;
    bound *= 2;
  }
  return 0;
}

void add_network(std::string& text, const Json& network) {
  std::string answers;
  for (const auto& [status, count] : answers_by_class(network)) {
    if (count == 0) continue;
    answers += fmt::format("{}{} {}", answers.empty() ? "" : ", ",
                           status == "none" ? "no answer" : printable(status), count);
  }
  const auto from_memory = number(value_at(network, "/memory_hits"));
  const auto from_disk = number(value_at(network, "/disk_hits"));
  const auto all = from_memory + from_disk + number(value_at(network, "/misses"));
  add_line(text, "network",
           fmt::format("{}; {} retries, {} hedges; p50 < {}, p99 < {}",
                       answers.empty() ? "no requests" : answers,
                       number(value_at(network, "/retries")), number(value_at(network, "/hedges")),
                       time_text(network_quantile(network, 0.5) * 1e6),
                       time_text(network_quantile(network, 0.99) * 1e6)));
  add_line(text, "",
           fmt::format("{} fetched, {} of it ahead; {} served, {} of {} ranges from memory, {} "
                       "from disk",
                       size_of(value_at(network, "/bytes_fetched")),
                       size_of(value_at(network, "/prefetched_bytes")),
                       size_of(value_at(network, "/bytes_served")), share_of(from_memory, all), all,
                       share_of(from_disk, all)));
}

// Escapes a text for the value of a label.
std::string quoted(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

// Builds the text of all metrics.
class Metrics {
 public:
  explicit Metrics(std::string mountpoint) : mountpoint_(std::move(mountpoint)) {}

  void begin(const char* name, const char* type, const char* help) {
    name_ = name;
    text_ += fmt::format("# HELP framefs_{0} {2}\n# TYPE framefs_{0} {1}\n", name, type, help);
  }
  void add(const Json& value, const std::string& labels = {}, const char* part = "") {
    if (!value.is_number()) return;
    text_ += fmt::format("framefs_{}{}{{mountpoint=\"{}\"{}}} {}\n", name_, part, mountpoint_,
                         labels, value.dump());
  }
  void add_one(const char* name, const char* type, const char* help, const Json& value) {
    begin(name, type, help);
    add(value);
  }

  void add_requests(const Json& stats) {
    begin("requests_total", "counter", "Requests of the kernel, by kind.");
    for (const auto& [kind, latency] : value_at(stats, "/requests").items()) {
      add(value_at(latency, "/count"), fmt::format(",kind=\"{}\"", quoted(kind)));
    }
    begin("request_seconds", "histogram", "Latencies of requests.");
    for (const auto& [kind, latency] : value_at(stats, "/requests").items()) {
      if (latency.contains("classes")) add_histogram(kind, latency);
    }
    begin("errors_total", "counter", "Requests that failed, by errno.");
    for (const auto& [name, count] : value_at(stats, "/errors").items()) {
      add(count, fmt::format(",errno=\"{}\"", quoted(name)));
    }
    add_one("uptime_seconds", "gauge", "Time since the mount.", value_at(stats, "/uptime_s"));
    add_one("read_bytes_total", "counter", "Bytes given to readers.",
            value_at(stats, "/bytes_read"));
    add_one("written_bytes_total", "counter", "Bytes taken from writers.",
            value_at(stats, "/bytes_written"));
  }

  // Every fourth class makes a bucket, from 1 us to 4.5 hours.
  void add_histogram(const std::string& kind, const Json& latency) {
    constexpr std::size_t kFirst = 10;
    constexpr std::size_t kStep = 4;
    const auto counts = classes(value_at(latency, "/classes"));
    const auto up_to = [&](std::size_t end) {
      const auto last = counts.begin() + static_cast<std::ptrdiff_t>(std::min(end, counts.size()));
      return std::accumulate(counts.begin(), last, std::uint64_t{0});
    };
    const auto all = up_to(counts.size());
    const auto bucket = [&](const std::string& bound, std::uint64_t count) {
      add(count, fmt::format(",kind=\"{}\",le=\"{}\"", quoted(kind), bound), "_bucket");
    };
    // A class holds the durations of less than 2^i ns.
    for (auto i = kFirst; i < 44; i += kStep) {
      bucket(fmt::format("{}", static_cast<double>(std::uint64_t{1} << i) / 1e9), up_to(i + 1));
    }
    bucket("+Inf", all);
    const auto label = fmt::format(",kind=\"{}\"", quoted(kind));
    add(real(value_at(latency, "/sum_us")) / 1e6, label, "_sum");
    add(all, label, "_count");
  }

  void add_cache(const Json& cache) {
    add_one("cache_hits_total", "counter", "Look-ups that found a decoded value.",
            value_at(cache, "/hits"));
    add_one("cache_misses_total", "counter", "Look-ups that did not.", value_at(cache, "/misses"));
    add_one("decoded_bytes_total", "counter", "Bytes decoded into the cache.",
            value_at(cache, "/made_bytes"));
    add_one("pushed_bytes_total", "counter", "Decoded bytes stored in the page cache.",
            value_at(cache, "/pushed_bytes"));
    add_one("cache_bytes", "gauge", "Bytes in the cache.", value_at(cache, "/held_bytes"));
  }

  // Class i holds the latencies of less than 2^i ms; the last class holds all others.
  void add_network_histogram(const Json& network) {
    constexpr double kMs = 0.001;
    const auto counts = classes(value_at(network, "/latency_ms"));
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      all += counts[i];
      if (i + 1 == counts.size()) break;
      const auto bound = static_cast<double>(std::uint64_t{1} << i) * kMs;
      add(all, fmt::format(",le=\"{}\"", bound), "_bucket");
    }
    add(all, ",le=\"+Inf\"", "_bucket");
    add(real(value_at(network, "/latency_sum_us")) / 1e6, {}, "_sum");
    add(all, {}, "_count");
  }

  void add_read_ahead(const Json& ahead) {
    add_one("read_ahead_bytes_total", "counter", "Bytes decoded ahead of readers.",
            value_at(ahead, "/decoded_bytes"));
    add_one("read_ahead_used_bytes_total", "counter", "Those that their reader has requested.",
            value_at(ahead, "/used_bytes"));
    add_one("read_ahead_wasted_bytes_total", "counter", "Those that no reader will request.",
            value_at(ahead, "/wasted_bytes"));
  }

  void add_writes(const Json& writes) {
    add_one("dirty_bytes", "gauge", "Memory for written bytes.", value_at(writes, "/dirty_bytes"));
    add_one("stored_bytes_total", "counter", "Encoded bytes of stored chunks.",
            value_at(writes, "/stored_bytes"));
    add_one("commits_total", "counter", "Commits, each of one frame.",
            value_at(writes, "/commits"));
    add_one("failed_commits_total", "counter", "Commits that failed.",
            value_at(writes, "/failed_commits"));
    add_one("compactions_total", "counter", "Compactions that have ended.",
            value_at(writes, "/compactions"));
  }

  void add_network(const Json& network) {
    begin("network_answers_total", "counter", "Answers of servers, by the class of their status.");
    for (const auto& [status, count] : answers_by_class(network)) {
      add(count, fmt::format(",status=\"{}\"", quoted(status)));
    }
    begin("network_seconds", "histogram", "Latencies of servers.");
    add_network_histogram(network);
    add_one("network_retries_total", "counter", "Requests that were sent again.",
            value_at(network, "/retries"));
    add_one("network_hedges_total", "counter", "Requests that were sent beside a slow one.",
            value_at(network, "/hedges"));
    add_one("fetched_bytes_total", "counter", "Bytes fetched from servers.",
            value_at(network, "/bytes_fetched"));
    add_one("prefetched_bytes_total", "counter", "Those that were fetched ahead of readers.",
            value_at(network, "/prefetched_bytes"));
    add_one("memory_hits_total", "counter", "Ranges found in memory.",
            value_at(network, "/memory_hits"));
    add_one("disk_hits_total", "counter", "Ranges found in the disk cache.",
            value_at(network, "/disk_hits"));
    add_one("network_misses_total", "counter", "Ranges that had to be fetched.",
            value_at(network, "/misses"));
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  const std::string mountpoint_;
  const char* name_ = "";
  std::string text_;
};

}  // namespace

std::string stats_table(const std::string& json) {
  const auto stats = Json::parse(json, nullptr, false);
  if (!stats.is_object()) return {};
  auto text = fmt::format("{} <- {}\n", printable(word(value_at(stats, "/mountpoint"))),
                          printable(word(value_at(stats, "/source"))));
  add_line(text, "daemon",
           fmt::format("pid {}, up {}, {}", number(value_at(stats, "/pid")),
                       duration_text(real(value_at(stats, "/uptime_s"))),
                       value_at(stats, "/read_only") == true ? "read-only" : "read-write"));
  add_requests(text, value_at(stats, "/requests"));
  add_line(text, "data",
           fmt::format("{} read, {} written", size_of(value_at(stats, "/bytes_read")),
                       size_of(value_at(stats, "/bytes_written"))));
  add_cache(text, value_at(stats, "/cache"));
  if (stats.contains("read_ahead")) add_read_ahead(text, value_at(stats, "/read_ahead"));
  if (stats.contains("writes")) add_writes(text, value_at(stats, "/writes"));
  if (stats.contains("network")) add_network(text, value_at(stats, "/network"));
  add_line(text, "errors", error_list(value_at(stats, "/errors")));
  return text;
}

// Source: Prometheus text format, version 0.0.4.
std::string stats_metrics(const std::string& json) {
  const auto stats = Json::parse(json, nullptr, false);
  if (!stats.is_object()) return {};
  Metrics metrics(quoted(word(value_at(stats, "/mountpoint"))));
  metrics.add_requests(stats);
  metrics.add_cache(value_at(stats, "/cache"));
  if (stats.contains("read_ahead")) metrics.add_read_ahead(value_at(stats, "/read_ahead"));
  if (stats.contains("writes")) metrics.add_writes(value_at(stats, "/writes"));
  if (stats.contains("network")) metrics.add_network(value_at(stats, "/network"));
  return metrics.take();
}

}  // namespace framefs
