#include "src/pack/same_content.h"

#include "fs/core/files/file.h"

namespace framefs {

bool same_content(const struct stat& one, const struct stat& other) {
  auto a = fs::identity_of(one);
  auto b = fs::identity_of(other);
  a.ctime_ns = b.ctime_ns = 0;
  return a == b;
}

}  // namespace framefs
