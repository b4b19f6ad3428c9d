#include "fs/net/http/transport.h"

#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "fs/core/files/file.h"
#include "fs/core/threads/guarded.h"

namespace framefs::net {
namespace {

using Landed = fs::Guarded<std::optional<Result<HttpAnswer>>>;

void land(Landed& landed, Result<HttpAnswer> answer) {
  landed.with_and_wake([&](auto& value) {
    if (!value) value = std::move(answer);
  });
}

// The callback of a request.  A transport that is stopped drops it uncalled; its destructor then
// ends the wait.
class Caller {
 public:
  explicit Caller(std::shared_ptr<Landed> landed) : landed_(std::move(landed)) {}
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  ~Caller() { land(*landed_, fs::system_error_of(ECANCELED, "HTTP transfer")); }
  void done(Result<HttpAnswer> answer) const { land(*landed_, std::move(answer)); }

 private:
  const std::shared_ptr<Landed> landed_;
};

}  // namespace

Result<HttpAnswer> perform(Transport& transport, HttpRequest request) {
  const auto landed = std::make_shared<Landed>();
  transport.submit(std::move(request),
                   [caller = std::make_shared<const Caller>(landed)](Result<HttpAnswer> answer) {
                     caller->done(std::move(answer));
                   });
  return landed->wait([](const auto& value) { return value.has_value(); },
                      [](auto& value) { return std::move(*value); });
}

}  // namespace framefs::net
