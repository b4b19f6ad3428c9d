#pragma once

#include <string>

#include "codec/core/error.h"

namespace framefs {

// Returns the cause of a failure for a message that begins with the path of the file.
std::string cause_text(const codec::Error& error);

}  // namespace framefs
