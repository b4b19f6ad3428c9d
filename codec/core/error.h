#pragma once

#include <cstdint>
#include <optional>

namespace framefs::codec {

// Kinds of failure that a caller can act on.  fs/core/diagnostics/error_map.cc has their errnos.
enum class Errc : std::uint8_t {
  truncated,    // the bytes end before the structure does
  bad_field,    // a field, or two fields together, break the format's rules
  checksum,     // a stored checksum does not match
  unsupported,  // well-formed, but needs a codec, filter or version this build lacks
  over_limit,   // beyond Limits or the format's own maxima
  no_space,     // the destination is full
  system,       // the operating system refused; `sys` is its errno
  internal,     // a bug of ours
};

// The name of a kind, as log lines print it.
const char* errc_name(Errc kind) noexcept;

// The reason and the place of a failure.  Trivially copyable, so the error path allocates nothing.
struct Error {
  Errc kind = Errc::internal;
  const char* field = "";  // a string literal, in the format documents' words
  std::uint64_t at = 0;    // byte offset from the start of the structure that was parsed
  int sys = 0;             // errno, for Errc::system
  // The offending value, where it helps the user to act: the id of a missing codec, for example.
  std::optional<std::int64_t> value = std::nullopt;
  // For Errc::system: the field is a sentence that says the cause.  The text of `sys` is for the
  // call that the caller made, and would contradict it.
  bool is_sentence = false;
  // The destination of a copy failed, not its source.
  bool is_of_target = false;
};

}  // namespace framefs::codec
