#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/net/http/url.h"

namespace framefs::net {

// The header fields of a request or an answer.  Their names are in lower case.
class HttpHeaders {
 public:
  using Field = std::pair<std::string, std::string>;

  // A field with control characters is left out: with a CR in it, a field that is sent back would
  // end there, and the rest would be a field of its own.
  void add(std::string_view name, std::string_view value);
  // Replaces a field of that name.
  void set(std::string_view name, std::string_view value);
  void remove(std::string_view name);
  // The value of the last field of that name.  Lifetime: until the next change.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const;
  [[nodiscard]] const std::vector<Field>& fields() const { return fields_; }
  void clear() { fields_.clear(); }

 private:
  std::vector<Field> fields_;
};

// Is told of the bytes of a body before they are kept.
class BodyMeter {
 public:
  BodyMeter() = default;
  BodyMeter(const BodyMeter&) = delete;
  BodyMeter& operator=(const BodyMeter&) = delete;
  virtual ~BodyMeter() = default;
  // False if there is no memory for them, which ends the answer.
  // Threads: the network thread.
  virtual bool take(std::uint64_t bytes) = 0;
};

// One complete request.  The bytes on the wire depend on nothing else.
struct HttpRequest {
  std::string method = "GET";
  Url url;
  HttpHeaders headers;
  std::string body;
  // An answer with a longer body is an error; the rest of the body is not kept.
  std::uint64_t max_body_bytes = 16 << 20;
  // Lives as long as the answer; null: none.
  std::shared_ptr<BodyMeter> meter = nullptr;
  std::chrono::milliseconds timeout{60'000};
  // A local request, to a metadata endpoint, ignores proxies.
  bool is_local = false;
  // Only a public address may be connected to: a public server has led here.
  bool is_public_only = false;
  // Whether ~/.netrc may have a login for the host.
  bool use_netrc = false;
  // Many requests to the same server will probably follow soon, and be sent together.
  bool is_first_of_many = false;
};

struct HttpAnswer {
  int status = 0;
  HttpHeaders headers;
  std::vector<std::byte> body;
  bool body_too_long = false;  // longer than the request allows; `body` is its beginning
  bool is_refused_by_meter = false;
  std::shared_ptr<BodyMeter> meter;  // of the request
  bool is_from_public = false;       // the server's address is a public one
  // The time until the first byte, and the total time.
  std::chrono::nanoseconds first_byte{0};
  std::chrono::nanoseconds total{0};

  [[nodiscard]] std::string_view text() const;
};

}  // namespace framefs::net
