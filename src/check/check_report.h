#pragma once

#include <string>
#include <vector>

#include "src/check/frame_checker.h"
#include "src/check/frame_rescue.h"

namespace framefs {

// Returns the result of a check as one line of text.
std::string damage_text(const std::string& path, const Damage& damage, bool is_verbose);
std::string report_text(const std::string& path, const FrameReport& report);
// Returns the result of a repair, one line for each fact.
std::vector<std::string> rescue_text(const std::string& to, const codec::SalvagePlan& plan,
                                     const FrameReport& report);
// Returns a line about checksums that do not count, or that are new; empty for all other frames.
std::string checksum_text(const std::string& path, const FrameReport& report, bool is_rehashed);

// Returns a line about damages that are only counted; empty if all were told.
std::string unlisted_text(const std::string& path, const FrameReport& report);

// Returns a line about a frame whose data lie elsewhere; empty for all other frames.
std::string elsewhere_text(const std::string& path, const FrameReport& report);

// The results of what was done after a check.
struct AfterCheck {
  std::string to{};                             // the frame that a repair makes
  const codec::SalvagePlan* rescued = nullptr;  // null if there was no repair
  bool is_rehashed = false;
};
// Returns everything as one JSON object.
std::string report_json(const std::string& path, const FrameReport& report,
                        const std::vector<Damage>& damages, const AfterCheck& after);

}  // namespace framefs
