#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string>

#include "fs/core/files/file.h"

namespace framefs::fs {

// Functions that change directories in SOURCE.  Names are names in SOURCE.  A directory is given by
// a descriptor, which may be an O_PATH one.

// `flags` are those of renameat2(2).  Errors: system.
Status rename_entry(int from, const std::string& name, int to, const std::string& new_name,
                    unsigned flags);
// Gives an open file, which may be one without a name, another name.  `fd` may be an O_PATH
// descriptor.  Errors: system.
Status link_file(int fd, int directory, const std::string& name);
// Removes a directory that is empty as the mount shows it, together with its hidden entries.
// Errors: system; ENOTEMPTY.
Status remove_empty_directory(int parent, const std::string& name);
// Removes a file, a link, or a directory as remove_empty_directory() does.  Errors: system.
Status remove_entry(int parent, const std::string& name, bool is_directory);

// A lock file beside a frame or container moves with it.  Usually there is none.  Failures are
// ignored: a lock file protects nothing while no process holds it.  A lock file that the new name
// already has stays, because programs may have it open.
// Source: file locks.
void rename_lock_file(int from, const std::string& name, int to, const std::string& new_name);
void exchange_lock_files(int one, const std::string& name, int other,
                         const std::string& other_name);
void remove_lock_file(int directory, const std::string& name);

// Gives a new entry of a directory to the requesting user, if this process is root or has
// CAP_CHOWN; otherwise the entry stays the daemon's.  In a setgid directory the entry already has
// its group.  `st` and `parent` are the attributes of the entry and of the directory.
// Errors: system.
Status give_new_entry(int fd, const struct stat& st, const struct stat& parent, uid_t user,
                      gid_t group);
// Sets the setuid and setgid bits of `mode`, which changes of owner and writes clear.
// Errors: system.
Status set_special_bits(int fd, mode_t mode);

}  // namespace framefs::fs
