#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace framefs::net {

// The facts that a listing gives about one name.
struct RemoteEntry {
  std::string name;  // one segment, as users see it
  bool is_directory = false;
  bool is_exact = true;  // size, time and ETag are exact; otherwise only stat() knows them
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::string etag;  // strong; "" if there is none
  // The first bytes of the object, if the listing has them.
  std::shared_ptr<const std::vector<std::byte>> head = nullptr;

  bool operator==(const RemoteEntry&) const = default;
};

// The maximum size of an answer that is a listing, or a page of one, and of the entries in it.
inline constexpr std::uint64_t kMaxListingBodyBytes = 64 << 20;
inline constexpr std::size_t kMaxListingEntries = 2'000'000;

// Whether a file can have this name: it is not "", "." or "..", has no slash or zero byte, and at
// most 255 bytes.
bool is_file_name(std::string_view name);

}  // namespace framefs::net
