#include "fs/core/diagnostics/log.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <new>
#include <optional>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <spdlog/logger.h>

#include "codec/core/work_budget.h"
#include "fs/core/diagnostics/error_map.h"

namespace framefs::fs {
namespace {

unsigned char byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

// The length of the printable UTF-8 character at the start of `text`; 0 if there is none.
// Source: RFC 3629, section 4; the control characters U+0080 to U+009F are not printable.
std::size_t printable_length(std::string_view text) {
  const auto first = byte_at(text, 0);
  if (first < 0x20 || first == 0x7f) return 0;
  if (first < 0x80) return 1;
  struct Form {
    unsigned char from, to;  // the range of the first byte
    unsigned char second_from, second_to;
    std::size_t length;
  };
  constexpr Form kForms[] = {
      {0xc2, 0xc2, 0xa0, 0xbf, 2}, {0xc3, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
      {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
      {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
  const auto* const form =
      std::ranges::find_if(kForms, [&](const Form& f) { return f.from <= first && first <= f.to; });
  if (form == std::end(kForms) || text.size() < form->length) return 0;
  const auto second = byte_at(text, 1);
  if (second < form->second_from || second > form->second_to) return 0;
  for (std::size_t i = 2; i < form->length; ++i) {
    if ((byte_at(text, i) & 0xc0u) != 0x80u) return 0;
  }
  return form->length;
}

// The holder of this thread's failures.
constinit thread_local HeldFailures* holding = nullptr;

}  // namespace

LogLimits daemon_log_limits() {
  return {.lines_per_file = 50,
          .burst_lines = 1000,
          .per_line = std::chrono::seconds(1),
          .keeps_lines = true};
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto length = printable_length(text);
    if (length == 0) {
      out += fmt::format("\\x{:02x}", byte_at(text, 0));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

void Log::info(std::string_view text) { write(Level::info, text); }

void Log::warn(std::string_view text) { write(Level::warning, text); }

void Log::failure(const std::string& file, std::string_view part, const codec::Error& error) {
  if (codec::is_interrupt(error)) return;  // the caller cancelled: not a failure
  if (holding != nullptr) {
    holding->failures_.push_back({this, file, std::string(part), error});
    return;
  }
  const auto line =
      fmt::format("{}{}{}: {}", file, part.empty() ? "" : ": ", part, describe(error));
  enum class Fate : unsigned char { known, written, last, left_out };
  const auto fate = seen_.with([&](Seen& seen) {
    if (seen.lines.size() >= kMaxPlaces) seen = {};
    if (!seen.lines.insert(std::hash<std::string>{}(line)).second) return Fate::known;
    const auto count = ++seen.lines_of_file[std::hash<std::string>{}(file)];
    if (count <= limits_.lines_per_file) return Fate::written;
    return count == limits_.lines_per_file + 1 ? Fate::last : Fate::left_out;
  });
  const bool is_bug = error.kind == codec::Errc::internal;
  if (fate == Fate::written) {
    write(is_bug ? Level::bug : Level::error, line);
  } else if (fate == Fate::last) {
    write(Level::error, file + ": more failures; they are not logged");
  }
}

HeldFailures::HeldFailures() : outer_(std::exchange(holding, this)) {}

HeldFailures::~HeldFailures() {
  holding = outer_;
  try {
    for (const auto& [log, file, part, error] : failures_) log->failure(file, part, error);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): nothing can be done
    // A line is missing from the log; the reader gets the error nevertheless.
  }
}

void Log::write(Level level, std::string_view text) {
  const auto left_out = rate_.with([&](Rate& rate) -> std::optional<std::uint64_t> {
    if (limits_.per_line.count() > 0) {
      const auto now = limits_.now();
      if (rate.refilled == decltype(now){}) rate.refilled = now;
      const auto lines = static_cast<std::uint64_t>((now - rate.refilled) / limits_.per_line);
      rate.spent -= std::min(rate.spent, lines);
      rate.refilled += lines * limits_.per_line;
    }
    if (rate.spent >= limits_.burst_lines) {
      ++rate.left_out;
      return std::nullopt;
    }
    ++rate.spent;
    return std::exchange(rate.left_out, 0);
  });
  if (!left_out) return;
  if (*left_out > 0) write_now(Level::warning, fmt::format("{} lines were left out", *left_out));
  write_now(level, printable(text));
}

void Log::write_now(Level level, const std::string& text) {
  switch (level) {
    case Level::info:
      keep("info", text);
      return sink_->info("{}", text);
    case Level::warning:
      keep("warning", text);
      return sink_->warn("{}", text);
    case Level::error:
      keep("error", text);
      return sink_->error("{}", text);
    case Level::bug:
      keep("critical", "BUG: " + text);
      return sink_->critical("BUG: {}", text);
  }
}

void Log::keep(const char* level, const std::string& text) {
  if (!limits_.keeps_lines) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  constexpr int kSecondMs = 1000;
  const auto time = fmt::localtime(static_cast<std::time_t>(ms / kSecondMs));
  auto line = fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03} {}: {}", time, ms % kSecondMs, level, text);
  recent_.with([&](RecentLines& lines) { lines.add(std::move(line)); });
}

}  // namespace framefs::fs
