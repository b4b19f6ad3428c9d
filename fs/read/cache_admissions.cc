#include "fs/read/cache_admissions.h"

#include "codec/core/work_budget.h"

namespace framefs::fs {

bool Admissions::Admitted::has_room(std::uint64_t bytes, std::uint64_t budget) const noexcept {
  return sum == 0 || (sum <= budget && bytes <= budget - sum);
}

Admission Admissions::admit(std::uint64_t bytes) {
  return bytes <= small_reserve_ / kSmallShare ? admit_small(bytes) : admit_large(bytes);
}

// Small requests use the reserve, so they pass large requests that wait and large requests that
// hold the budget.
Admission Admissions::admit_small(std::uint64_t bytes) {
  const auto fits_budget = [&](const Admitted& admitted) {
    return admitted.queue.empty() && admitted.has_room(bytes, budget_);
  };
  const auto fits_reserve = [&](const Admitted& admitted) {
    return bytes <= small_reserve_ - admitted.reserve_sum;
  };
  return wait_admitted(
      [&](const Admitted& admitted) { return fits_budget(admitted) || fits_reserve(admitted); },
      [&](Admitted& admitted) {
        if (fits_budget(admitted)) {
          admitted.sum += bytes;
          return Admission(*this, bytes, Admission::Share::budget);
        }
        if (!fits_reserve(admitted)) return Admission();  // cancelled
        admitted.reserve_sum += bytes;
        return Admission(*this, bytes, Admission::Share::reserve);
      });
}

// Large requests are admitted in the order of their arrival.
Admission Admissions::admit_large(std::uint64_t bytes) {
  const auto place = admitted_.with([](Admitted& admitted) {
    return admitted.queue.insert(admitted.queue.end(), Admitted::Waiting{});
  });
  const auto is_ready = [&](const Admitted& admitted) {
    return &admitted.queue.front() == &*place && admitted.has_room(bytes, budget_);
  };
  auto admission = wait_admitted(is_ready, [&](Admitted& admitted) {
    const bool is_admitted = is_ready(admitted);
    admitted.queue.erase(place);
    if (!is_admitted) return Admission();  // cancelled
    admitted.sum += bytes;
    return Admission(*this, bytes, Admission::Share::budget);
  });
  admitted_.wake();  // the next in the queue may fit as well
  return admission;
}

std::size_t Admissions::waiting_large() const {
  return admitted_.with([](const Admitted& admitted) { return admitted.queue.size(); });
}

template <class Ready, class Take>
Admission Admissions::wait_admitted(const Ready& ready, const Take& take) {
  auto* const budget = codec::current_work_budget();
  if (budget == nullptr) return admitted_.wait(ready, take);
  return admitted_.wait_unless([&] { return budget->is_cancelled(); }, ready, take);
}

std::optional<Admission> Admissions::try_admit(std::uint64_t bytes) {
  const auto most = budget_ / 2;
  return admitted_.with([&](Admitted& admitted) -> std::optional<Admission> {
    if (!admitted.queue.empty()) return std::nullopt;
    if (admitted.sum > most || bytes > most - admitted.sum) return std::nullopt;
    admitted.sum += bytes;
    return Admission(*this, bytes, Admission::Share::budget);
  });
}

Admission& Admission::operator=(Admission&& other) noexcept {
  std::swap(admissions_, other.admissions_);
  std::swap(bytes_, other.bytes_);
  std::swap(share_, other.share_);
  return *this;
}

Admission::~Admission() {
  if (admissions_ == nullptr || bytes_ == 0) return;
  admissions_->admitted_.with_and_wake([&](Admissions::Admitted& admitted) {
    (share_ == Share::budget ? admitted.sum : admitted.reserve_sum) -= bytes_;
  });
}

}  // namespace framefs::fs
