#pragma once

#include <memory>

namespace framefs {

// Opens whichever of the standard streams is closed, as those of some init systems are.  Otherwise the
// next files to be opened would take their numbers, and be written to or closed in their stead.
void ensure_standard_streams();

// As many open files as the process may allow itself: each file that users have open is one here too, and
// each frame until it is committed.
void allow_most_open_files();

// Runs the rest of the program in the background, while whoever started it waits for news.
class Daemon {
 public:
  // Forks.  In the child, returns the daemon's side.  In the parent, waits until the child calls
  // ready() or ends, and returns the exit code for the parent to end with.
  // Call it before any thread is started.
  struct Forked {
    std::unique_ptr<Daemon> child;
    int parent_exit_code = 0;
  };
  static Forked fork();

  // Lets go of the terminal and the parent.  What was written to stderr before, the user saw.
  void ready();

  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  ~Daemon();

 private:
  explicit Daemon(int news) : ready_pipe_(news) {}
  int ready_pipe_;  // the writing end of a pipe to the parent
};

}  // namespace framefs
