#include "src/check/cmd_check.h"

#include <cerrno>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "fs/core/diagnostics/error_map.h"
#include "fs/source/named_source.h"
#include "fs/source/suffixes.h"
#include "fs/tree/names/shown_stat.h"
#include "src/check/check_report.h"
#include "src/check/frame_checker.h"
#include "src/check/frame_rehasher.h"
#include "src/check/frame_rescue.h"
#include "src/cli/arguments.h"
#include "src/cli/cause_text.h"
#include "src/cli/collected_log.h"
#include "src/cli/exit_codes.h"
#include "src/cli/filter_options.h"
#include "src/cli/progress_bar.h"
#include "src/cli/remote_access.h"
#include "src/cli/remote_opener.h"
#include "src/cli/size_text.h"
#include "src/cli/source_walk.h"
#include "src/cli/text_output.h"
#include "src/cli/tree_walk.h"
#include "src/info/container_listing.h"
#include "src/mount/held_signals.h"
#include "src/pack/made_outputs.h"
#include "src/pack/replacement_file.h"

namespace framefs {
namespace {

namespace stdfs = std::filesystem;

constexpr const char* kIndexFile = "chunks.b2frame";

struct CheckCommand {
  std::vector<std::string> paths;
  TreeFilter filter;
  std::string out;
  bool repair = false;
  bool rehash = false;
  RescueOptions rescue;
  bool json = false;
  bool verbose = false;
  bool quiet = false;
  unsigned threads = 0;
  fs::RemoteOptions remote;
};

void add_options(CLI::App& app, CheckCommand& command) {
  app.add_option("FRAME", command.paths,
                 "Frames, containers, and directories, of which every frame is checked; also URLs")
      ->transform(path_or_url())
      ->required();
  app.add_flag("--repair", command.repair,
               "Save what is left of a damaged frame as a new frame, OUT; FRAME stays as it is");
  app.add_flag("--rehash", command.rehash,
               "Give each sound frame checksums, or new ones if those that it has do not count");
  app.add_option("-o,--output", command.out, "The frame to make, or a directory for the frames")
      ->option_text("OUT");
  app.add_flag("-f,--force", command.rescue.may_replace, "Replace existing frames");
  app.add_flag("--locking", command.rescue.locking, kLockingHelp);
  add_filter_options(app, command.filter);
  app.add_option("--threads", command.threads, "Threads that decode; 0: one for each CPU")
      ->check(whole_number(0, 1024))
      ->option_text("N")
      ->default_str("0");
  app.add_flag("--json", command.json, "Print one JSON array with an object for each frame");
  app.add_flag("-v,--verbose", command.verbose, "Print a line for each sound frame as well");
  app.add_flag("-q,--quiet", command.quiet, "Show no progress bar");
  add_remote_access_options(app, command.remote);
}

std::optional<std::string> misplaced_option(const CLI::App& app, const CheckCommand& command) {
  if ((command.repair || command.rehash) && has_url(command.paths)) {
    return "--repair and --rehash need a FRAME that is not a URL";
  }
  return misplaced_remote_option(app, command.paths);
}

std::optional<std::string> contradiction(const CheckCommand& command) {
  std::error_code none;
  if (command.repair && command.rehash) {
    return std::string("--repair and --rehash exclude each other");
  }
  if (command.repair && command.out.empty()) {
    return std::string("--repair needs a place for the new frame: -o OUT");
  }
  if (!command.repair && !command.out.empty()) return std::string("-o is for --repair");
  if (!command.repair && command.rescue.may_replace) return std::string("-f is for --repair");
  if (!command.repair && !command.rehash && command.rescue.locking) {
    return std::string("--locking is for --repair and --rehash");
  }
  const bool many = command.paths.size() > 1 || is_tree(command.paths.front());
  if (command.repair && many && !stdfs::is_directory(command.out, none)) {
    return fmt::format("{} is no directory, and there may be several frames to repair",
                       command.out);
  }
  return std::nullopt;
}

// One run of the command.
class Check {
 public:
  explicit Check(const CheckCommand& command)
      : command_(command),
        remote_(command.remote),
        pool_(command.threads),
        checker_(pool_),
        rehasher_(log_.log(), command.rescue.locking) {
    // A temporary file is removed, and a commit is finished, before the process ends.
    if (command.repair || command.rehash) signals_.emplace();
  }

  int run() {
    if (command_.json) out_.put("[");
    SourceWalk walk(
        command_.filter, limits_, remote_,
        [this](const VisitedSource& source, CollectedLog&) {
          check(source);
          return !is_stopped();
        },
        [this](const std::string& path, const codec::Error& error) {
          report_failure(path, error);
        });
    for (const auto& path : command_.paths) {
      if (is_stopped()) break;
      walk.walk(path, 0);
    }
    finish();
    const bool is_written = out_.end();
    const bool is_good = damaged_ == 0 && !has_failed_ && !is_stopped();
    return is_good && is_written ? kExitOk : kExitFailure;
  }

