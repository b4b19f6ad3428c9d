#include "src/cli/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/core.h>

#include "src/cli/printable.h"
#include "src/cli/size_text.h"

namespace framefs {
namespace {

constexpr std::string_view kBackToEmptyLine = "\r\033[K";

void put(std::string_view text) {
  // Progress that cannot be shown is no failure.
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
  static_cast<void>(std::fflush(stderr));
}

}  // namespace

ProgressBar::ProgressBar(std::string_view what, std::optional<std::uint64_t> total, bool quiet)
    : what_(printable(what)), total_(total), is_shown_(!quiet && ::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (is_shown_ && drawn_ != begin_) put(kBackToEmptyLine);
}

void ProgressBar::update(std::uint64_t done) {
  constexpr std::chrono::milliseconds kBetween{100};
  constexpr std::size_t kCells = 30;
  const auto now = Clock::now();
  if (!is_shown_ || now - drawn_ < kBetween) return;
  drawn_ = now;
  const std::chrono::duration<double> elapsed = now - begin_;
  const auto rate = static_cast<std::uint64_t>(static_cast<double>(done) / elapsed.count());
  std::string line = fmt::format("{}{}", kBackToEmptyLine, what_);
  if (total_ && *total_ > 0) {
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(*total_));
    const auto filled = static_cast<std::size_t>(share * kCells);
    line += fmt::format(" [{}{}] {:3.0f}%", std::string(filled, '#'),
                        std::string(kCells - filled, '.'), 100 * share);
  } else {
    line += ' ' + size_for_people(done);
  }
  put(line + fmt::format(" {}/s", size_for_people(rate)));
}

}  // namespace framefs
