#include "fs/net/transport.h"

#include <future>
#include <memory>
#include <utility>

namespace framefs::net {

Result<HttpAnswer> perform(Transport& transport, HttpRequest request) {
  // The promise is shared, because the transport may still be inside set_value() when the waiter
  // continues.
  const auto promise = std::make_shared<std::promise<Result<HttpAnswer>>>();
  auto answer = promise->get_future();
  transport.submit(std::move(request),
                   [promise](Result<HttpAnswer> got) { promise->set_value(std::move(got)); });
  return answer.get();
}

}  // namespace framefs::net
