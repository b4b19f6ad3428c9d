#pragma once

#include <functional>
#include <stop_token>
#include <thread>

namespace framefs::fs {

// Starts a thread in which all signals are blocked: those that end the mount are for the thread that
// waits for them.
std::jthread background_thread(std::function<void(std::stop_token)> body);

// From now on the calling thread leaves the processors to all others that have something to do, but for a
// little: who waits for what it has begun does not wait for ever, however busy the machine is.
void give_way() noexcept;

}  // namespace framefs::fs
