#pragma once

#include <string>
#include <vector>

#include "src/check/frame_checker.h"
#include "src/check/frame_rescue.h"

namespace framefs {

// Returns the result of a check as one line of text.
std::string damage_text(const std::string& path, const Damage& damage);
std::string report_text(const std::string& path, const FrameReport& report);
// Returns the result of a repair, one line for each fact.
std::vector<std::string> rescue_text(const std::string& to, const codec::SalvagePlan& plan);

// Returns both as one JSON object.  `rescued` may be null.
std::string report_json(const std::string& path, const FrameReport& report,
                        const std::vector<Damage>& damages, const std::string& to,
                        const codec::SalvagePlan* rescued);

}  // namespace framefs
