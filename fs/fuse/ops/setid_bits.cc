#include "fs/fuse/ops/setid_bits.h"

#include <algorithm>
#include <vector>

#include "fs/fuse/session/raw_requests.h"

namespace framefs::fuse {

// libfuse reads the groups from /proc.
bool belongs_to(fuse_req_t req, const Mount& mount, gid_t group) {
  group = mount.options.gid.value_or(group);
  const auto* const caller = fuse_req_ctx(req);
  if (caller->uid == 0 || caller->gid == group) return true;
  const int count = fuse_req_getgroups(req, 0, nullptr);
  if (count <= 0) return false;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  const int got = fuse_req_getgroups(req, count, groups.data());
  if (got < 0) return false;
  groups.resize(static_cast<std::size_t>(std::min(got, count)));
  return std::ranges::find(groups, group) != groups.end();
}

std::optional<fs::Changer> caller_without_setid_bits(fuse_req_t req, const Mount& mount) {
  if (!must_clear_setid_bits()) return std::nullopt;
  return fs::Changer{
      .owns =
          [req, &mount](uid_t owner) {
            const auto caller = fuse_req_ctx(req)->uid;
            return caller == 0 || caller == mount.options.uid.value_or(owner);
          },
      .keeps_setgid = [req, &mount](gid_t group) { return belongs_to(req, mount, group); }};
}

}  // namespace framefs::fuse
