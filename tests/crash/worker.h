#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fs/core/files/file.h"
#include "tests/crash/mark_log.h"
#include "tests/crash/program_beside.h"
#include "tests/model/operation.h"
#include "tests/support/bytes.h"
#include "tests/support/random_seed.h"

namespace framefs::test {

// The options of framefs_crash_workload.
struct WorkOptions {
  std::vector<std::string> folders;  // mounts of one SOURCE
  std::string log;
  std::optional<std::string> beside;  // a program
  std::uint64_t operations = 2000;
  std::uint64_t threads = 2;
  std::uint64_t files = 4;
  std::uint64_t size = 300000;
  std::uint64_t write = 60000;
  std::uint64_t syncs = 8;
  std::uint64_t replaces = 0;
  std::uint64_t seed = random_seed();
  bool loose = false;
  bool direct = false;
  bool xattrs = true;
  bool fixed = false;
};

// Changes the files of one thread at random, and logs their states.
class Worker {
 public:
  // `options`, `folders` and `log` outlive the worker.  The folders stay open, because their paths
  // would lead below the mounts once these have ended.
  Worker(const WorkOptions& options, std::span<const fs::UniqueFd> folders, const MarkLog& log,
         std::uint64_t number);

  // The functions return false after a failure, which they print.

  // Takes over an existing file.
  bool adopt(const std::string& name);
  bool run(const std::atomic<bool>& stop);

  [[nodiscard]] const std::optional<ProgramBeside>& beside() const { return beside_; }

 private:
  // A file, and its expected content.
  struct File {
    std::uint64_t id = 0;
    std::string name;
    std::vector<fs::UniqueFd> fds;  // for each mount
    Bytes content;
    std::map<std::string, Bytes> vlmetalayers;
    std::size_t last = 0;  // the mount of the last change, which alone can sync it
  };

  static File file_of(std::uint64_t id, const std::string& name);
  static bool failed(const char* what, const File& file);
  static std::string layers_text(const File& file);
  static bool report_other_state(const File& expected, const File& found);
  static bool read_all(File& file);
  static bool close_all(File& file);

  std::uint64_t take_id() { return std::exchange(next_id_, next_id_ + options_.threads); }
  [[nodiscard]] std::string new_name(std::uint64_t id) const;
  std::size_t draw_mount();
  int draw_writer(File& file);  // the descriptor for a change
  [[nodiscard]] fs::UniqueFd open(std::size_t mount, const std::string& name, int flags) const;
  [[nodiscard]] bool open_all(File& file) const;

  // A file that another mount has open is closed before a rename: that mount would refuse further
  // changes.
  bool begin_rename(File& file) const { return folders_.size() == 1 || close_all(file); }
  bool end_rename(File& file) const { return folders_.size() == 1 || open_all(file); }

  void begin_state(const File& file) const;
  bool write_at(File& file, int fd, const Operation& operation) const;
  [[nodiscard]] bool sync_through(const File& file, int fd, bool with_metadata) const;
  bool rename_over(File& file, File& other, std::size_t mount);

  bool step();
  bool change(File& file, const Operation& operation);
  bool create();
  bool replace();
  bool write(File& file, Operation operation);
  bool truncate(File& file, std::uint64_t size);
  bool punch(File& file, const Operation& operation);
  bool sync(File& file, bool with_metadata);
  bool reopen(std::uint32_t seed);
  bool rename(File& file, std::uint32_t seed);
  bool remove(File& file);
  bool set_xattr(File& file, const Operation& operation);

  const WorkOptions& options_;
  const std::span<const fs::UniqueFd> folders_;
  const MarkLog& log_;
  const std::uint64_t number_;
  std::uint64_t next_id_;
  OperationSource operations_;
  std::vector<File> files_;
  std::optional<ProgramBeside> beside_;
};

}  // namespace framefs::test
