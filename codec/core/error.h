#pragma once

#include <cstdint>
#include <optional>

namespace framefs::codec {

// What a caller can act on.  fs/core/error_map.cc turns each kind into an errno.
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

// The name of a kind, as it stands in log lines.
const char* errc_name(Errc kind) noexcept;

// Why something failed and where.  Trivially copyable: making or passing one allocates nothing.
struct Error {
  Errc kind = Errc::internal;
  const char* field = "";  // a string literal, in the format documents' words
  std::uint64_t at = 0;    // byte offset from the start of the structure that was parsed
  int sys = 0;             // errno, for Errc::system
  // What stood there, where it helps to act: the id of a missing codec, say.
  std::optional<std::int64_t> value = std::nullopt;
};

}  // namespace framefs::codec
