#pragma once

#include <string_view>

#include "fs/net/credentials/credentials.h"

namespace framefs::net {

// Parses the answer of a metadata endpoint or a credential process.
// Errors: bad_field.
Result<Credentials> parse_credential_json(std::string_view json);

}  // namespace framefs::net
