#pragma once

#include <string>

namespace framefs {

// Format the statistics of a mount, one JSON object, as a table and as metrics for Prometheus.
// Both return an empty text if `json` is not an object.
std::string stats_table(const std::string& json);
std::string stats_metrics(const std::string& json);

}  // namespace framefs
