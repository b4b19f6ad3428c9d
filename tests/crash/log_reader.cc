#include "tests/crash/log_reader.h"

#include <fstream>
#include <string_view>
#include <system_error>

#include <fmt/core.h>

namespace framefs::test {
namespace {

std::string_view as_text(std::span<const std::byte> bytes) {
  return {as_chars(bytes.data()), bytes.size()};
}

const char* kind_name(RecordKind kind) {
  constexpr const char* kNames[] = {"?",        "create", "open unnamed", "write",   "truncate",
                                    "allocate", "sync",   "sync all",     "synced",  "rename",
                                    "link",     "unlink", "mkdir",        "symlink", "mark"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace

std::string Record::text() const {
  if (head.kind == RecordKind::mark) return fmt::format("mark {}", as_text(data));
  return fmt::format("{} {} {} offset {} size {} flags {:x} with {} bytes", kind_name(head.kind),
                     path, path2, head.offset, head.size, head.flags, data.size());
}

std::optional<LogReader> LogReader::open(const std::filesystem::path& path) {
  LogReader log;
  std::error_code error;
  log.bytes_.resize(std::filesystem::file_size(path, error));
  std::ifstream in(path, std::ios::binary);
  in.read(as_chars(log.bytes_.data()), static_cast<std::streamsize>(log.bytes_.size()));
  if (error || !in) return std::nullopt;

  std::span<const std::byte> rest(log.bytes_);
  const auto take = [&rest](std::size_t size) {
    const auto taken = rest.first(size);
    rest = rest.subspan(size);
    return taken;
  };
  while (!rest.empty()) {
    if (rest.size() < sizeof(RecordHead)) return std::nullopt;
    Record record{.head = as_head(take(sizeof(RecordHead))), .path = {}, .path2 = {}, .data = {}};
    const auto& head = record.head;
    if (head.kind < RecordKind::create || head.kind > RecordKind::mark) return std::nullopt;
    if (head.data_size > rest.size() ||
        std::uint64_t{head.path_size} + head.path2_size > rest.size() - head.data_size) {
      return std::nullopt;
    }
    record.path = as_text(take(head.path_size));
    record.path2 = as_text(take(head.path2_size));
    record.data = take(head.data_size);
    log.records_.push_back(std::move(record));
  }
  return log;
}

}  // namespace framefs::test
