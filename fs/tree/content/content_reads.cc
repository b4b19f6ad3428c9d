#include "fs/tree/content/content_reads.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "fs/core/diagnostics/log.h"
#include "fs/core/retries.h"

namespace framefs::fs {
namespace {

Result<std::uint64_t> seek_file(int fd, Seek what, std::uint64_t offset) {
  // Moving this position is harmless: files are read by offset.
  const auto found =
      ::lseek(fd, static_cast<off_t>(offset), what == Seek::data ? SEEK_DATA : SEEK_HOLE);
  if (found < 0) return system_error("lseek");
  return static_cast<std::uint64_t>(found);
}

// Whether the caller's rights still suffice for a sparse frame: see BackingFile::content_stat().
Status check_rights(const OpenFile& file) {
  if (!file.source.is_sparse()) return {};
  const auto st = file.source.content_stat();
  // A frame that was removed stays readable.
  if (!st && st.error().sys == EACCES) return std::unexpected(st.error());
  return {};
}

}  // namespace

Status ContentReads::check_unchanged(Node& node, const FileIdentity& identity) const {
  if (!immutable_ || node.told.is(identity)) return {};
  return system_error_of(ESTALE, "another size or time of change");
}

Status ContentReads::check_unchanged(const OpenFile& file) const {
  if (!immutable_) return {};
  FRAMEFS_TRY(const auto st, file.source.content_stat());
  return check_unchanged(*file.node, identity_of(st));
}

template <class Body>
auto ContentReads::reading(const OpenFile& file, const Body& body) const
    -> decltype(body(std::shared_ptr<const View>(), nullptr)) {
  if (immutable_) return reading_immutable(file, body);
  auto& node = *file.node;
  for (Retries retries;;) {
    HeldFailures failures;  // until it is known that the frame did not change meanwhile
    FRAMEFS_TRY(auto shared, lock_files_.share(node, file.source));
    if (const auto session = writers_.shown_session(node)) {
      FRAMEFS_CHECK(check_rights(file));
      const auto view = views_.of_session(node, *session);
      auto result = session->read_checked([&] { return body(view, session.get()); });
      // If another writer has changed the frame, the new content is in the file.
      if (!session->is_lost()) return result;
      failures.forget();
    }
    // A session that owned the frame has just ended.
    const bool is_unlocked = !shared.is_held() && LockFiles::has_lock_file(node);
    if (is_unlocked && retries.are_left()) continue;
    FRAMEFS_TRY(auto now, views_.current(file));
    if (!shared.is_held() && LockFiles::is_due(node)) {
      FRAMEFS_TRY(shared, lock_files_.share(node, file.source));
      if (shared.is_held()) {
        FRAMEFS_TRY(now, views_.current(file));
      }
    }
    // A program that copies over a frame in place empties it first.  A short answer would let the
    // kernel fill its page with zeros, which no state of the frame contained.
    if (file.had_bytes && now.identity.size == 0) {
      return system_error_of(ESTALE, "a frame that another program has emptied");
    }
    auto result = body(now.view, nullptr);
    // A program that does not lock the frame may have changed it during the read.
    if (views_.is_current(file, now.content)) return result;
    failures.forget();
    if (!retries.are_left()) {
      return system_error_of(ESTALE, "a frame that another program changes all the time");
    }
  }
}

// The same for an immutable mount: no writer needs to be looked for.
template <class Body>
auto ContentReads::reading_immutable(const OpenFile& file, const Body& body) const
    -> decltype(body(std::shared_ptr<const View>(), nullptr)) {
  HeldFailures failures;  // until it is known that the frame did not change meanwhile
  FRAMEFS_TRY(const auto now, views_.current(file));
  FRAMEFS_CHECK(check_unchanged(*file.node, now.identity));
  auto result = body(now.view, nullptr);
  if (views_.is_current(file, now.content)) return result;
  failures.forget();
  return system_error_of(ESTALE, "a change during the read");
}

Result<ReadResult> ContentReads::read(OpenFile& file, std::uint64_t offset,
                                      std::uint64_t size) const {
  const auto access = file.pattern->note(offset, size);
  return reading(file, [&](const std::shared_ptr<const View>& view, const void* session) {
    auto result = view->read(offset, size, access);
    if (result && session == nullptr) ahead_.follow(file.pattern, view);
    return result;
  });
}

Result<std::uint64_t> ContentReads::seek(const OpenFile& file, Seek what,
                                         std::uint64_t offset) const {
  if (!file.node->key.has_view()) return seek_file(file.source.fd(), what, offset);
  return reading(file, [&](const std::shared_ptr<const View>& view, const void*) {
    return view->seek(what, offset);
  });
}

Result<bool> ContentReads::is_readable(const OpenFile& file) const {
  return reading(file, [&](const auto& view, const void* session) -> Result<bool> {
    const bool is_readable = view->is_readable();
    if (is_readable && session == nullptr) {
      file.node->state.with([&](Node::State& state) { state.content.note_readable(view); });
    }
    return is_readable;
  });
}

}  // namespace framefs::fs
