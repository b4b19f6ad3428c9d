#pragma once

#include <string>

#include "src/doctor/finding.h"

namespace framefs {

// Examines a path as a SOURCE and as a MOUNTPOINT.  No finding is bad if the path can be one of the
// two.
Findings path_findings(const std::string& path);

}  // namespace framefs
