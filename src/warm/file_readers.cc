#include "src/warm/file_readers.h"

#include <chrono>
#include <optional>
#include <utility>

namespace framefs {
namespace {

// As many files as are read at a time.  Each has requests under way for what comes next.
constexpr std::size_t kReaders = 8;
constexpr std::size_t kMaxWaiting = 64;
constexpr std::chrono::milliseconds kBetweenTicks{100};

}  // namespace

FileReaders::FileReaders(Fail fail) : report_(std::move(fail)) {
  threads_.reserve(kReaders);
  while (threads_.size() < kReaders) threads_.emplace_back([this] { serve(); });
}

FileReaders::~FileReaders() {
  state_.with_and_wake([](State& state) { state.is_closed = true; });
}

template <class Ready>
void FileReaders::wait_for(const Ready& ready, const std::function<void(std::uint64_t)>& tick) {
  for (bool is_ready = false; !is_ready;) {
    const auto end = std::chrono::steady_clock::now() + kBetweenTicks;
    is_ready = state_.wait_until(end, ready, [&](const State& state) { return ready(state); });
    tick(bytes_.load(std::memory_order_relaxed));
  }
}

void FileReaders::add(File file, const std::function<void(std::uint64_t)>& tick) {
  wait_for([](const State& state) { return state.waiting.size() < kMaxWaiting; }, tick);
  state_.with_and_wake([&](State& state) { state.waiting.push_back(std::move(file)); });
}

void FileReaders::finish(const std::function<void(std::uint64_t)>& tick) {
  wait_for([](const State& state) { return state.waiting.empty() && state.running == 0; }, tick);
}

void FileReaders::fail(const std::string& path, const codec::Error& error) {
  has_failed_.with([&](bool& has_failed) {
    has_failed = true;
    report_(path, error);
  });
}

bool FileReaders::has_failed() const {
  return has_failed_.with([](bool has_failed) { return has_failed; });
}

void FileReaders::serve() {
  while (true) {
    auto file =
        state_.wait([](const State& state) { return !state.waiting.empty() || state.is_closed; },
                    [](State& state) -> std::optional<File> {
                      if (state.waiting.empty()) return std::nullopt;
                      auto next = std::move(state.waiting.front());
                      state.waiting.pop_front();
                      ++state.running;
                      return next;
                    });
    if (!file) return;
    const auto done = file->read(bytes_);
    if (!done) fail(file->path, done.error());
    file.reset();  // closes what it holds before anyone is told that it has ended
    state_.with_and_wake([](State& state) { --state.running; });
  }
}

}  // namespace framefs
