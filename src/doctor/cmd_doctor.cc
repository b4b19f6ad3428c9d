#include "src/doctor/cmd_doctor.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "src/cli/arguments.h"
#include "src/cli/exit_codes.h"
#include "src/cli/printable.h"
#include "src/cli/text_output.h"
#include "src/cli/version.h"
#include "src/doctor/finding.h"
#include "src/doctor/machine_findings.h"
#include "src/doctor/path_findings.h"

namespace framefs {
namespace {

using FindingsJson = nlohmann::ordered_json;

struct DoctorCommand {
  std::string path;
  bool json = false;
};

void add_options(CLI::App& app, DoctorCommand& command) {
  app.add_option("SOURCE|MOUNTPOINT", command.path, "A path or URL to examine, too");
  app.add_flag("--json", command.json, "Print one JSON object");
}

const char* level_name(Finding::Level level) {
  switch (level) {
    case Finding::Level::ok:
      return "ok";
    case Finding::Level::note:
      return "note";
    case Finding::Level::bad:
      return "bad";
  }
  return "";
}

std::string findings_json(const Findings& findings) {
  auto list = FindingsJson::array();
  for (const auto& finding : findings.list()) {
    list.push_back(
        {{"topic", finding.topic}, {"level", level_name(finding.level)}, {"text", finding.text}});
  }
  const FindingsJson json{
      {"version", kVersion}, {"can_mount", !findings.has_bad()}, {"findings", std::move(list)}};
  return json.dump(2, ' ', false, FindingsJson::error_handler_t::replace) + "\n";
}

std::string findings_text(const Findings& findings) {
  auto text = fmt::format("{:<6}{:<15}{}\n", "ok", "framefs", kVersion);
  for (const auto& finding : findings.list()) {
    text += fmt::format("{:<6}{:<15}{}\n", level_name(finding.level), finding.topic,
                        printable(finding.text));
  }
  return text;
}

constexpr CommandLine<DoctorCommand> kDoctorCommandLine{
    .name = "framefs doctor",
    .about = "Says what this machine can do for mounts, and what a mount would meet at a path.",
    .add_options = add_options};

}  // namespace

CommandSyntax doctor_syntax() { return kDoctorCommandLine.syntax(); }

int run_doctor(std::span<const std::string> arguments) {
  const auto command = kDoctorCommandLine.parse(arguments);
  if (!command) return command.error();
  auto findings = machine_findings();
  if (!command->path.empty()) findings.add_all(path_findings(command->path));
  TextOutput out;
  out.put(command->json ? findings_json(findings) : findings_text(findings));
  return out.end() && !findings.has_bad() ? kExitOk : kExitFailure;
}

}  // namespace framefs
