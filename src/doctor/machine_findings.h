#pragma once

#include <string>

#include "src/doctor/finding.h"

namespace framefs {

// Finds out how well this machine and this program can mount for this user.
Findings machine_findings();

// Whether the text of fuse.conf(5) lets users give --allow-other.
bool allows_others(const std::string& fuse_conf);

}  // namespace framefs
