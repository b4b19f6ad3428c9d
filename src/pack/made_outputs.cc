#include "src/pack/made_outputs.h"

#include <cerrno>
#include <utility>

#include "fs/core/files/file.h"

namespace framefs {

codec::Status MadeOutputs::check(const fs::Place& target, Output kind) const {
  const auto key = key_of(target);
  if (!key) return {};
  const auto made = made_.find(*key);
  if (made == made_.end()) return {};
  if (kind == Output::directory && made->second == Output::directory) return {};
  return codec::of_target(
      fs::refusal(ENOTUNIQ, "is the output for another input of this run, and is not replaced"));
}

void MadeOutputs::add(const fs::Place& target, Output kind) {
  if (auto key = key_of(target)) made_.try_emplace(std::move(*key), kind);
}

std::optional<MadeOutputs::Key> MadeOutputs::key_of(const fs::Place& target) {
  const auto st = fs::stat_of(target.directory());
  if (!st) return std::nullopt;
  return Key{st->st_dev, st->st_ino, target.name()};
}

}  // namespace framefs
