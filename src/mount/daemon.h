#pragma once

#include <memory>

namespace framefs {

// Opens /dev/null as each standard stream that is closed.  Some init systems start programs with
// closed streams.  Without this, the next opened files would get the numbers of the streams.  Code
// that writes to a stream or closes it would then write to such a file or close it.  The input
// cannot be read and the output cannot be written (EBADF), so that no command loses data silently.
void ensure_standard_streams();

// For root, sets PATH to the folders in which only root installs programs.  The PATH of the caller
// may lead elsewhere, and fusermount3 and the commands of a configuration would run from there.
// Threads: call it before any thread is started.
void find_programs_of_system();

// Raises the limit on open files to the hard limit.  Each file that a user has open needs a
// descriptor here, and each written frame needs one until its commit.
void allow_most_open_files();

// Runs the rest of the program in the background.  The parent process waits until the daemon is
// ready.  If a signal ends the parent before, the daemon ends as well.
class Daemon {
 public:
  // Forks.  In the child, returns the daemon's side.  In the parent, waits until the child calls
  // ready() or ends, and returns the exit code of the parent.
  // Threads: call it before any thread is started.
  struct Forked {
    std::unique_ptr<Daemon> child;
    int parent_exit_code = 0;
  };
  static Forked fork();

  // Detaches from the terminal and the parent.  The user has seen earlier output to stderr; later
  // output is discarded.
  void ready();

  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  ~Daemon();

 private:
  explicit Daemon(int ready_pipe) : ready_pipe_(ready_pipe) {}
  int ready_pipe_;  // the writing end of a pipe to the parent
};

}  // namespace framefs
