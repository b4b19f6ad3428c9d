#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace framefs::fs {

// Passes all reports that a non-blocking inotify descriptor has now to `take`: the descriptor of
// the watch, the events, and the name in the watched directory, which may be empty.  Does not wait:
// reports that come later are of changes that came later.  Returns false if the descriptor cannot
// be read.
using TakeReport = std::function<void(int watch, std::uint32_t events, std::string_view name)>;
bool take_inotify_reports(int inotify, const TakeReport& take);

// Whether inotify reports the changes of the directory and of its files that programs make by their
// names: no other machine, no other layer and no key of fscrypt changes them, except through a
// server of NFS on this machine.
bool is_reported_by_inotify(int directory) noexcept;

}  // namespace framefs::fs
