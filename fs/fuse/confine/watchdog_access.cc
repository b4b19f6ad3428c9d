#include "fs/fuse/confine/watchdog_access.h"

#include <memory>
#include <utility>

namespace framefs::fuse {
namespace {

class WatchdogProgram final : public net::RunningProgram {
 public:
  WatchdogProgram(const Watchdog& watchdog, fs::UniqueFd output)
      : watchdog_(watchdog), output_(std::move(output)) {}
  WatchdogProgram(const WatchdogProgram&) = delete;
  WatchdogProgram& operator=(const WatchdogProgram&) = delete;
  ~WatchdogProgram() override { watchdog_.end_program(); }

  [[nodiscard]] int output() const override { return output_.get(); }
  State state() override { return watchdog_.program_state(); }

 private:
  const Watchdog& watchdog_;
  const fs::UniqueFd output_;
};

}  // namespace

Result<std::unique_ptr<net::RunningProgram>> WatchdogAccess::start_program(
    const std::string&) const {
  FRAMEFS_TRY(auto output, watchdog_.start_program());
  return std::make_unique<WatchdogProgram>(watchdog_, std::move(output));
}

}  // namespace framefs::fuse
