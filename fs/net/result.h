#pragma once

#include "codec/core/result.h"

namespace framefs::net {

using codec::Errc;
using codec::Error;
using codec::Result;
using codec::Status;

}  // namespace framefs::net
