#include "src/pack/made_outputs.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "fs/core/file.h"

namespace framefs {

codec::Status MadeOutputs::check(const std::filesystem::path& target, Output kind) const {
  const auto place = place_of(target);
  if (!place) return {};
  const auto made = made_.find(*place);
  if (made == made_.end()) return {};
  if (kind == Output::directory && made->second == Output::directory) return {};
  return codec::of_target(
      fs::refusal(ENOTUNIQ, "is the output for another input of this run, and is not replaced"));
}

void MadeOutputs::add(const std::filesystem::path& target, Output kind) {
  if (auto place = place_of(target)) made_.try_emplace(std::move(*place), kind);
}

std::optional<MadeOutputs::Place> MadeOutputs::place_of(const std::filesystem::path& target) {
  // "out/" is the same place as "out".
  const auto path = target.has_filename() ? target : target.parent_path();
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  struct stat st{};
  if (::stat(folder.c_str(), &st) != 0) return std::nullopt;
  return Place{st.st_dev, st.st_ino, path.filename().string()};
}

}  // namespace framefs
