#include "fs/tree/names/gradual_listing.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <optional>
#include <utility>

namespace framefs::fs {
namespace {

// The entries that a thread names at a time.
constexpr std::size_t kPart = 128;
// The positions of a part.
constexpr std::size_t kPositions = kPart * FolderNames::kMaxNames;

}  // namespace

// The entries in parts.  A part is named by one thread at a time.  The helpers keep this alive.
class GradualListing::Parts {
 public:
  explicit Parts(std::unique_ptr<FolderNames> names)
      : names_(std::move(names)), parts_((names_->size() + kPart - 1) / kPart) {}

  [[nodiscard]] std::size_t count() const noexcept { return parts_.size(); }
  // The entries of a part that get() has found to be named.
  [[nodiscard]] const std::vector<DirectoryEntry>& entries(std::size_t part) const noexcept {
    return parts_[part].entries;
  }

  // Names a part, or waits until another thread has done so.  Returns false if the part has no
  // names yet and the caller may not wait.
  // Errors: those of FolderNames::add().
  Result<bool> get(std::size_t part, bool may_wait) {
    while (true) {
      const auto stage = stage_of(part, may_wait);
      if (stage == Stage::named) return true;
      if (!may_wait) return false;
      if (stage == Stage::open) FRAMEFS_CHECK(name(part));
    }
  }

  // Names all parts that no other thread has begun.
  void help() {
    progress_.with([](Progress& now) { ++now.helpers; });
    while (const auto part = take_next()) {
      if (!name(*part)) break;  // the reader gets the error
    }
    progress_.with_and_wake([](Progress& now) { --now.helpers; });
  }

  // Returns when no helper is at work.  Those that come later find nothing to do.
  void end() {
    is_ending_.store(true);
    progress_.wait([](const Progress& now) { return now.helpers == 0; }, [](const Progress&) {});
  }

 private:
  enum class Stage : std::uint8_t { open, begun, named };
  struct Part {
    std::vector<DirectoryEntry> entries;
    std::size_t next = 0;       // the entry of the part to be named next
    Stage stage = Stage::open;  // guarded by `progress_`
  };
  struct Progress {
    std::size_t next = 0;  // the parts before were begun
    std::size_t helpers = 0;
  };

  // If the caller may wait, an open part is begun for it, and another thread's one is waited for.
  Stage stage_of(std::size_t part, bool may_wait) {
    const auto begin = [&](const Progress&) {
      const auto stage = parts_[part].stage;
      if (stage == Stage::open && may_wait) parts_[part].stage = Stage::begun;
      return stage;
    };
    if (!may_wait) return progress_.with(begin);
    return progress_.wait([&](const Progress&) { return parts_[part].stage != Stage::begun; },
                          begin);
  }

  std::optional<std::size_t> take_next() {
    return progress_.with([&](Progress& now) -> std::optional<std::size_t> {
      while (now.next < parts_.size() && parts_[now.next].stage != Stage::open) ++now.next;
      if (is_ending_.load() || now.next == parts_.size()) return std::nullopt;
      parts_[now.next].stage = Stage::begun;
      return now.next++;
    });
  }

  // Names a part that this thread has begun.
  Status name(std::size_t number) {
    auto& part = parts_[number];
    const auto named = add_all(part, number * kPart);
    progress_.with_and_wake([&](Progress&) { part.stage = named ? Stage::named : Stage::open; });
    return named;
  }

  // Errors: those of FolderNames::add(); ENOMEM; ECANCELED if this is ending.  The next call goes
  // on where this one has stopped.
  Status add_all(Part& part, std::size_t begin) {
    const auto count = std::min(kPart, names_->size() - begin);
    try {
      part.entries.reserve(count);
      for (; part.next < count; ++part.next) {
        if (is_ending_.load()) return system_error_of(ECANCELED, "readdir");
        FRAMEFS_CHECK(names_->add(begin + part.next, part.entries));
      }
    } catch (const std::bad_alloc&) {
      return system_error_of(ENOMEM, "readdir");
    }
    return {};
  }

  const std::unique_ptr<FolderNames> names_;
  std::vector<Part> parts_;
  std::atomic<bool> is_ending_{false};
  Guarded<Progress> progress_;
};

GradualListing::GradualListing(std::unique_ptr<FolderNames> names, TaskThreads& threads,
                               std::size_t helpers)
    : parts_(std::make_shared<Parts>(std::move(names))) {
  // The reader names the only part itself.
  const auto useful = parts_->count() - std::min<std::size_t>(parts_->count(), 1);
  for (std::size_t i = 0; i < std::min(helpers, useful); ++i) {
    threads.add([parts = parts_] { parts->help(); });
  }
}

GradualListing::~GradualListing() { parts_->end(); }

Result<bool> GradualListing::read(std::uint64_t from, const Take& take) const {
  bool has_any = false;
  auto index = static_cast<std::size_t>(from % kPositions);
  for (auto part = static_cast<std::size_t>(from / kPositions); part < parts_->count(); ++part) {
    const auto is_named = parts_->get(part, !has_any);
    if (!is_named && !has_any) return is_named;
    if (!is_named || !*is_named) return false;
    const auto& entries = parts_->entries(part);
    for (; index < entries.size(); ++index) {
      if (!take(entries[index], part * kPositions + index + 1)) return false;
      has_any = true;
    }
    index = 0;
  }
  return true;
}

}  // namespace framefs::fs
