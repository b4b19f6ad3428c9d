#include "src/info/cmd_info.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "codec/core/limits.h"
#include "fs/core/diagnostics/error_map.h"
#include "fs/inspect/chunk_info.h"
#include "fs/inspect/frame_info.h"
#include "fs/source/named_source.h"
#include "src/cli/arguments.h"
#include "src/cli/cause_text.h"
#include "src/cli/collected_log.h"
#include "src/cli/exit_codes.h"
#include "src/cli/filter_options.h"
#include "src/cli/remote_access.h"
#include "src/cli/remote_opener.h"
#include "src/cli/size_text.h"
#include "src/cli/source_walk.h"
#include "src/cli/text_output.h"
#include "src/cli/tree_walk.h"
#include "src/info/container_listing.h"
#include "src/info/info_json.h"
#include "src/info/info_table.h"

namespace framefs {
namespace {

struct InfoCommand {
  std::vector<std::string> frames;
  TreeFilter filter;
  bool json = false;
  bool chunks = false;
  std::uint64_t offset = 0;
  fs::RemoteOptions remote;
};

void add_options(CLI::App& app, InfoCommand& command) {
  app.add_option("FRAME", command.frames,
                 "Frames: files, or directories of sparse frames; containers, and their members as "
                 "CONTAINER/MEMBER; directories, of which every frame is described; URLs of all "
                 "these")
      ->transform(path_or_url())
      ->required();
  add_filter_options(app, command.filter);
  app.add_flag("--json", command.json, "Print one JSON array with an object for each frame");
  app.add_flag("--chunks", command.chunks, "Describe each chunk as well");
  app.add_option("--offset", command.offset,
                 "The position of the frame in its file, such as 4096 or 1M")
      ->transform(size_text())
      ->option_text("SIZE");
  add_remote_access_options(app, command.remote);
}

std::optional<std::string> misplaced_option(const CLI::App& app, const InfoCommand& command) {
  if (command.offset > 0 && has_url(command.frames)) {
    return "--offset needs a FRAME that is not a URL";
  }
  return misplaced_remote_option(app, command.frames);
}

// The sum over all frames that were described.
struct InfoTotals {
  std::uint64_t frames = 0;
  std::uint64_t failures = 0;
  std::uint64_t nbytes = 0;  // decoded
  std::uint64_t stored_bytes = 0;
};

std::string totals_text(const InfoTotals& totals) {
  auto text =
      fmt::format("{} frame{}, {}, stored in {}", totals.frames, totals.frames == 1 ? "" : "s",
                  size_for_people(totals.nbytes), size_for_people(totals.stored_bytes));
  if (totals.nbytes > totals.stored_bytes && totals.stored_bytes > 0) {
    text += fmt::format(" ({:.2f} times smaller)", static_cast<double>(totals.nbytes) /
                                                       static_cast<double>(totals.stored_bytes));
  }
  if (totals.failures > 0) text += fmt::format("; {} COULD NOT BE READ", totals.failures);
  return text + "\n";
}

// One run of the command.
class Info {
 public:
  explicit Info(const InfoCommand& command) : command_(command), remote_(command.remote) {}

  int run() {
    if (command_.json) out_.put("[");
    SourceWalk walk(
        command_.filter, limits_, remote_,
        [this](const VisitedSource& source, CollectedLog& log) {
          describe(source, log);
          return true;
        },
        [this](const std::string& path, const codec::Error& error) { fail(path, error); });
    bool has_tree = false;
    for (const auto& path : command_.frames) {
      has_tree = walk.walk(path, command_.offset) || has_tree;
    }
    if (command_.json) {
      out_.put("\n]\n");
    } else if (has_tree) {
      begin_entry();
      out_.put(totals_text(totals_));
    }
    return out_.end() && all_ ? kExitOk : kExitFailure;
  }

