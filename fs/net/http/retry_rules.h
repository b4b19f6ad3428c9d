#pragma once

#include <chrono>
#include <optional>

#include "fs/net/http/http_message.h"
#include "fs/net/http/verdict.h"

namespace framefs::net {

// The pause that the server asks for (Retry-After, RFC 9110, 10.2.3).  Nothing without it.
std::optional<std::chrono::seconds> retry_after(const HttpAnswer& answer);

// The verdict of an attempt without an answer.
Verdict verdict_of(const Error& error);

// Whether no server was reached at all.
bool is_unreachable(const Error& error);

}  // namespace framefs::net
