#pragma once

#include <string>

#include "codec/core/error.h"

namespace framefs {

// Returns whether a file could not be opened as a frame because it is something else.
bool is_no_frame(const codec::Error& error);

// Returns the cause of a failure for a message that begins with the path of the file.
std::string cause_text(const codec::Error& error);

// Returns the message about a failure of a command with --force.
std::string failure_text(const std::string& path, const codec::Error& error);

}  // namespace framefs
