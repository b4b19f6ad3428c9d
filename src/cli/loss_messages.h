#pragma once

#include <string>
#include <vector>

namespace framefs {

// Prints a line for each file whose written bytes were lost.  `has_more`: there are others.
void print_losses(const std::vector<std::string>& names, bool has_more);

}  // namespace framefs