 private:
  [[nodiscard]] bool is_stopped() const { return signals_ && signals_->has_arrived(); }

  void check(const VisitedSource& source) {
    const auto& [path, file, is_member, place, found] = source;
    if (!found) {
      if (place && is_frame_without_index(*place)) {
        check_without_index(*place);
      } else {
        report_failure(path, found.error());
      }
      return;
    }
    if (const auto* const container = std::get_if<fs::ContainerDirectory>(&found->found)) {
      return check_container(file, *container);
    }
    const auto& origin = std::get<fs::FrameOrigin>(found->found);
    const auto other = !is_member && !command_.repair ? why_no_frame(file, origin) : std::nullopt;
    if (other) return report_failure(path, *other);
    check_frame(path, origin, place ? &*place : nullptr);
  }

  // Returns the error of a file that has neither the name nor the first bytes of a frame, and so is
  // no damaged frame.
  [[nodiscard]] std::optional<codec::Error> why_no_frame(const std::string& path,
                                                         const fs::FrameOrigin& origin) const {
    if (fs::expected_content(fs::name_part(path)) != fs::Expected::nothing) return std::nullopt;
    const auto frame = fs::open_frame_at(origin, limits_);
    if (frame) return std::nullopt;
    const auto& error = frame.error();
    const bool is_too_short =
        error.kind == codec::Errc::truncated && std::string_view(error.field) == "frame header";
    if (!is_no_frame(error) && !is_too_short) return std::nullopt;
    return codec::Error{.kind = codec::Errc::bad_field, .field = "frame magic"};
  }

  void check_container(const std::string& path, const fs::ContainerDirectory& directory) {
    const auto& [container, file, stat] = directory.container;
    visit_members(directory, limits_, [&](const ContainerMember& member) {
      const auto place = path + "/" + member.path;
      if (member.error) {
        report_failure(place, *member.error);
      } else if (member.kind == "frame" || member.kind == "array") {
        auto bytes = container->open_member(file, member.path);
        if (bytes) {
          check_frame(place, fs::contiguous_origin(std::move(*bytes), place), nullptr);
        } else {
          report_failure(place, bytes.error());
        }
      }
      return !is_stopped();
    });
  }

  // `place` is null for a member of a container.
  void check_frame(const std::string& path, const fs::FrameOrigin& origin, const fs::Place* place) {
    std::vector<Damage> damages;
    FrameReport report;
    {
      ProgressBar bar(path.substr(path.rfind('/') + 1), std::nullopt, command_.quiet);
      const auto found = [&](const Damage& damage) {
        if (command_.json) {
          damages.push_back(damage);
        } else {
          out_.put(damage_text(path, damage, command_.verbose));
        }
      };
      report = checker_.check(origin, found, [&](std::uint64_t done, std::uint64_t) {
        bar.update(done);
        return !is_stopped();
      });
    }
    if (!is_stopped()) finish_frame(path, report, damages, place);
  }

  // Reports a sparse frame whose index file is missing.
  void check_without_index(const fs::Place& place) {
    Damage damage;
    damage.part = "frame";
    damage.file = kIndexFile;
    damage.cause = "the index file is missing";
    if (!command_.json) out_.put(damage_text(place.path(), damage, command_.verbose));
    FrameReport report;
    report.damages = 1;
    finish_frame(place.path(), report, {damage}, &place);
  }

  // Prints the result for a frame and repairs it if that is asked for.
  void finish_frame(const std::string& path, const FrameReport& report,
                    const std::vector<Damage>& damages, const fs::Place* place) {
    ++frames_;
    decoded_ += report.nbytes;
    const bool is_rehashed = command_.rehash && place != nullptr && rehash(*place, report);
    if (!report.is_sound() && !is_rehashed) ++damaged_;
    if (!command_.json) put_report(path, report, is_rehashed);
    std::optional<Rescued> rescued;
    const auto to = target_of(path);
    if (command_.repair && place != nullptr && !report.is_sound()) {
      rescued = repair(*place, to, report);
    }
    if (!command_.json) return;
    begin_entry();
    out_.put(report_json(
        path, report, damages,
        {.to = to, .rescued = rescued ? &rescued->plan : nullptr, .is_rehashed = is_rehashed}));
  }

  void put_report(const std::string& path, const FrameReport& report, bool is_rehashed) {
    out_.put(unlisted_text(path, report));
    const bool is_wanted = command_.verbose || (!report.is_sound() && !command_.repair);
    if (is_wanted && !(is_rehashed && !report.is_sound())) out_.put(report_text(path, report));
    out_.put(elsewhere_text(path, report));
    out_.put(checksum_text(path, report, is_rehashed));
  }

