#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "fs/core/threads/guarded.h"
#include "fs/net/http/http_message.h"
#include "fs/net/result.h"

namespace framefs::net {

// The memory that the listings of a mount may take together: listings that are kept, those that
// readers hold, and the answers from which they are made.  If there is no room, kept listings go
// first.
// Threads: any number.
class ListingBudget {
  struct Core {
    std::uint64_t limit = 0;
    std::function<bool()> evict;
    fs::Guarded<std::uint64_t> used;

    bool take(std::uint64_t bytes);
    void give_back(std::uint64_t bytes);
  };

 public:
  static constexpr std::uint64_t kBytes = 256 << 20;

  // A part of the budget, which goes back with the object.
  // Threads: one at a time.
  class Charge {
   public:
    // A charge that no budget limits, for commands that hold one listing.
    Charge() = default;
    Charge(Charge&& other) noexcept
        : core_(std::move(other.core_)),
          reserved_(std::exchange(other.reserved_, 0)),
          used_(std::exchange(other.used_, 0)) {}
    Charge& operator=(Charge&& other) noexcept;
    ~Charge() { release(); }

    // False if there is no room; the charge is unchanged.
    [[nodiscard]] bool grow(std::uint64_t bytes);
    // Gives back all but `bytes`.
    void shrink_to(std::uint64_t bytes);
    // Takes `bytes` of the part that is reserved and not used.
    [[nodiscard]] Charge split(std::uint64_t bytes);

   private:
    friend class ListingBudget;
    explicit Charge(std::shared_ptr<Core> core) : core_(std::move(core)) {}
    void release();

    std::shared_ptr<Core> core_;
    std::uint64_t reserved_ = 0;
    std::uint64_t used_ = 0;
  };

  explicit ListingBudget(std::uint64_t bytes = kBytes) : core_(std::make_shared<Core>()) {
    core_->limit = bytes;
  }

  // `evict` drops the oldest kept listing; false if there is none.  Must be called before charges
  // are made.
  void set_evict(std::function<bool()> evict) { core_->evict = std::move(evict); }

  // A charge of nothing.
  [[nodiscard]] Charge charge() const { return Charge(core_); }
  // Waits until there is room for `bytes`, up to a time: the caller may hold other charges, for
  // which another caller waits.
  // Errors: ENOMEM, see is_over_budget(); EINTR if the operation of this thread is interrupted.
  Result<Charge> reserve(std::uint64_t bytes, std::chrono::milliseconds max_wait);

  [[nodiscard]] std::uint64_t used() const {
    return core_->used.with([](std::uint64_t used) { return used; });
  }

 private:
  const std::shared_ptr<Core> core_;
};

// The error of a listing for which the budget has no room.
std::unexpected<Error> over_listing_budget();
bool is_over_budget(const Error& error);

// Makes the meters of a call's bodies, each of at most `max_bytes`: each attempt has one.  The
// first attempt may use the part of the budget that `body` has reserved.
std::function<std::shared_ptr<BodyMeter>()> body_meters(ListingBudget::Charge body,
                                                        std::uint64_t max_bytes);

}  // namespace framefs::net
