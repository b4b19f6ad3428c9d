#pragma once

#include <sys/types.h>

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "codec/core/error.h"
#include "codec/core/result.h"
#include "fs/core/files/file.h"
#include "fs/core/threads/guarded.h"

namespace framefs::fs {

// Whether opening a file failed because the process or the system has no room for another one.
// Such a failure says nothing about the file.
[[nodiscard]] bool is_shortage(const Error& error) noexcept;

// Divides the process's file descriptors among the users that have files open in the mount.  Each
// open file and directory takes descriptors for as long as a program likes, and the system allows
// the process a certain number of them.  A part is reserved for requests, which need a few each, so
// that names, attributes and open files can be read whatever users have open.  One user gets at
// most as many of the rest as are left for all others: half of them, if nobody else has any.
// Threads: any number.
class DescriptorShares {
 public:
  // Descriptors of one user.  They are given back when it is destroyed.
  // Lifetime: the `DescriptorShares` outlive it.
  class Share {
   public:
    Share() = default;
    Share(Share&& other) noexcept
        : shares_(std::exchange(other.shares_, nullptr)),
          user_(other.user_),
          count_(std::exchange(other.count_, 0)) {}
    Share& operator=(Share&& other) noexcept;
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() { give_back(); }

    // The open file has turned out to need more of them.
    void grow(std::uint64_t more);

   private:
    friend class DescriptorShares;
    Share(DescriptorShares& shares, uid_t user) : shares_(&shares), user_(user), count_(1) {}
    void give_back() noexcept;

    DescriptorShares* shares_ = nullptr;
    uid_t user_ = 0;
    std::uint64_t count_ = 0;
  };

  // `is_for_all`: the mount admits other users than the one that made it.
  explicit DescriptorShares(bool is_for_all);
  DescriptorShares(const DescriptorShares&) = delete;
  DescriptorShares& operator=(const DescriptorShares&) = delete;
  ~DescriptorShares() = default;

  // Call this before a file is opened for a user.  Errors: system, ENFILE.
  Result<Share> take(uid_t user);

 private:
  struct State {
    std::unordered_map<uid_t, std::uint64_t> counts;
    std::uint64_t unused = 0;  // descriptors, when they were counted last
    unsigned taken_since = 0;
  };
  [[nodiscard]] std::uint64_t unused() const noexcept;

  const bool is_for_all_;
  const std::uint64_t capacity_;  // without the reserve
  const UniqueFd probe_;
  Guarded<State> state_;
};

}  // namespace framefs::fs
