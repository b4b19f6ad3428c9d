#pragma once

#include <functional>
#include <stop_token>
#include <thread>

namespace framefs::fs {

// Starts a thread in which all signals are blocked. The signals that end the mount are for the
// thread that waits for them.
// Errors: throws std::system_error if the system allows no more threads.
std::jthread background_thread(std::function<void(std::stop_token)> body);

// Starts the thread unless it has been started.  Returns false if the system allows no more
// threads: the next call tries again.
bool start_thread(std::jthread& thread, std::function<void(std::stop_token)> body);

// Lowers the priority of the calling thread for the rest of its life. Other threads then preempt
// it, but it still gets a small share of the CPU: a thread that waits for its result is delayed,
// but not blocked, however busy the machine is.
void give_way() noexcept;

}  // namespace framefs::fs
