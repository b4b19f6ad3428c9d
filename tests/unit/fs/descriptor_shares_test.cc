#include "fs/core/resources/descriptor_shares.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <cerrno>
#include <vector>

#include "tests/support/catch.h"

namespace framefs::fs::descriptor_shares_test {
namespace {

constexpr rlim_t kLimit = 400;
constexpr std::size_t kReserve = kLimit / 4;

// Lowers the limit of open files for as long as it lives.
class FewDescriptors {
 public:
  FewDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{.rlim_cur = kLimit, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

struct Opened {
  DescriptorShares::Share share;
  UniqueFd file;
};

// Opens files for a user until no more are allowed.
std::vector<Opened> open_all(DescriptorShares& shares, uid_t user) {
  std::vector<Opened> opened;
  while (true) {
    auto share = shares.take(user);
    if (!share) {
      CHECK(share.error().sys == ENFILE);
      return opened;
    }
    UniqueFd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    REQUIRE(file);
    opened.push_back({std::move(*share), std::move(file)});
  }
}

TEST_CASE("descriptor_shares: one user gets all but the reserve", "[fs][descriptor_shares][unit]") {
  const FewDescriptors few;
  DescriptorShares shares(false);
  const auto first = open_all(shares, 1).size();
  CHECK(first > kLimit / 2);
  CHECK(first <= kLimit - kReserve);
  // All were given back.
  CHECK(open_all(shares, 1).size() == first);
}

TEST_CASE("descriptor_shares: each of several users gets as many as are left for the others",
          "[fs][descriptor_shares][unit]") {
  const FewDescriptors few;
  DescriptorShares shares(true);
  const auto first = open_all(shares, 1);
  const auto second = open_all(shares, 2);
  const auto third = open_all(shares, 3);
  CHECK(first.size() <= (kLimit - kReserve) / 2);
  CHECK(first.size() > kLimit / 4);
  CHECK(second.size() > first.size() / 3);
  CHECK(third.size() > second.size() / 3);
  CHECK(first.size() + second.size() + third.size() < kLimit - kReserve);
}

TEST_CASE("descriptor_shares: descriptors for anything else count",
          "[fs][descriptor_shares][unit]") {
  const FewDescriptors few;
  DescriptorShares shares(true);
  const auto before = open_all(shares, 1).size();
  std::vector<UniqueFd> others(kLimit / 4);
  for (auto& file : others) file = UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  CHECK(open_all(shares, 1).size() <= before - others.size() / 2);
}

TEST_CASE("descriptor_shares: an open file may need several", "[fs][descriptor_shares][unit]") {
  const FewDescriptors few;
  DescriptorShares shares(true);
  auto large = shares.take(1).value();
  large.grow(kLimit);
  CHECK(shares.take(1).error().sys == ENFILE);
  CHECK(shares.take(2));
  auto moved = std::move(large);
  CHECK(shares.take(1).error().sys == ENFILE);
  moved = {};
  CHECK(shares.take(1));
}

}  // namespace
}  // namespace framefs::fs::descriptor_shares_test
