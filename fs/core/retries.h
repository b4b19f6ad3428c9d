#pragma once

namespace framefs::fs {

// Counts how often work was done in vain because what it looks at changed meanwhile: another
// program or another thread was faster.  All such work has this one limit.  It is far above what
// happens by chance, so a thread that reaches it has met a program that changes the same file all
// the time.
//
//   for (Retries retries;;) {
//     ...
//     if (is_unchanged || !retries.are_left()) return result;
//   }
class Retries {
 public:
  static constexpr int kMost = 100;

  // Counts one attempt.  Returns whether there may be another one.
  [[nodiscard]] bool are_left() noexcept { return ++count_ < kMost; }

 private:
  int count_ = 0;
};

}  // namespace framefs::fs
