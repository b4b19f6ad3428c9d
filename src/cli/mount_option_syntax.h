#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace framefs {

// Translates the words of `-o WORD[,WORD]`, as mount(8) and fstab(5) write them, into framefs
// options.  "cache_size=64M" becomes "--cache-size=64M".  A word for the kernel becomes a "--vfs"
// option, such as "--vfs=noexec".  A word for mount(8) alone is dropped.
// Errors: the first unknown word.
std::expected<std::vector<std::string>, std::string> expand_mount_options(std::string_view words);

}  // namespace framefs
