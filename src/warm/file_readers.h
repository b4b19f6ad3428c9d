#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "codec/core/result.h"
#include "fs/core/guarded.h"

namespace framefs {

// Reads files in several threads, for the effect of reading alone.  The files wait in a short
// queue, so that their number costs no memory.
// Threads: one, but for the functions that it is given.
class FileReaders {
 public:
  // A file, by the name that messages give it.
  struct File {
    std::string path;
    // Reads all of the file, and adds the bytes of each piece to `bytes`.
    std::function<codec::Status(std::atomic<std::uint64_t>& bytes)> read;
  };
  using Fail = std::function<void(const std::string& path, const codec::Error& error)>;

  // `fail` is called by one thread at a time.
  explicit FileReaders(Fail fail);
  FileReaders(const FileReaders&) = delete;
  FileReaders& operator=(const FileReaders&) = delete;
  // Waits for the files.
  ~FileReaders();

  // Waits while the queue is full.  Calls tick() with the bytes read so far, now and then.
  void add(File file, const std::function<void(std::uint64_t)>& tick);
  // Waits until all files have been read.
  void finish(const std::function<void(std::uint64_t)>& tick);
  // Reports a file that could not be added.
  void fail(const std::string& path, const codec::Error& error);
  [[nodiscard]] bool has_failed() const;

 private:
  struct State {
    std::deque<File> waiting;
    std::size_t running = 0;
    bool is_closed = false;
  };
  template <class Ready>
  void wait_for(const Ready& ready, const std::function<void(std::uint64_t)>& tick);
  void serve();

  const Fail report_;
  std::atomic<std::uint64_t> bytes_{0};
  fs::Guarded<State> state_;
  fs::Guarded<bool> has_failed_{std::in_place, false};
  std::vector<std::jthread> threads_;
};

}  // namespace framefs
