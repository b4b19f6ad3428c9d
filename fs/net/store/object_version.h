#pragma once

#include <cstdint>
#include <string>

#include "fs/net/cache/content_key.h"
#include "fs/net/http/http_message.h"

namespace framefs::net {

// One version of an object.  Every answer about the object must agree with it.
struct ObjectVersion {
  std::string path;  // below the root of its store
  std::uint64_t size = 0;
  std::string etag;           // as the server writes it; "" if the server has none
  std::string last_modified;  // as the server writes it
  ContentKey key;             // hash of the store, the path and the fields above

  // Whether the server tells versions apart.  Otherwise each open has a version, and hence a key,
  // of its own.
  [[nodiscard]] bool has_validator() const { return !etag.empty() || !last_modified.empty(); }
  // Whether equal versions imply equal bytes.  Only then may the bytes outlive the mount, and only
  // then does the server compare versions for us.
  [[nodiscard]] bool is_strong() const { return !etag.empty() && !etag.starts_with("W/"); }
  bool operator==(const ObjectVersion&) const = default;
};

// The ETag of the headers, as the server writes it; "" if it has none, or an empty one.
std::string etag_of(const HttpHeaders& headers);
// The same if it is a strong one; otherwise "".
std::string strong_etag(const HttpHeaders& headers);

// Whether two ETags agree.  A weak one agrees with the strong one of the same text: a server may
// call an ETag weak as long as the file has just been changed.
bool etags_agree(std::string_view a, std::string_view b);

// The version that an answer with these headers describes.  `store` identifies server and root;
// `open_number` differs from open to open.
ObjectVersion make_version(std::string_view store, std::string path, std::uint64_t size,
                           const HttpHeaders& headers, std::uint64_t open_number = 0);

}  // namespace framefs::net
