#include "src/cli/loss_messages.h"

#include <fmt/core.h>

#include "src/cli/collected_log.h"

namespace framefs {

void print_losses(const std::vector<std::string>& names, bool has_more) {
  std::vector<std::string> lines;
  lines.reserve(names.size());
  for (const auto& name : names) {
    lines.push_back(fmt::format("{}: written bytes are lost", name));
  }
  if (has_more) lines.emplace_back("more files have lost written bytes; the log names them");
  if (!lines.empty()) print_messages(lines);
}

}  // namespace framefs
