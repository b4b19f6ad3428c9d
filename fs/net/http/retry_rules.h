#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "fs/net/http/http_message.h"
#include "fs/net/http/verdict.h"

namespace framefs::net {

// The pause before a call is sent again.  It doubles with each failure.  Half of it is random, so
// that many clients do not come back together.
std::chrono::milliseconds pause_after(std::uint64_t failures);

// The pause that the server asks for (Retry-After, RFC 9110, 10.2.3).  Nothing without it.
std::optional<std::chrono::seconds> retry_after(const HttpAnswer& answer);

// The verdict of an attempt without an answer.
Verdict verdict_of(const Error& error);

// Whether no server was reached at all.
bool is_unreachable(const Error& error);

// The error that a reader gets for a call that did not succeed in time.
Error too_late(Error last);

}  // namespace framefs::net
