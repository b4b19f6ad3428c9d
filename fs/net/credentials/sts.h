#pragma once

#include <span>
#include <string>
#include <string_view>

#include "fs/net/credentials/credentials.h"
#include "fs/net/http/http_message.h"
#include "fs/net/store/sigv4.h"

namespace framefs::net {

// Requests to the Security Token Service, which gives credentials of roles.
// Source: https://docs.aws.amazon.com/STS/latest/APIReference/

// A request with the parameters as its body.
// Errors: bad_field if the endpoint is not a URL.
Result<HttpRequest> sts_request(const std::string& endpoint, std::span<const QueryParameter> form);

// The credentials in the answer to `action`.  Errors: bad_field.
Result<Credentials> parse_sts_answer(std::string_view xml, const std::string& action);

}  // namespace framefs::net
