#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fs/core/mount_options.h"

namespace framefs {

// What the command line asks for.
struct Command {
  fs::MountOptions mount;
  bool foreground = false;
  bool check_only = false;  // mount(8)'s "fake": do all but mount
  std::string log_file;     // empty: syslog in the background, stderr in the foreground
};

// Either a command, or the exit code of a run that is over: --help, --version, a usage error, each
// already reported.
struct Parsed {
  std::optional<Command> command;
  int exit_code = 0;
};

// Whether the program was called by the name under which mount(8) looks for a helper.  `arguments`
// includes it.
bool is_mount_helper(const std::vector<std::string>& arguments);

// `arguments` includes the program's name: called mount.framefs, it takes mount(8)'s options.
Parsed parse_command_line(const std::vector<std::string>& arguments);

}  // namespace framefs
