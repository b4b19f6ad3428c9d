#include "fs/core/resources/descriptor_shares.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

namespace framefs::fs {
namespace {

// Enough for all requests that are served at a time.
constexpr std::uint64_t kMaxReserve = 256;
constexpr std::uint64_t kReserveShare = 4;
// As long as there are more, they are counted only for some takes: the reserve has room for what is
// opened in between.
constexpr std::uint64_t kPlenty = 2 * kMaxReserve;
constexpr unsigned kTakesPerCount = 16;

std::uint64_t capacity() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const std::uint64_t all = limit.rlim_cur;
  return all - std::min(all / kReserveShare, kMaxReserve);
}

}  // namespace

bool is_shortage(const Error& error) noexcept {
  return error.kind == Errc::system &&
         (error.sys == EMFILE || error.sys == ENFILE || error.sys == ENOMEM);
}

DescriptorShares::Share& DescriptorShares::Share::operator=(Share&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  shares_ = std::exchange(other.shares_, nullptr);
  user_ = other.user_;
  count_ = std::exchange(other.count_, 0);
  return *this;
}

void DescriptorShares::Share::grow(std::uint64_t more) {
  if (shares_ == nullptr) return;
  shares_->state_.with([&](State& state) { state.counts[user_] += more; });
  count_ += more;
}

void DescriptorShares::Share::give_back() noexcept {
  if (shares_ == nullptr) return;
  shares_->state_.with([&](State& state) {
    const auto at = state.counts.find(user_);
    if (at == state.counts.end()) return;
    at->second -= std::min(at->second, count_);
    if (at->second == 0) state.counts.erase(at);
  });
  shares_ = nullptr;
}

DescriptorShares::DescriptorShares(bool is_for_all)
    : is_for_all_(is_for_all), capacity_(capacity()), probe_(::eventfd(0, EFD_CLOEXEC)) {}

// The system gives out the lowest number that is free, so all numbers below it are in use.  Hence
// descriptors count whatever they are for.
std::uint64_t DescriptorShares::unused() const noexcept {
  const UniqueFd lowest(::fcntl(probe_.get(), F_DUPFD_CLOEXEC, 0));
  if (!lowest) return 0;
  return capacity_ - std::min<std::uint64_t>(static_cast<std::uint64_t>(lowest.get()), capacity_);
}

auto DescriptorShares::take(uid_t user) -> Result<Share> {
  const bool is_taken = state_.with([&](State& state) {
    const auto is_plenty = state.unused > kPlenty;
    if (++state.taken_since > kTakesPerCount || !is_plenty) {
      state.unused = unused();
      state.taken_since = 0;
    }
    const auto at = state.counts.find(user);
    const std::uint64_t has = at == state.counts.end() ? 0 : at->second;
    if (state.unused == 0 || (is_for_all_ && has >= state.unused)) return false;
    ++state.counts[user];
    return true;
  });
  if (!is_taken) return system_error_of(ENFILE, "open");
  return Share(*this, user);
}

}  // namespace framefs::fs
