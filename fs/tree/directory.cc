#include "fs/tree/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "fs/tree/name_policy.h"

namespace framefs::fs {
namespace {

struct CloseDirectory {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

bool is_dot(std::string_view name) { return name == "." || name == ".."; }

Result<std::vector<DirectoryEntry>> read_entries(int directory) {
  // A description of its own, so that two listings of one directory do not share a position.
  UniqueFd own(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own) return system_error("opendir");
  const std::unique_ptr<DIR, CloseDirectory> stream(::fdopendir(own.get()));
  if (!stream) return system_error("opendir");
  [[maybe_unused]] const int moved = own.release();
  std::vector<DirectoryEntry> entries;
  while (true) {
    errno = 0;
    const dirent* const entry = ::readdir(stream.get());
    if (entry == nullptr) {
      if (errno != 0) return system_error("readdir");
      return entries;
    }
    const std::string name(entry->d_name);
    if (is_dot(name)) continue;
    entries.push_back({name, name, entry->d_ino, entry->d_type, std::nullopt});
  }
}

}  // namespace

Result<std::vector<DirectoryEntry>> Directory::list(int directory) const {
  FRAMEFS_TRY(auto entries, read_entries(directory));
  show_frames(directory, entries);
  std::erase_if(entries, [](const auto& entry) { return is_hidden(entry.source_name); });
  return entries;
}

void Directory::show_frames(int directory, std::vector<DirectoryEntry>& entries) const {
  std::vector<DirectoryEntry*> candidates;
  for (auto& entry : entries) {
    const bool may_be_file = entry.type == DT_REG || entry.type == DT_UNKNOWN;
    if (may_be_file && stripped_name(entry.source_name)) candidates.push_back(&entry);
  }
  pool_.run(candidates.size(), [&](std::size_t i) {
    if (auto file = probe_.probe(directory, candidates[i]->source_name)) {
      candidates[i]->file = *file;
    }
  });
  if (keep_suffix_) return;
  std::erase_if(candidates,
                [](const auto* entry) { return !entry->file || !entry->file->summary.is_frame; });

  std::unordered_set<std::string_view> names;
  for (const auto& entry : entries) names.insert(entry.source_name);
  std::unordered_map<std::string_view, std::size_t> claims;
  for (const auto* entry : candidates) ++claims[*stripped_name(entry->source_name)];
  for (auto* entry : candidates) {
    const auto shorter = *stripped_name(entry->source_name);
    if (!names.contains(shorter) && claims[shorter] == 1) entry->shown_name = shorter;
  }
}

// For a frame whose shorter name no entry of the directory has.
bool Directory::is_shown_stripped(int directory, const std::string& frame) const {
  const std::string shorter(*stripped_name(frame));
  struct stat st{};
  if (::fstatat(directory, shorter.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) return false;
  for (const auto suffix : kFrameSuffixes) {
    const auto other = shorter + std::string(suffix);
    if (other == frame) continue;
    const auto file = probe_.probe(directory, other);
    if (file && file->summary.is_frame) return false;
  }
  return true;
}

Result<Directory::Found> Directory::find(int directory, const std::string& shown_name) const {
  const auto missing = system_error_of(ENOENT, "lookup");
  if (auto file = probe_.probe(directory, shown_name)) {
    const bool renamed =
        file->summary.is_frame && !keep_suffix_ && is_shown_stripped(directory, shown_name);
    if (renamed || is_hidden(shown_name)) return missing;
    return Found{shown_name, *file};
  } else if (file.error().sys != ENOENT) {
    return std::unexpected(file.error());
  }
  if (keep_suffix_) return missing;
  std::optional<Found> found;
  for (const auto suffix : kFrameSuffixes) {
    const auto name = shown_name + std::string(suffix);
    const auto file = probe_.probe(directory, name);
    if (!file || !file->summary.is_frame || stripped_name(name) != shown_name) continue;
    if (found) return missing;  // two frames claim the name: neither has it
    found = Found{name, *file};
  }
  if (!found) return missing;
  return *found;
}

}  // namespace framefs::fs
