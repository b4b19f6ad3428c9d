#include "fs/net/store/listing_budget.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>

#include "fs/core/files/file.h"
#include "fs/core/threads/interrupt.h"

namespace framefs::net {
namespace {

constexpr const char* kOverBudget =
    "the listing does not fit into the 256 MiB that a mount has for listings";

class BodyCharge final : public BodyMeter {
 public:
  explicit BodyCharge(ListingBudget::Charge charge) : charge_(std::move(charge)) {}
  bool take(std::uint64_t bytes) override { return charge_.grow(bytes); }

 private:
  ListingBudget::Charge charge_;
};

}  // namespace

std::unexpected<Error> over_listing_budget() { return fs::refusal(ENOMEM, kOverBudget); }

bool is_over_budget(const Error& error) {
  return error.sys == ENOMEM && std::string_view(error.field) == kOverBudget;
}

bool ListingBudget::Core::take(std::uint64_t bytes) {
  for (;;) {
    const bool has_room = used.with([&](std::uint64_t& now) {
      if (bytes > limit - now) return false;
      now += bytes;
      return true;
    });
    if (has_room) return true;
    // A listing that a reader still holds gives nothing back; the next one may.
    if (!evict || !evict()) return false;
  }
}

void ListingBudget::Core::give_back(std::uint64_t bytes) {
  if (bytes == 0) return;
  used.with_and_wake([&](std::uint64_t& now) { now -= bytes; });
}

ListingBudget::Charge& ListingBudget::Charge::operator=(Charge&& other) noexcept {
  if (this == &other) return *this;
  release();
  core_ = std::move(other.core_);
  reserved_ = std::exchange(other.reserved_, 0);
  used_ = std::exchange(other.used_, 0);
  return *this;
}

bool ListingBudget::Charge::grow(std::uint64_t bytes) {
  if (bytes > reserved_ - used_) {
    const auto missing = bytes - (reserved_ - used_);
    if (core_ && !core_->take(missing)) return false;
    reserved_ += missing;
  }
  used_ += bytes;
  return true;
}

void ListingBudget::Charge::shrink_to(std::uint64_t bytes) {
  used_ = std::min(used_, bytes);
  if (core_) core_->give_back(reserved_ - used_);
  reserved_ = used_;
}

auto ListingBudget::Charge::split(std::uint64_t bytes) -> Charge {
  Charge part(core_);
  part.reserved_ = std::min(bytes, reserved_ - used_);
  reserved_ -= part.reserved_;
  return part;
}

void ListingBudget::Charge::release() {
  if (core_) core_->give_back(reserved_);
  reserved_ = used_ = 0;
}

auto ListingBudget::reserve(std::uint64_t bytes, std::chrono::milliseconds max_wait)
    -> Result<Charge> {
  const auto end = std::chrono::steady_clock::now() + max_wait;
  const auto is_late = [&] { return std::chrono::steady_clock::now() >= end; };
  Charge charge(core_);
  for (;;) {
    const auto before = used();
    if (core_->take(bytes)) break;
    core_->used.wait_unless([&] { return fs::interrupted() || is_late(); },
                            [&](std::uint64_t now) { return now < before; }, [](std::uint64_t) {});
    if (fs::interrupted()) return fs::system_error_of(EINTR, "listing");
    if (is_late()) return over_listing_budget();
  }
  charge.reserved_ = bytes;
  return charge;
}

std::function<std::shared_ptr<BodyMeter>()> body_meters(ListingBudget::Charge body,
                                                        std::uint64_t max_bytes) {
  const auto rest =
      std::make_shared<fs::Guarded<ListingBudget::Charge>>(std::in_place, std::move(body));
  return [rest, max_bytes]() -> std::shared_ptr<BodyMeter> {
    return std::make_shared<BodyCharge>(
        rest->with([&](auto& charge) { return charge.split(max_bytes); }));
  };
}

}  // namespace framefs::net
