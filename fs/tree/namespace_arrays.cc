// Arrays and frames of bytes that take each other's place; see ArrayConverter.
//
// For a moment both exist, and the names of both are wanted.  The array then has the name
// (NameMap), so that the name always leads to one of them.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "fs/core/interrupt.h"
#include "fs/core/may_wait.h"
#include "fs/source/directory_changes.h"
#include "fs/tree/namespace.h"

namespace framefs::fs {
namespace {

// The summary of an array, as a probe would find it.
FrameSummary summary_of_array(Expected expected) {
  if (expected != Expected::array) return {};
  return {.content = Content::array, .is_numpy = true};
}

Result<UniqueFd> open_member(int parent, const std::string& name, int flags) {
  UniqueFd fd(::openat(parent, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return system_error("open");
  return fd;
}

// Runs body(), () -> Status, while no other thread changes names.  Runs it again while it fails
// with EAGAIN because others use the frame.  Other changes of names wait for the body, which must
// therefore not wait for them.  No thread waits while this function waits.
// Errors: EBUSY if others use it for too long; EINTR if the caller gives up; those of the body.
template <class Changes, class Body>
Status with_patience(Shared<Changes>& changes, const Body& body) {
  constexpr std::chrono::milliseconds kBetweenAttempts{5};
  const auto end = std::chrono::steady_clock::now() + FrameWriteSession::kPatience;
  while (true) {
    const auto done = changes.try_write([&](const Changes&) { return body(); });
    if (done && (*done || done->error().sys != EAGAIN)) return *done;
    if (std::chrono::steady_clock::now() >= end) return system_error_of(EBUSY, "frame in use");
    if (interrupted()) return system_error_of(EINTR, "frame in use");
    std::this_thread::sleep_for(kBetweenAttempts);
  }
}

}  // namespace

// The ownership of a frame, without waiting for other programs.
// Errors: EAGAIN if another program owns it now.
Result<Namespace::Owned> Namespace::own_now(const Member& member) const {
  auto owned = own_replaced(member, std::chrono::milliseconds(0));
  if (!owned && owned.error().sys == EBUSY) return system_error_of(EAGAIN, "frame of an owner");
  return owned;
}

// The entry that is shown as `name`, if it is the node.  Errors: ESTALE if it is not.
Result<Namespace::Member> Namespace::member_of(const Parent& parent, const Node& node,
                                               const std::string& name) const {
  FRAMEFS_TRY(auto found, parts_.names.find(*parent.folder, name));
  const bool is_node =
      found.shown_as == node.key.shown_as && file_key(found.entry) == file_key(node);
  if (!is_node || !found.is_listed) return system_error_of(ESTALE, "lookup");
  return Member{parent, std::move(found)};
}

// Removes the name of an array whose place a frame has taken.  The node table does not learn of it,
// as if another program had removed the array: open handles stay valid, and any other request for
// its node gets ESTALE, after which the kernel looks the name up again.
Status Namespace::unlink_replaced(const Member& member) {
  const auto& [parent, found] = member;
  if (const auto session = parts_.writers.sessions().find(file_key(found.entry))) {
    session->expect_removal();
  }
  FRAMEFS_CHECK(remove_entry(parent.fd(), found.source_name, false));
  remove_lock_file(parent.fd(), found.source_name);
  return {};
}

Status Namespace::put_array(const Node& node, const std::string& name, int array,
                            const FileIdentity& from, bool has_ended) {
  FRAMEFS_TRY(const auto in, open_parent(parts_.locator.nodes().place_of(node).parent));
  const auto put = [&]() -> Status {
    FRAMEFS_TRY(const auto member, member_of(in, node, name));
    const NameMap::Newcomer newcomer{.asked = {name, ShownAs::npy},
                                     .source_name = {},
                                     .summary = summary_of_array,
                                     .leaving = {},
                                     .replaced = {}};
    FRAMEFS_TRY(const auto array_name, parts_.names.place(*in.folder, newcomer));
    // No other program is in the middle of a change.
    FRAMEFS_TRY(const auto owned, own_now(member));
    return parts_.locator.renaming([&]() -> Status {
      const auto known = parts_.locator.nodes().find(node.key);
      if (!known) return system_error_of(ESTALE, "convert");
      const bool is_open = known->state.with([&](Node::State& state) {
        if (!state.handles.want_none() && !has_ended) return true;
        state.handles.retire();
        return false;
      });
      if (is_open) return system_error_of(EBUSY, "frame that is open");
      const auto done = exchange_for_array(node, member, {array, array_name}, from);
      if (!done) known->state.with([](Node::State& state) { state.handles.restore(); });
      return done;
    });
  };
  auto& sessions = parts_.writers.sessions();
  return with_patience(changes_, [&] { return sessions.without_session(file_key(node), put); });
}

// The node's number leads to the array before there is an array: a lookup that finds the array must
// not enter another node for it.  If the old node were left without a file, the kernel would get
// ESTALE and repeat the call, but only once.  numpy.save() over a frame that has just become an
// array would get it twice: from open(2), and from the O_TRUNC of the array.
Status Namespace::exchange_for_array(const Node& node, const Member& member, const NewArray& array,
                                     const FileIdentity& from) {
  const auto& [in, found] = member;
  struct stat st{};
  if (::fstatat(in.fd(), found.source_name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
    return system_error("stat");
  }
  if (identity_of(st) != from || st.st_nlink != 1) return system_error_of(ESTALE, "convert");
  FRAMEFS_TRY(const auto array_stat, stat_of(array.fd));
  const NodeKey key{array_stat.st_dev, array_stat.st_ino, ShownAs::npy};
  auto& nodes = parts_.locator.nodes();
  nodes.replace(node.key, key, {in.node, array.name});
  const auto exchange = [&]() -> Status {
    FRAMEFS_CHECK(link_file(array.fd, in.fd(), array.name));
    auto removed = remove_entry(in.fd(), found.source_name, false);
    if (!removed) ::unlinkat(in.fd(), array.name.c_str(), 0);
    return removed;
  };
  auto done = exchange();
  if (!done) {
    nodes.replace(key, node.key, {in.node, found.source_name});
    return done;
  }
  remove_lock_file(in.fd(), found.source_name);
  return {};
}

Status Namespace::replace_truncated_array(const Node& node) {
  if (node.key.shown_as != ShownAs::npy || node.key.is_member()) return {};
  const auto rule = parts_.arrays.rule_for(node);
  if (!rule) return {};
  if (!may_wait()) return would_wait();
  FRAMEFS_TRY(const auto in, open_parent(parts_.locator.nodes().place_of(node).parent));
  const auto replace = [&]() -> Status {
    FRAMEFS_TRY(const auto member, member_of(in, node, rule->shown_name));
    const auto& st = member.found.entry.stat;
    // The other names of the array, or the files of a sparse one, would keep the old items.
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1) return system_error_of(EPERM, "truncate");
    FRAMEFS_TRY(auto plan, plan_file(in, *in.folder, rule->shown_name, {member.found.source_name}));
    if (!plan.frame) return system_error_of(EPERM, "truncate");
    FRAMEFS_TRY(plan.original,
                open_member(in.fd(), member.found.source_name, O_RDONLY | O_NONBLOCK));
    FRAMEFS_TRY(const auto owned, own_now(member));
    return parts_.locator.renaming([&]() -> Status {
      FRAMEFS_CHECK(make_file(in, plan, st.st_mode, {.user = st.st_uid, .group = st.st_gid}));
      auto removed = unlink_replaced(member);
      if (!removed) ::unlinkat(in.fd(), plan.source_name.c_str(), 0);
      return removed;
    });
  };
  FRAMEFS_CHECK(with_patience(changes_, replace));
  // After a crash, the array must not take the name again from the frame that is written now.
  FRAMEFS_TRY(const auto folder, reopen(in.fd(), O_RDONLY | O_DIRECTORY));
  if (::fsync(folder.get()) != 0) return system_error("fsync");
  return system_error_of(ESTALE, "array that a new file has replaced");
}

}  // namespace framefs::fs