 private:
  void describe(const VisitedSource& source, CollectedLog& log) {
    const auto& [path, file, is_member, place, found] = source;
    if (!found) return fail(path, found.error());
    if (!command_.json) print_messages(log.take_lines());
    if (const auto* const container = std::get_if<fs::ContainerDirectory>(&found->found)) {
      return describe_container(path, found->entry, *container);
    }
    const auto& origin = std::get<fs::FrameOrigin>(found->found);
    const auto frame = fs::open_frame_at(origin, limits_);
    if (!frame) return fail(path, frame.error());
    describe_frame(path, *frame, origin);
  }

  void describe_frame(const std::string& path, const codec::Frame& frame,
                      const fs::FrameOrigin& origin) {
    const auto info = fs::describe_frame(frame, *origin.source, limits_);
    count(info.nbytes, info.stored_bytes);
    begin_entry();
    if (!command_.json) {
      out_.put(frame_block(path, info));
      if (command_.chunks) write_chunk_table(info, frame, origin);
      return;
    }
    auto object = frame_json(path, info);
    if (!command_.chunks) {
      out_.put(object);
      return;
    }
    out_.put(open_list(std::move(object), "chunk_list"));
    const char* separator = "";
    fs::visit_chunks(frame, origin, limits_, [&](const fs::ChunkInfo& chunk) {
      all_ = all_ && !chunk.error;
      const auto row = separator + chunk_json(chunk, command_.offset);
      separator = ",\n";
      return out_.put(row);
    });
    out_.put(kListEnd);
  }

  void write_chunk_table(const fs::FrameInfo& info, const codec::Frame& frame,
                         const fs::FrameOrigin& origin) {
    const ChunkTable table(info, command_.offset);
    out_.put(table.heading());
    fs::visit_chunks(frame, origin, limits_, [&](const fs::ChunkInfo& chunk) {
      all_ = all_ && !chunk.error;
      return out_.put(table.row(chunk));
    });
  }

  void describe_container(const std::string& path, const fs::SourceEntry& entry,
                          const fs::ContainerDirectory& directory) {
    const auto container = summarise_container(entry);
    begin_entry();
    out_.put(command_.json ? open_list(container_json(path, container), "members")
                           : container_heading(path, container));
    const char* separator = "";
    visit_members(directory, limits_, [&](const ContainerMember& member) {
      all_ = all_ && !member.error;
      if (member.error) ++totals_.failures;
      if (member.kind == "frame" || member.kind == "array")
        count(member.nbytes, member.stored_bytes);
      if (!command_.json) return out_.put(member_row(member));
      const auto row = separator + member_json(member);
      separator = ",\n";
      return out_.put(row);
    });
    if (command_.json) out_.put(kListEnd);
  }

  void fail(const std::string& path, const codec::Error& error) {
    all_ = false;
    ++totals_.failures;
    if (command_.json) {
      begin_entry();
      out_.put(error_json(path, fs::describe(error)));
    } else {
      print_messages({fmt::format("{}: {}", path, cause_text(error))});
    }
  }

  void count(std::uint64_t nbytes, std::uint64_t stored_bytes) {
    ++totals_.frames;
    totals_.nbytes += nbytes;
    totals_.stored_bytes += stored_bytes;
  }

  // Writes the separator between the entries of two paths.
  void begin_entry() {
    if (command_.json) {
      out_.put(is_first_ ? "\n" : ",\n");
    } else if (!is_first_) {
      out_.put("\n");
    }
    is_first_ = false;
  }

  const InfoCommand& command_;
  RemoteOpener remote_;
  const codec::Limits limits_;
  TextOutput out_;
  InfoTotals totals_;
  bool is_first_ = true;
  bool all_ = true;  // no path has failed
};

constexpr CommandLine<InfoCommand> kInfoCommandLine{
    .name = "framefs info",
    .about = "Describes Blosc2 frames and containers.",
    .add_options = add_options,
    .misplaced = misplaced_option};

}  // namespace

CommandSyntax info_syntax() { return kInfoCommandLine.syntax(); }

int run_info(std::span<const std::string> arguments) {
  auto parsed = kInfoCommandLine.parse(arguments);
  if (!parsed) return parsed.error();
  auto& command = *parsed;
  return Info(command).run();
}

}  // namespace framefs
