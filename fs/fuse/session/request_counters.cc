#include "fs/fuse/session/request_counters.h"

#include <unistd.h>

#include <cerrno>

#include <nlohmann/json.hpp>

#include "fs/net/store/source_url.h"

namespace framefs::fuse {
namespace {

using Json = nlohmann::ordered_json;

std::size_t kind_of(std::string_view operation) noexcept {
  std::size_t kind = 0;
  while (kind + 1 < RequestCounters::kKinds.size() && RequestCounters::kKinds[kind] != operation) {
    ++kind;
  }
  return kind;
}

// Whether the errno is an answer, not a failure: programs ask every file for attributes such as
// security.selinux.
bool is_answer(std::string_view operation, int error) {
  return error == EOPNOTSUPP && operation.ends_with("xattr");
}

Json latency_json(const fs::LatencyHistogram& latency) {
  constexpr double kMicrosecond = 1000;
  const auto in_us = [](std::uint64_t ns) { return static_cast<double>(ns) / kMicrosecond; };
  auto classes = Json::array();
  for (std::size_t i = 0; i < fs::LatencyHistogram::kClasses; ++i) {
    classes.push_back(latency.in_class(i));
  }
  while (!classes.empty() && classes.back() == 0) classes.erase(classes.size() - 1);
  return {{"count", latency.count()},
          {"sum_us", in_us(latency.sum_ns())},
          {"p50_us", in_us(latency.quantile_ns(0.5))},
          {"p99_us", in_us(latency.quantile_ns(0.99))},
          {"classes", std::move(classes)}};
}

}  // namespace

const std::array<RequestCounters::NamedError, 8> RequestCounters::kErrors = {
    {{EIO, "EIO"},
     {EOPNOTSUPP, "EOPNOTSUPP"},
     {EFBIG, "EFBIG"},
     {ENOSPC, "ENOSPC"},
     {EROFS, "EROFS"},
     {EPERM, "EPERM"},
     {ENOENT, "ENOENT"},
     {ENODATA, "ENODATA"}}};

void RequestCounters::note(const char* operation, std::chrono::nanoseconds took,
                           int error) noexcept {
  latencies_[kind_of(operation)].note(took);
  if (error == 0 || is_answer(operation, error)) return;
  std::size_t i = 0;
  while (i < kErrors.size() && kErrors[i].error != error) ++i;
  errors_[i].add();
}

std::uint64_t RequestCounters::requests() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& latency : latencies_) sum += latency.count();
  return sum;
}

std::string stats_json(const RequestCounters& requests, const fs::Activity& activity,
                       const fs::MountOptions& options, const std::string& network) {
  const std::chrono::duration<double> uptime = std::chrono::steady_clock::now() - requests.begin_;
  Json kinds;
  for (std::size_t i = 0; i < RequestCounters::kKinds.size(); ++i) {
    kinds[std::string(RequestCounters::kKinds[i])] = latency_json(requests.latencies_[i]);
  }
  Json errors;
  for (std::size_t i = 0; i < RequestCounters::kErrors.size(); ++i) {
    errors[RequestCounters::kErrors[i].name] = requests.errors_[i].value();
  }
  errors["other"] = requests.errors_.back().value();
  Json out{{"pid", ::getpid()},
           {"source", net::shown_source(options.source.string())},
           {"mountpoint", options.mountpoint.string()},
           {"read_only", activity.is_read_only},
           {"uptime_s", uptime.count()},
           {"options", options.given},
           {"requests", kinds},
           {"errors", errors},
           {"bytes_read", requests.read_bytes_.value()},
           {"bytes_written", requests.written_bytes_.value()},
           {"cache",
            {{"hits", activity.cache.hits},
             {"misses", activity.cache.misses},
             {"made_bytes", activity.cache.made_bytes},
             {"held_bytes", activity.cache_held_bytes},
             {"pushed_bytes", activity.pushed_bytes},
             {"budget_bytes", options.cache_bytes}}},
           {"read_ahead",
            {{"decoded_bytes", activity.ahead.decoded_bytes},
             {"used_bytes", activity.ahead.used_bytes},
             {"wasted_bytes", activity.ahead.wasted_bytes}}}};
  if (!activity.is_read_only) {
    out["writes"] = {{"dirty_bytes", activity.writes.dirty_bytes},
                     {"budget_bytes", options.write.overlay_bytes},
                     {"stored_bytes", activity.writes.stored_bytes},
                     {"commits", activity.writes.commits},
                     {"failed_commits", activity.writes.failed_commits},
                     {"compactions", activity.writes.compactions}};
  }
  if (!network.empty()) out["network"] = Json::parse(network);
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace framefs::fuse
