#include "src/observe/stats_text.h"

#include <cstdint>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "src/cli/size_text.h"
#include "src/info/info_table.h"

namespace framefs {
namespace {

using Json = nlohmann::ordered_json;

void add_line(std::string& text, const char* key, const std::string& value) {
  text += fmt::format("  {:<12}{}\n", key, value);
}

std::string size_of(const Json& value) { return size_for_people(value.get<std::uint64_t>()); }

std::string time_text(double us) {
  if (us < 1000) return fmt::format("{:.0f} us", us);
  if (us < 1e6) return fmt::format("{:.1f} ms", us / 1000);
  return fmt::format("{:.1f} s", us / 1e6);
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

void add_requests(std::string& text, const Json& requests) {
  text += fmt::format("  {:<12}{:>12}  {:>10}  {:>10}\n", "requests", "count", "p50", "p99");
  for (const auto& [kind, latency] : requests.items()) {
    text += fmt::format("    {:<10}{:>12}  {:>10}  {:>10}\n", kind,
                        latency["count"].get<std::uint64_t>(),
                        "< " + time_text(latency["p50_us"].get<double>()),
                        "< " + time_text(latency["p99_us"].get<double>()));
  }
}

std::string error_list(const Json& errors) {
  std::string list;
  for (const auto& [name, count] : errors.items()) {
    if (count.get<std::uint64_t>() == 0) continue;
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", name, count.get<std::uint64_t>());
  }
  return list.empty() ? "none" : list;
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
  void add(const Json& value, const std::string& labels = {}) {
    text_ += fmt::format("framefs_{}{{mountpoint=\"{}\"{}}} {}\n", name_, mountpoint_, labels,
                         value.dump());
  }
  void add_one(const char* name, const char* type, const char* help, const Json& value) {
    begin(name, type, help);
    add(value);
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
  const auto& cache = stats["cache"];
  auto text = fmt::format("{} <- {}\n", printable(stats["mountpoint"].get<std::string>()),
                          printable(stats["source"].get<std::string>()));
  add_line(text, "daemon",
           fmt::format("pid {}, up {}, {}", stats["pid"].dump(),
                       duration_text(stats["uptime_s"].get<double>()),
                       stats["read_only"].get<bool>() ? "read-only" : "read-write"));
  add_requests(text, stats["requests"]);
  add_line(text, "data",
           fmt::format("{} read, {} written", size_of(stats["bytes_read"]),
                       size_of(stats["bytes_written"])));
  const auto hits = cache["hits"].get<std::uint64_t>();
  const auto all = hits + cache["misses"].get<std::uint64_t>();
  const double share = all == 0 ? 0 : 100.0 * static_cast<double>(hits) / static_cast<double>(all);
  add_line(text, "cache",
           fmt::format("{} of {} in use, {:.0f}% of {} look-ups hit, {} decoded",
                       size_of(cache["held_bytes"]), size_of(cache["budget_bytes"]), share, all,
                       size_of(cache["made_bytes"])));
  add_line(text, "errors", error_list(stats["errors"]));
  return text;
}

// Source: Prometheus text format, version 0.0.4.
std::string stats_metrics(const std::string& json) {
  const auto stats = Json::parse(json, nullptr, false);
  if (!stats.is_object()) return {};
  Metrics metrics(quoted(stats["mountpoint"].get<std::string>()));
  metrics.begin("requests_total", "counter", "Requests of the kernel, by kind.");
  for (const auto& [kind, latency] : stats["requests"].items()) {
    metrics.add(latency["count"], fmt::format(",kind=\"{}\"", kind));
  }
  metrics.begin("request_seconds", "gauge", "Upper bounds of request latencies.");
  for (const auto& [kind, latency] : stats["requests"].items()) {
    for (const auto& [key, quantile] : {std::pair("p50_us", "0.5"), std::pair("p99_us", "0.99")}) {
      metrics.add(latency[key].get<double>() / 1e6,
                  fmt::format(",kind=\"{}\",quantile=\"{}\"", kind, quantile));
    }
  }
  metrics.begin("errors_total", "counter", "Requests that failed, by errno.");
  for (const auto& [name, count] : stats["errors"].items()) {
    metrics.add(count, fmt::format(",errno=\"{}\"", name));
  }
  const auto& cache = stats["cache"];
  metrics.add_one("uptime_seconds", "gauge", "Time since the mount.", stats["uptime_s"]);
  metrics.add_one("read_bytes_total", "counter", "Bytes given to readers.", stats["bytes_read"]);
  metrics.add_one("written_bytes_total", "counter", "Bytes taken from writers.",
                  stats["bytes_written"]);
  metrics.add_one("cache_hits_total", "counter", "Look-ups that found a decoded value.",
                  cache["hits"]);
  metrics.add_one("cache_misses_total", "counter", "Look-ups that did not.", cache["misses"]);
  metrics.add_one("decoded_bytes_total", "counter", "Bytes decoded into the cache.",
                  cache["made_bytes"]);
  metrics.add_one("pushed_bytes_total", "counter", "Decoded bytes stored in the page cache.",
                  cache["pushed_bytes"]);
  metrics.add_one("cache_bytes", "gauge", "Bytes in the cache.", cache["held_bytes"]);
  return metrics.take();
}

}  // namespace framefs
