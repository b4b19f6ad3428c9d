#include "src/warm/file_readers.h"

#include <chrono>
#include <utility>

namespace framefs {
namespace {

// As many files as are read at a time.  Each has requests under way for what comes next.
constexpr std::size_t kReaders = 8;
constexpr std::size_t kMaxPending = 64;
constexpr std::chrono::milliseconds kBetweenTicks{100};

}  // namespace

FileReaders::FileReaders(Fail fail) : report_(std::move(fail)), threads_(kReaders) {}

void FileReaders::wait_for(std::size_t most_pending,
                           const std::function<void(std::uint64_t)>& tick) {
  const auto are_few = [&](std::size_t pending) { return pending <= most_pending; };
  for (bool is_ready = false; !is_ready;) {
    is_ready =
        pending_.wait_until(std::chrono::steady_clock::now() + kBetweenTicks, are_few, are_few);
    tick(bytes_.load(std::memory_order_relaxed));
  }
}

void FileReaders::add(File file, const std::function<void(std::uint64_t)>& tick) {
  wait_for(kMaxPending, tick);
  pending_.with([](std::size_t& pending) { ++pending; });
  // Without a thread, this one reads.
  if (!threads_.add([this, file] { read(file); })) read(file);
}

void FileReaders::finish(const std::function<void(std::uint64_t)>& tick) { wait_for(0, tick); }

void FileReaders::read(const File& file) {
  if (const auto done = file.read(bytes_); !done) fail(file.path, done.error());
  pending_.with_and_wake([](std::size_t& pending) { --pending; });
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

}  // namespace framefs
