#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fs/core/mount_options.h"
#include "src/cli/command_syntax.h"

namespace framefs {

// The command line of mounting, parsed.
struct MountCommand {
  fs::MountOptions mount;
  bool foreground = false;
  bool check_only = false;  // mount(8)'s "fake": everything but the mount itself
  bool is_mount_helper = false;
  bool allow_nonempty = false;  // mount over a directory with files
  bool replace_stale = false;   // first remove a mount whose daemon is gone
  bool remount = false;         // change the existing mount
  // A remount by mount(8), which passes all flags: those that are missing are off.
  bool has_all_flags = false;
  bool has_access = false;  // --ro or --rw is given
  bool nofail = false;      // a missing SOURCE is no failure
  std::string log_file;     // empty: syslog in the background, stderr in the foreground
};

// Holds a command to run, or the exit code if there is nothing to run: after --help, --version or a
// usage error.  The text of these has been printed.
struct ParsedMountCommand {
  std::optional<MountCommand> command;
  int exit_code = 0;
};

// Returns whether the program was called by the name under which mount(8) looks for a helper.
// `arguments` includes the program's name.
bool is_mount_helper(const std::vector<std::string>& arguments);

// Returns the options of mounting.
CommandSyntax mount_syntax();

// `arguments` includes the program's name.  If that is mount.framefs, mount(8)'s options are
// accepted.  `command_list`, the list of all commands, ends the text of --help.
ParsedMountCommand parse_mount_command(const std::vector<std::string>& arguments,
                                       const std::string& command_list);

}  // namespace framefs
