#include "src/mount/fatal_signals.h"

#include <elf.h>
#include <link.h>
#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/core.h>

#include "src/cli/version.h"

namespace framefs {
namespace {

// A signal handler gets its data from globals only.
struct FatalReport {
  int log = -1;
  std::string before;
  std::string after;
};
FatalReport fatal_report;
// Several threads may fail at once; the first one reports.
std::atomic<bool> is_armed{false};
static_assert(std::atomic<bool>::is_always_lock_free);

const char* name_of(int signal) noexcept {
  switch (signal) {
    case SIGABRT:
      return "SIGABRT";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGILL:
      return "SIGILL";
    default:
      return "SIGSEGV";
  }
}

// Only calls that are safe in a signal handler.  SA_RESETHAND has restored the default action,
// which the second signal takes when the handler returns.
void report_and_die(int signal) {
  if (is_armed.exchange(false)) {
    const char* const name = name_of(signal);
    const auto piece = [](const char* text, std::size_t size) {
      return iovec{.iov_base = const_cast<char*>(text), .iov_len = size};  // only read
    };
    const std::array pieces = {piece(fatal_report.before.data(), fatal_report.before.size()),
                               piece(name, std::strlen(name)),
                               piece(fatal_report.after.data(), fatal_report.after.size())};
    [[maybe_unused]] const auto written =
        ::writev(fatal_report.log, pieces.data(), static_cast<int>(pieces.size()));
  }
  ::raise(signal);
}

// The notes of the program itself, the first object that the dynamic linker lists.
int find_build_id(dl_phdr_info* object, std::size_t /*size*/, void* found) {
  auto& id = *static_cast<std::string*>(found);
  for (const auto& header : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    if (header.p_type != PT_NOTE) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the address where the linker has put the notes
    const auto* at = reinterpret_cast<const unsigned char*>(object->dlpi_addr + header.p_vaddr);
    std::span rest(at, header.p_memsz);
    ElfW(Nhdr) note{};
    while (rest.size() >= sizeof(note)) {
      std::memcpy(&note, rest.data(), sizeof(note));
      const auto padded = [](std::size_t size) { return (size + 3) & ~std::size_t{3}; };
      const auto body = sizeof(note) + padded(note.n_namesz);
      const auto whole = body + padded(note.n_descsz);
      if (whole > rest.size()) break;
      const bool is_gnu = note.n_namesz == sizeof("GNU") &&
                          std::memcmp(rest.data() + sizeof(note), "GNU", sizeof("GNU")) == 0;
      if (is_gnu && note.n_type == NT_GNU_BUILD_ID) {
        for (const auto byte : rest.subspan(body, note.n_descsz)) id += fmt::format("{:02x}", byte);
        return 1;
      }
      rest = rest.subspan(whole);
    }
  }
  return 1;  // the other objects are libraries
}

}  // namespace

std::string build_id() {
  std::string id;
  ::dl_iterate_phdr(find_build_id, &id);
  return id;
}

FatalSignals::FatalSignals(int log, std::string before) {
  const auto id = build_id();
  fatal_report = {
      .log = log,
      .before = std::move(before) + "the daemon ends by the signal ",
      .after = fmt::format(" (framefs {}, build id {})\n", kVersion, id.empty() ? "unknown" : id)};
  is_armed.store(log >= 0);
  struct sigaction action{};
  action.sa_handler = report_and_die;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler == SIG_DFL) ::sigaction(kSignals[i], &action, nullptr);
  }
}

FatalSignals::~FatalSignals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  is_armed.store(false);
}

}  // namespace framefs
