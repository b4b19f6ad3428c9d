#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace framefs::net {

// Text that stays out of core dumps and is wiped when the last copy of the object goes.  Nothing
// prints one; what is derived from it must not be logged either.
// Threads: as std::shared_ptr.
class Secret {
 public:
  Secret() = default;
  // Copies `text`; who has the original wipes it.
  explicit Secret(std::string_view text);

  [[nodiscard]] std::string_view reveal() const;
  [[nodiscard]] bool empty() const { return reveal().empty(); }

 private:
  class Page;
  std::shared_ptr<const Page> page_;
};

// Overwrites what a buffer of the caller's held.
void wipe(char* bytes, std::size_t size) noexcept;

}  // namespace framefs::net
