#pragma once

namespace framefs::fs {

// The cases of a std::visit(), one function for each.  A variant for which a case is missing does
// not compile.
template <class... Functions>
struct Cases : Functions... {
  using Functions::operator()...;
};

}  // namespace framefs::fs
