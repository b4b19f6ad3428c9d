#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "fs/net/credentials/credentials.h"
#include "fs/net/http/http_message.h"

namespace framefs::net {

// A query in the form that both signature and URL use: sorted and fully encoded.
using QueryParameter = std::pair<std::string, std::string>;
std::string canonical_query(std::span<const QueryParameter> parameters);

// The scope in which a signature is valid.
struct SigningScope {
  std::string_view region;
  std::string_view service;
  UnixSeconds time;
};

// The Authorization header of `request`.  It signs all headers of the request, and Host.
// Units: `payload_sha256` is hexadecimal.
// Source: AWS IAM User Guide, "Create a signed AWS API request"
// (docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html)
std::string sigv4_authorization(const HttpRequest& request, std::string_view payload_sha256,
                                const Credentials& credentials, const SigningScope& scope);

// Adds the headers that S3 requires to a request without a body: x-amz-date, x-amz-content-sha256,
// the session token and Authorization.  Anonymous credentials add nothing.
void sign_request(HttpRequest& request, const Credentials& credentials, const SigningScope& scope);

}  // namespace framefs::net