  // Returns whether the frame got new checksums.
  bool rehash(const fs::Place& place, const FrameReport& report) {
    if (!report.wants_checksums()) return false;
    if (!report.may_be_rehashed()) {
      print_messages({fmt::format("{}: no new checksums for a damaged frame", place.path())});
      return false;
    }
    const auto done = rehasher_.rehash(place);
    if (!done) {
      has_failed_ = true;
      print_messages({fmt::format("{}: {}", place.path(), cause_text(done.error()))});
    }
    return done.has_value();
  }

  [[nodiscard]] stdfs::path target_of(const std::string& path) const {
    std::error_code none;
    const stdfs::path out(command_.out);
    return stdfs::is_directory(out, none) ? out / stdfs::path(path).filename() : out;
  }

  std::optional<Rescued> repair(const fs::Place& from, const stdfs::path& to,
                                const FrameReport& report) {
    const auto rescued = rescue(from, to);
    if (!rescued) {
      has_failed_ = true;
      if (is_stopped()) return std::nullopt;
      const auto& error = rescued.error();
      print_messages({error.is_of_target
                          ? failure_text(to.string(), error)
                          : fmt::format("{}: not repaired: {}", from.path(), cause_text(error))});
      return std::nullopt;
    }
    const auto& plan = rescued->plan;
    if (plan.is_whole() && report.mismatches == 0) {
      --damaged_;
      ++repaired_;
    }
    if (!command_.json) {
      for (const auto& line : rescue_text(to, plan, report)) out_.put(line + "\n");
    }
    return *rescued;
  }

  codec::Result<Rescued> rescue(const fs::Place& from, const stdfs::path& path) {
    FRAMEFS_TRY(const auto to, place_of_target(path));
    if (fs::is_same_object(from, to)) {
      return codec::of_target(fs::refusal(EINVAL, "is the damaged frame itself; -o names another"));
    }
    FRAMEFS_CHECK(made_.check(to, Output::result));
    ProgressBar bar("searching", std::nullopt, command_.quiet);
    const auto progress = [&](std::uint64_t done) {
      bar.update(done);
      return !is_stopped();
    };
    FRAMEFS_TRY(auto rescued, rescue_frame(from, to, command_.rescue, progress));
    made_.add(to, Output::result);
    return rescued;
  }

  void report_failure(const std::string& path, const codec::Error& error) {
    has_failed_ = true;
    ++unreadable_;
    if (!command_.json) {
      print_messages({fmt::format("{}: {}", path, cause_text(error))});
      return;
    }
    Damage damage;
    damage.part = "file";
    damage.cause = fs::describe(error);
    FrameReport report;
    report.damages = 1;
    begin_entry();
    out_.put(report_json(path, report, {damage}, {}));
  }

  void begin_entry() {
    out_.put(is_first_ ? "\n" : ",\n");
    is_first_ = false;
  }

  void finish() {
    if (command_.json) {
      out_.put("\n]\n");
      return;
    }
    const bool is_short = frames_ == 1 && damaged_ > 0;
    const bool is_empty = frames_ == 0 && unreadable_ > 0;
    if (is_stopped() || is_short || is_empty || (command_.verbose && frames_ == 1)) return;
    auto text = fmt::format("{} frame{} checked, {} decoded: ", frames_, frames_ == 1 ? "" : "s",
                            size_for_people(decoded_));
    if (damaged_ > 0) text += fmt::format("{} DAMAGED", damaged_);
    if (damaged_ > 0 && repaired_ > 0) text += ", ";
    if (repaired_ > 0) text += fmt::format("{} repaired without loss", repaired_);
    if (damaged_ == 0 && repaired_ == 0) text += "no damage";
    if (unreadable_ > 0) text += fmt::format("; {} COULD NOT BE CHECKED", unreadable_);
    out_.put(text + "\n");
  }

  const CheckCommand& command_;
  RemoteOpener remote_;
  const codec::Limits limits_;
  fs::WorkerPool pool_;
  FrameChecker checker_;
  CollectedLog log_;
  FrameRehasher rehasher_;
  TextOutput out_;
  std::optional<HeldSignals> signals_;
  MadeOutputs made_;
  std::uint64_t frames_ = 0;
  std::uint64_t damaged_ = 0;     // damaged and not repaired without loss
  std::uint64_t repaired_ = 0;    // damaged and repaired without loss
  std::uint64_t unreadable_ = 0;  // files that could not be checked
  std::uint64_t decoded_ = 0;
  bool has_failed_ = false;
  bool is_first_ = true;
};

constexpr CommandLine<CheckCommand> kCheckCommandLine{
    .name = "framefs check",
    .about =
        "Decodes every chunk of frames and checks every other part against the format's rules.",
    .add_options = add_options,
    .contradiction = contradiction,
    .misplaced = misplaced_option};

}  // namespace

CommandSyntax check_syntax() { return kCheckCommandLine.syntax(); }

int run_check(std::span<const std::string> arguments) {
  auto parsed = kCheckCommandLine.parse(arguments);
  if (!parsed) return parsed.error();
  auto& command = *parsed;
  return Check(command).run();
}

}  // namespace framefs
