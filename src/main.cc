#include <csignal>
#include <exception>
#include <iostream>
#include <tuple>

#include "fs/fuse/confine/watchdog.h"
#include "src/cli/exit_codes.h"
#include "src/commands.h"
#include "src/mount/daemon.h"

int main(int argc, char** argv) {
  try {
    if (argc > 0 && framefs::fuse::is_watchdog(argv[0])) return framefs::fuse::run_watchdog();
    // A write beyond a limit of file sizes (ulimit -f) fails with EFBIG instead.
    std::ignore = std::signal(SIGXFSZ, SIG_IGN);
    framefs::ensure_standard_streams();
    framefs::find_programs_of_system();
    return framefs::run_framefs({argv, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "framefs: " << error.what() << '\n';
    return framefs::kExitFailure;
  }
}
