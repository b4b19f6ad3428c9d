#pragma once

#include <string>

#include "codec/core/error.h"
#include "codec/core/result.h"

namespace framefs::test {

// The result of a call in one line, "ok" or "bad field: cbytes at 12", for tables of expectations.
inline std::string outcome(const codec::Error& error) {
  return std::string(codec::errc_name(error.kind)) + ": " + error.field + " at " +
         std::to_string(error.at);
}

template <class T>
std::string outcome(const codec::Result<T>& result) {
  return result ? "ok" : outcome(result.error());
}

}  // namespace framefs::test
