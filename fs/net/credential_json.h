#pragma once

#include <string_view>

#include "fs/net/credentials.h"

namespace framefs::net {

// What metadata endpoints and credential processes answer with.
// Errors: bad_field.
Result<Credentials> parse_credential_json(std::string_view json);

}  // namespace framefs::net
