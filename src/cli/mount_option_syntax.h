#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace framefs {

// Turns the words of `-o WORD[,WORD]`, as mount(8) and fstab(5) have them, into options of our own:
// "cache_size=64M" becomes "--cache-size=64M", what concerns the kernel "--vfs=noexec"; what
// concerns mount(8) alone is dropped.
// Errors: the word that means nothing here.
std::expected<std::vector<std::string>, std::string> expand_mount_options(std::string_view words);

}  // namespace framefs
