#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "codec/core/result.h"
#include "fs/core/threads/guarded.h"
#include "fs/core/threads/task_threads.h"

namespace framefs {

// Reads files in several threads, for the effect of reading alone.  Few files wait at a time, so
// that their number costs no memory.
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

  // Waits while too many files wait.  Calls tick() with the bytes read so far, now and then.
  void add(File file, const std::function<void(std::uint64_t)>& tick);
  // Waits until all files have been read.
  void finish(const std::function<void(std::uint64_t)>& tick);
  // Reports a file that could not be added.
  void fail(const std::string& path, const codec::Error& error);
  [[nodiscard]] bool has_failed() const;

 private:
  void read(const File& file);
  void wait_for(std::size_t most_pending, const std::function<void(std::uint64_t)>& tick);

  const Fail report_;
  std::atomic<std::uint64_t> bytes_{0};
  fs::Guarded<std::size_t> pending_;  // files that wait, or are being read
  fs::Guarded<bool> has_failed_{std::in_place, false};
  fs::TaskThreads threads_;
};

}  // namespace framefs
