#include <cerrno>

#include "fs/fuse/confine/own_namespace.h"

namespace framefs::fuse {

Result<OwnNamespace> OwnNamespace::enter(const std::filesystem::path&, bool,
                                         const std::function<void()>&) {
  return fs::system_error_of(EOPNOTSUPP, "namespace");
}

void OwnNamespace::remove_mounts_of(dev_t) {}

}  // namespace framefs::fuse
