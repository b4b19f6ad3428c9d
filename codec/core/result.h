#pragma once

#include <cstdint>
#include <expected>
#include <utility>

#include "codec/core/error.h"

namespace framefs::codec {

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

// The error value of a Result or Status: `return fail(Errc::bad_field, "cbytes", 12);`
inline std::unexpected<Error> fail(Errc kind, const char* field, std::uint64_t at = 0) {
  return std::unexpected(Error{.kind = kind, .field = field, .at = at});
}

// As above, with the offending value for log lines.
inline std::unexpected<Error> fail_value(Errc kind, const char* field, std::uint64_t at,
                                         std::int64_t value) {
  return std::unexpected(Error{.kind = kind, .field = field, .at = at, .value = value});
}

// The same error of a part of a structure, with its place counted from the structure's start.
// Errors of the system have no place.
inline std::unexpected<Error> fail_of_part(Error error, std::uint64_t part_at) {
  if (error.kind != Errc::system) error.at += part_at;
  return std::unexpected(error);
}

// The same error, of the destination of a copy: `return of_target(system_error("rename"));`
inline std::unexpected<Error> of_target(std::unexpected<Error> failure) {
  failure.error().is_of_target = true;
  return failure;
}

template <class T>
Result<T> of_target(Result<T> result) {
  if (!result) result.error().is_of_target = true;
  return result;
}

}  // namespace framefs::codec

#define FRAMEFS_JOIN(a, b) a##b
#define FRAMEFS_CAT(a, b) FRAMEFS_JOIN(a, b)  // also for macros as `a` and `b`

// Evaluates `expr`, a Result<T>.  On error the enclosing function returns it; otherwise the value
// is bound to `decl`, a declaration or the name of an object, which cannot be in parentheses.
#define FRAMEFS_TRY(decl, expr)                                             \
  auto FRAMEFS_CAT(try_, __LINE__) = (expr);                                \
  if (!FRAMEFS_CAT(try_, __LINE__)) [[unlikely]]                            \
    return std::unexpected(std::move(FRAMEFS_CAT(try_, __LINE__)).error()); \
  decl = std::move(FRAMEFS_CAT(try_, __LINE__)).value()  // NOLINT(bugprone-macro-parentheses)

// Evaluates `expr`, a Status.  On error the enclosing function returns it.
#define FRAMEFS_CHECK(expr)                           \
  do {                                                \
    auto framefs_status = (expr);                     \
    if (!framefs_status) [[unlikely]]                 \
      return std::unexpected(framefs_status.error()); \
  } while (false)
