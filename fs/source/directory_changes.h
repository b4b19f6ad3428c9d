#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string>

#include "fs/core/file.h"

namespace framefs::fs {

// Changes of directories in SOURCE by the names that entries have there.  Directories are descriptors,
// O_PATH ones included.

// `flags` are those of renameat2(2).  Errors: system.
Status rename_entry(int from, const std::string& name, int to, const std::string& new_name,
                    unsigned flags);
// Removes a directory in which the mount shows nothing: hidden entries go with it.
// Errors: system; ENOTEMPTY.
Status remove_empty_directory(int parent, const std::string& name);
// Removes a file, a link, or such a directory.  Errors: system.
Status remove_entry(int parent, const std::string& name, bool is_directory);

// A frame or a container may have a lock file beside it, which goes where it goes.  Mostly there is
// none, and what fails is of no matter: a lock file protects nobody while nobody holds it.
// Source: file locks.
void rename_lock_file(int from, const std::string& name, int to, const std::string& new_name);
void exchange_lock_files(int one, const std::string& name, int other,
                         const std::string& other_name);
void remove_lock_file(int directory, const std::string& name);

// Gives what was just made in a directory to the user who asked for it; only root can.  In a
// directory of its own group it has that already.  `parent` is the directory's.  Errors: system.
Status give_new_entry(int fd, const struct stat& parent, uid_t user, gid_t group);
// Sets the setuid and setgid bits of `mode`, which changes of owner and writes take away.
// Errors: system.
Status set_special_bits(int fd, mode_t mode);

}  // namespace framefs::fs
