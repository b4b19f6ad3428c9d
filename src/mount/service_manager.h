#pragma once

#include <string_view>

namespace framefs {

// Sends a state, such as "READY=1", to the service manager that started this process, as
// sd_notify(3) does.  Without a service manager, does nothing.
void tell_service_manager(std::string_view state);

}  // namespace framefs
