#include "fs/fuse/session/new_session.h"

#include <cerrno>

#include "fs/core/files/file.h"

namespace framefs::fuse {
namespace {

struct Arguments {
  Arguments() = default;
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  ~Arguments() { fuse_opt_free_args(&list); }
  bool add(const std::string& argument) { return fuse_opt_add_arg(&list, argument.c_str()) == 0; }
  fuse_args list = FUSE_ARGS_INIT(0, nullptr);
};

}  // namespace

Result<SessionPtr> new_session(const std::string& words, bool debug,
                               const fuse_lowlevel_ops& operations, void* user_data) {
  Arguments arguments;
  if (!arguments.add("framefs") || !arguments.add("-o") || !arguments.add(words) ||
      (debug && !arguments.add("-d"))) {
    return fs::system_error_of(ENOMEM, "mount");
  }
  SessionPtr session(fuse_session_new(&arguments.list, &operations, sizeof(operations), user_data));
  if (!session) return fs::system_error_of(EINVAL, "mount options");
  return session;
}

}  // namespace framefs::fuse
