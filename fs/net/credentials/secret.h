#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace framefs::net {

// Text that stays out of core dumps and is wiped when the last copy of the object is destroyed.
// Nothing prints a secret.  Text that is derived from a secret must not be logged either.
// Threads: as std::shared_ptr.
class Secret {
 public:
  Secret() = default;
  // Copies `text`.  The owner of the original must wipe it.
  explicit Secret(std::string_view text);

  [[nodiscard]] std::string_view reveal() const;
  [[nodiscard]] bool empty() const { return reveal().empty(); }

 private:
  class Page;
  std::shared_ptr<const Page> page_;
};

// Overwrites the content of a buffer of the caller.
void wipe(char* bytes, std::size_t size) noexcept;

}  // namespace framefs::net
