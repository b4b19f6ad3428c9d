// Checks the frames that a killed daemon left behind.
//
//   framefs_crash_verify LOG SOURCE [--plain]
//
// LOG has the marks of framefs_crash_workload.  Each of its files must be in SOURCE, in the state
// of its last sync or a later one, and each name over which files were renamed must lead to the old
// or the new file; otherwise the exit code is 1.  With --plain, files may also be plain files, in
// which a killed daemon may leave its last write incomplete.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fs/core/diagnostics/error_map.h"
#include "tests/crash/frame_state.h"
#include "tests/crash/history.h"
#include "tests/crash/log_reader.h"

namespace framefs::test {
namespace {

namespace stdfs = std::filesystem;

Bytes read_file(const stdfs::path& path) {
  Bytes bytes(stdfs::file_size(path));
  std::ifstream in(path, std::ios::binary);
  in.read(as_chars(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

struct Entry {
  stdfs::path path;
  bool is_frame = false;
};

// Finds the entry that is shown under a name.  A plain file hides a frame.
std::optional<Entry> find_entry(const stdfs::path& source, const std::string& name) {
  if (stdfs::is_regular_file(source / name)) return Entry{source / name, false};
  for (const auto& entry : stdfs::directory_iterator(source)) {
    if (shown_frame_name(entry.path().filename().string()) == name)
      return Entry{entry.path(), true};
  }
  return std::nullopt;
}

codec::Result<std::uint64_t> state_of(const Entry& entry) {
  if (!entry.is_frame) return state_hash(read_file(entry.path), {});
  FrameFiles files;
  if (stdfs::is_directory(entry.path)) {
    for (const auto& file : stdfs::directory_iterator(entry.path)) {
      files[file.path().filename()] = read_file(file.path());
    }
  } else {
    files[""] = read_file(entry.path);
  }
  return frame_state(files);
}

// Returns the error; empty if there is none.
std::string check(const stdfs::path& source, const History::File& file, bool may_be_plain,
                  bool& is_latest) {
  std::string text = "it is gone";
  for (const auto& name : file.names) {
    if (name == History::kNoName) return {};
    const auto entry = find_entry(source, name);
    if (!entry) continue;
    if (may_be_plain && !entry->is_frame) return {};
    const auto state = state_of(*entry);
    if (!state) {
      text = fmt::format("{} cannot be read: {}", name, fs::describe(state.error()));
      continue;
    }
    const auto verdict = judge(file, file.promise.of(entry->is_frame).value_or(0), *state);
    is_latest = verdict.is_latest;
    if (verdict.is_allowed) return {};
    text = verdict.text;
  }
  return text;
}

// The same for a name over which files were renamed: it leads to one of the last two files.
std::string check_name(const stdfs::path& source, const std::string& name, const History& history,
                       const History::Holders& holders, bool may_be_plain) {
  const auto entry = find_entry(source, name);
  if (!entry) return "it is gone";
  if (may_be_plain && !entry->is_frame) return {};
  const auto state = state_of(*entry);
  if (!state) return fmt::format("it cannot be read: {}", fs::describe(state.error()));
  std::string text;
  for (auto holder = holders.rbegin(); holder != holders.rbegin() + 2; ++holder) {
    const auto oldest = holder->promise.of(entry->is_frame).value_or(0);
    const auto verdict = judge(history.files().at(holder->id), oldest, *state);
    if (verdict.is_allowed) return {};
    text += fmt::format("{}file {}: {}", text.empty() ? "" : "; ", holder->id, verdict.text);
  }
  return text;
}

bool run(const std::string& log_path, const stdfs::path& source, bool may_be_plain) {
  const auto log = LogReader::open(log_path);
  if (!log) {
    fmt::print(stderr, "{} is no whole log\n", log_path);
    return false;
  }
  History history;
  for (const auto& record : log->records()) {
    if (record.head.kind != RecordKind::mark) continue;
    history.add({as_chars(record.data.data()), record.data.size()});
  }
  std::size_t wrong = 0;
  std::size_t latest = 0;
  for (const auto& [id, file] : history.files()) {
    // "No name" comes last, so that all names are tried first.
    auto ordered = file;
    std::ranges::stable_partition(ordered.names,
                                  [](const auto& name) { return name != History::kNoName; });
    bool is_latest = false;
    const auto text = check(source, ordered, may_be_plain, is_latest);
    latest += is_latest ? 1 : 0;
    if (text.empty()) continue;
    ++wrong;
    const auto& promised = file.promise.frame;
    fmt::print(stderr, "{} (file {}, {} states, synced {}): {}\n", fmt::join(file.names, " or "),
               id, file.states.size(), promised ? std::to_string(*promised) : "never", text);
  }
  for (const auto& [name, holders] : history.replaced()) {
    const auto text = check_name(source, name, history, holders, may_be_plain);
    if (text.empty()) continue;
    ++wrong;
    fmt::print(stderr, "{}, renamed over {} times: {}\n", name, holders.size() - 1, text);
  }
  fmt::print("{} files, {} in their latest state, {} replaced names, {} wrong\n",
             history.files().size(), latest, history.replaced().size(), wrong);
  return wrong == 0;
}

}  // namespace
}  // namespace framefs::test

int main(int argc, char** argv) {
  const bool may_be_plain = argc == 4 && std::string_view(argv[3]) == "--plain";
  if (argc != 3 && !may_be_plain) {
    std::cerr << "usage: framefs_crash_verify LOG SOURCE [--plain]\n";
    return 2;
  }
  return framefs::test::run(argv[1], argv[2], may_be_plain) ? 0 : 1;
}
