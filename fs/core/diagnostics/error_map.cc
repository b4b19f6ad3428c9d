#include "fs/core/diagnostics/error_map.h"

#include <cerrno>
#include <system_error>

#include <fmt/core.h>

#include "codec/core/work_budget.h"
#include "fs/core/diagnostics/lock_holder.h"

namespace framefs::fs {

using codec::Errc;

int errno_of(const codec::Error& error) noexcept {
  switch (error.kind) {
    case Errc::truncated:
    case Errc::bad_field:
    case Errc::checksum:
    case Errc::internal:
      return EIO;
    case Errc::unsupported:
      return EOPNOTSUPP;
    case Errc::over_limit:
      return EFBIG;
    case Errc::no_space:
      return ENOSPC;
    case Errc::system:
      return error.sys != 0 ? error.sys : EIO;
  }
  return EIO;
}

bool is_damage(const codec::Error& error) noexcept {
  switch (error.kind) {
    case Errc::truncated:
    case Errc::bad_field:
    case Errc::checksum:
    case Errc::unsupported:
      return true;
    case Errc::over_limit:
      return !codec::is_work_error(error);
    case Errc::internal:
    case Errc::no_space:
    case Errc::system:
      return false;
  }
  return false;
}

std::string describe(const codec::Error& error) {
  if (error.kind == Errc::system) {
    std::string text = error.field;
    if (!error.is_sentence) text += ": " + std::generic_category().message(error.sys);
    if (error.value) text += fmt::format(": {}", process_text(*error.value));
    return text;
  }
  auto text = fmt::format("{}: {}", codec::errc_name(error.kind), error.field);
  if (error.value) text += fmt::format(" ({})", *error.value);
  return text + fmt::format(" at byte {}", error.at);
}

}  // namespace framefs::fs
