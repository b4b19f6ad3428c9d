#pragma once

#include <cerrno>
#include <cstdint>
#include <string>

#include "fs/net/result.h"

namespace framefs::net {

// The next step of a call after an answer.
struct Verdict {
  enum class Kind : std::uint8_t {
    done,       // the answer is the wanted one
    again,      // send another request at once: the server named another place
    retry,      // send the same request again after a pause: the failure may pass
    slow_down,  // as `retry`, and lower the limit: the server is overloaded
    doubtful,   // the answer is invalid; try a few times, a proxy may have caused it
    failed,     // trying again is useless
  } kind = Kind::done;
  Error error{};  // set for all kinds but `done`
  // The server's own words for the failure, for the log; "" if it gave none.
  std::string detail = {};
};

// Whether the server could not answer this attempt, but may answer another one.
inline bool is_transient(const Verdict& verdict) {
  return verdict.kind == Verdict::Kind::retry || verdict.kind == Verdict::Kind::slow_down;
}

// Whether Call::make() asked for patience: nothing was sent, so this tells nothing of the server.
inline bool is_not_made_yet(const Verdict& verdict) {
  return is_transient(verdict) && verdict.error.sys == EAGAIN;
}

}  // namespace framefs::net
