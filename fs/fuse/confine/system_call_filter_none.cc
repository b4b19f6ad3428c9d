#include <cerrno>

#include "fs/core/files/file.h"
#include "fs/fuse/confine/system_call_filter.h"

namespace framefs::fuse {

codec::Status filter_system_calls(const CallNeeds&) {
  return fs::system_error_of(EOPNOTSUPP, "built without libseccomp");
}

codec::Status can_filter_system_calls() { return filter_system_calls({}); }

std::string libseccomp_version() { return {}; }

}  // namespace framefs::fuse
