#include "tests/crash/mark_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/crash/record.h"
#include "tests/support/bytes.h"

namespace framefs::test {

MarkLog::MarkLog(const std::string& path)
    : fd_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) {}

void MarkLog::write(const std::string& mark) const {
  Bytes record;
  append(record, as_stored({.kind = RecordKind::mark, .data_size = mark.size()}));
  append(record, mark);
  if (::write(fd_.get(), record.data(), record.size()) != static_cast<ssize_t>(record.size())) {
    std::perror("cannot write to the log");
    std::abort();
  }
}

void MarkLog::file(std::uint64_t id, const std::string& name, std::uint64_t hash) const {
  write(fmt::format("file {} {} {:016x}", id, name, hash));
}

void MarkLog::state(std::uint64_t id, std::optional<std::uint64_t> hash) const {
  write(hash ? fmt::format("state {} {:016x}", id, *hash) : fmt::format("state {} any", id));
}

void MarkLog::synced(std::uint64_t id) const { write(fmt::format("synced {}", id)); }

void MarkLog::replaces(std::uint64_t id, std::uint64_t other, const std::string& name) const {
  write(fmt::format("replaces {} {} {}", id, other, name));
}

void MarkLog::replaced(std::uint64_t id) const { write(fmt::format("replaced {}", id)); }

void MarkLog::leaves(std::uint64_t id, const std::string& name) const {
  write(fmt::format("leaves {} {}", id, name));
}

void MarkLog::names(std::uint64_t id, std::initializer_list<std::string> names) const {
  write(fmt::format("names {} {}", id, fmt::join(names, " ")));
}

}  // namespace framefs::test
