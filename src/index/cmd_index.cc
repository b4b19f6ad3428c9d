#include "src/index/cmd_index.h"

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "fs/core/threads/interrupt.h"
#include "fs/net/store/source_url.h"
#include "fs/remote/remote_index.h"
#include "src/cli/arguments.h"
#include "src/cli/cause_text.h"
#include "src/cli/collected_log.h"
#include "src/cli/exit_codes.h"
#include "src/cli/progress_bar.h"
#include "src/cli/remote_access.h"
#include "src/cli/remote_opener.h"
#include "src/cli/text_output.h"
#include "src/index/local_index.h"
#include "src/mount/held_signals.h"
#include "src/pack/replacement_file.h"

namespace framefs {
namespace {

struct IndexCommand {
  std::string source;
  std::string out = "-";
  bool force = false;
  bool quiet = false;
  fs::RemoteOptions remote;
};

void add_options(CLI::App& app, IndexCommand& command) {
  app.add_option("SOURCE", command.source,
                 "The SOURCE of mounts: a directory, s3://, http(s)://, dav(s)://")
      ->transform(path_or_url())
      ->required();
  app.add_option("-o,--output", command.out,
                 "Where to write the manifest; - is standard output, the default")
      ->option_text("FILE");
  app.add_flag("-f,--force", command.force, "Replace FILE if it exists");
  app.add_flag("-q,--quiet", command.quiet, "Show no progress");
  add_remote_access_options(app, command.remote);
}

std::optional<std::string> misplaced_option(const CLI::App& app, const IndexCommand& command) {
  return misplaced_remote_option(app, command.source);
}

constexpr CommandLine<IndexCommand> kIndexCommandLine{
    .name = "framefs index",
    .about =
        "Makes the manifest of a directory, bucket or web server, which makes its listings faster.",
    .add_options = add_options,
    .misplaced = misplaced_option};

enum class Outcome : std::uint8_t {
  complete,
  partial,  // a manifest without some files, which is useful
  failed,
};

// Writes the manifest by `put`.  Messages have been printed, but for errors of the target.
Outcome write_index(const IndexCommand& command, RemoteOpener& remote, fs::RemoteIndex::Put put) {
  auto outcome = Outcome::complete;
  const auto complain = [](const std::string& place, const codec::Error& error) {
    print_messages({fmt::format("{}: {}", place, cause_text(error))});
  };
  const auto note = [&](const std::string& place, const codec::Error& error) {
    complain(place, error);
    outcome = Outcome::partial;
  };
  const auto result_of = [&](const codec::Status& written) {
    if (written) return outcome;
    const auto& error = written.error();
    if (error.sys != EINTR && !error.is_of_target) complain(command.source, error);
    return Outcome::failed;
  };
  if (!net::is_source_url(command.source)) {
    return result_of(LocalIndex(command.source, {}, std::move(put), note).write());
  }
  CollectedLog log;
  const auto store = remote.store(command.source, log.log());
  print_messages(log.take_lines());
  if (!store) {
    complain(command.source, store.error());
    return Outcome::failed;
  }
  const auto note_object = [&](const std::string& path, const codec::Error& error) {
    const auto& url = command.source;
    note(path.empty() ? url : url + (url.ends_with('/') ? "" : "/") + path, error);
  };
  return result_of(fs::RemoteIndex(**store, {}, std::move(put), note_object).write());
}

int index_to_stream(const IndexCommand& command, RemoteOpener& remote) {
  TextOutput out;
  const auto put = [&](std::string_view text) -> fs::Status {
    return out.put(text) ? fs::Status() : codec::of_target(out.finish());
  };
  const auto outcome = write_index(command, remote, put);
  return out.end() && outcome == Outcome::complete ? kExitOk : kExitFailure;
}

int index_to_file(const IndexCommand& command, RemoteOpener& remote) {
  const auto complain = [&](const codec::Error& error) {
    print_messages({failure_text(command.out, error)});
    return kExitFailure;
  };
  // Destroyed after the unfinished file.
  const HeldSignals signals;
  const fs::InterruptScope scope([&] { return signals.has_arrived(); });
  auto file = ReplacementFile::create(std::filesystem::path(command.out), command.force);
  if (!file) return complain(file.error());
  auto outcome = Outcome::failed;
  {
    ProgressBar bar(command.source, std::nullopt, command.quiet);
    std::uint64_t end = 0;
    const auto put = [&](std::string_view text) -> fs::Status {
      const auto written = file->sink().write_at(end, std::as_bytes(std::span(text)));
      if (written) {
        bar.update(end += text.size());
      } else {
        complain(written.error());
      }
      return written;
    };
    outcome = write_index(command, remote, put);
  }
  if (outcome == Outcome::failed) return kExitFailure;
  if (const auto published = file->publish(std::nullopt); !published) {
    return complain(published.error());
  }
  return outcome == Outcome::complete ? kExitOk : kExitFailure;
}

}  // namespace

CommandSyntax index_syntax() { return kIndexCommandLine.syntax(); }

int run_index(std::span<const std::string> arguments) {
  const auto command = kIndexCommandLine.parse(arguments);
  if (!command) return command.error();
  RemoteOpener remote(command->remote);
  return command->out == "-" ? index_to_stream(*command, remote) : index_to_file(*command, remote);
}

}  // namespace framefs
