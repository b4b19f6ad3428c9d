#include "fs/fuse/session/waiting_requests.h"

#include <vector>

namespace framefs::fuse {
namespace {

// The limit of requests that wait at a time; further ones wait for one of their threads.
constexpr std::size_t kMaxThreads = 32;
// The limit of bytes of all these requests.
constexpr std::size_t kMaxBytes = 32u << 20;

}  // namespace

WaitingRequests::WaitingRequests(Serve serve) : serve_(std::move(serve)), threads_(kMaxThreads) {}

bool WaitingRequests::add(const fuse_buf& request) {
  const auto size = request.size;
  const bool has_room = bytes_.with([&](std::size_t& bytes) {
    if (size > kMaxBytes - bytes) return false;
    bytes += size;
    return true;
  });
  if (!has_room) return false;
  const auto release = [this, size] { bytes_.with([&](std::size_t& bytes) { bytes -= size; }); };
  const auto* const begin = static_cast<const char*>(request.mem);
  const bool is_taken =
      threads_.add([this, release, bytes = std::vector<char>(begin, begin + size)]() mutable {
        fuse_buf copy{};
        copy.size = bytes.size();
        copy.mem = bytes.data();
        serve_(copy);
        release();
      });
  if (!is_taken) release();
  return is_taken;
}

}  // namespace framefs::fuse
