#pragma once

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "fs/core/diagnostics/log.h"
#include "fs/core/retries.h"
#include "fs/core/threads/may_wait.h"
#include "fs/write/overlay/overlay_budget.h"
#include "fs/write/session_threads.h"
#include "fs/write/write_session_table.h"

namespace framefs::fs {

// All frames that are being written: their writers, their room in the overlay, and the end of all
// sessions.  The sessions themselves are in a table, for those that only look for one.
// Threads: any number.
class WriteSessions {
 public:
  using Session = WriteSessionTable::Session;
  // The overlay is that of all sessions in the table.
  // Lifetime: the referenced objects outlive the `WriteSessions`.
  WriteSessions(Log& log, OverlayBudget& overlay, WriteSessionTable& table,
                std::chrono::milliseconds commit_interval);
  ~WriteSessions() { static_cast<void>(finish()); }
  WriteSessions(const WriteSessions&) = delete;
  WriteSessions& operator=(const WriteSessions&) = delete;

  // As WriteSessionTable::open() and renew().  Errors: also system, EAGAIN, if the system allows no
  // thread that commits.
  Result<Session> open(const FileKey& key, const WriteSessionTable::Make& make);
  Result<Session> renew(const FileKey& key, const Session& lost,
                        const WriteSessionTable::Make& make);
  // Counts one writer of `session` less.  After the last writer has closed, the frame is committed.
  void close(const FileKey& key, const Session& session);

  // Runs body(), () -> Result<...>, which opens or extends a frame.  If there is no memory for the
  // index, commits the frames that are closed, and runs it again.  A frame whose close(2) has
  // returned may still be open here: the kernel reports the close in the background.  Hence waits
  // for room for a short time, whichever way it appears.
  // Errors: those of the body; would_wait().
  template <class Body>
  auto with_index_room(const Body& body) -> decltype(body()) {
    std::optional<std::uint64_t> rooms;  // before the last attempt to make room
    for (Retries retries;;) {
      {
        HeldFailures failures;
        auto result = body();
        const bool lacks_room = !result && result.error().sys == ENOMEM;
        if (!lacks_room || !retries.are_left()) return result;
        const auto end = std::chrono::steady_clock::now() + kLongestClose;
        if (may_wait() && rooms && !overlay_.wait_for_index_room(*rooms, end)) return result;
        failures.forget();  // the body runs again
      }
      if (!may_wait()) return std::unexpected(would_wait().error());
      rooms = overlay_.index_rooms();
      end_closed();
    }
  }
  // Runs write(), () -> Result<FrameWriteSession::Written>, and stores written bytes, of this frame
  // or of others, until the overlay has room for it.
  // Errors: those of write(); those of storing, when that leaves no room; would_wait().
  template <class Write>
  Result<FrameWriteSession::Written> write_with_room(FrameWriteSession& session,
                                                     const Write& write) {
    for (Retries retries;;) {
      auto written = with_index_room(write);
      if (!written || written->missing_room == 0) return written;
      if (!may_wait()) return std::unexpected(would_wait().error());
      FRAMEFS_CHECK(make_room(session, written->missing_room, retries));
    }
  }
  // To be called when chunks of the session are complete.
  void note_full(const Session& session) { threads_.note_full(session); }

  // Commits everything durably.  Returns the files whose bytes were lost since the table exists,
  // and those that could not be committed.
  Losses commit_all();
  // Ends all sessions: commits everything, durably.  Returns the files that have no session any
  // more.  No session may begin afterwards.
  std::vector<FileKey> finish();

 private:
  // Starts the threads that commit before a session begins.  Refers to `make`.
  WriteSessionTable::Make with_threads(const WriteSessionTable::Make& make);
  Status make_room(FrameWriteSession& session, std::uint64_t needed, Retries& retries);
  void end_closed();
  void commit_and_note_losses(const std::vector<WriteSessionTable::File>& files);

  // A close takes less on a machine that is busy with other work.
  static constexpr std::chrono::seconds kLongestClose{1};

  Log& log_;
  OverlayBudget& overlay_;
  WriteSessionTable& table_;
  SessionThreads threads_;
};

}  // namespace framefs::fs
