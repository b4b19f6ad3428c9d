#include "src/check/check_report.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "src/cli/printable.h"
#include "src/cli/size_text.h"

namespace framefs {
namespace {

using Json = nlohmann::ordered_json;
using codec::SalvageOrder;

std::string range_text(const codec::ByteRange& range) {
  if (range.size == 1) return fmt::format("byte {}", range.offset);
  return fmt::format("bytes {} to {}", range.offset, range.offset + range.size - 1);
}

const char* order_name(SalvageOrder order) {
  switch (order) {
    case SalvageOrder::index:
      return "index";
    case SalvageOrder::earlier_index:
      return "earlier index";
    case SalvageOrder::file:
      return "file";
    case SalvageOrder::incomplete:
      return "incomplete";
    case SalvageOrder::unknown:
      return "unknown";
  }
  return "";
}

std::string order_text(const codec::SalvagePlan& plan) {
  switch (plan.order) {
    case SalvageOrder::index:
      return fmt::format("the chunks are in order, by the index at byte {}", plan.index_at);
    case SalvageOrder::earlier_index:
      return fmt::format(
          "the chunks are in the order of the index at byte {}, which may be of an earlier commit",
          plan.index_at);
    case SalvageOrder::file:
      return "the chunks are in the order of the file, which is that of the data unless a program "
             "inserted or moved chunks; no index was found";
    case SalvageOrder::incomplete:
      return fmt::format(
          "the chunks are in the order of the file, but THEY ARE NOT ALL OF THE DATA: no index was "
          "found, and the header tells of {}",
          size_for_people(plan.header_nbytes.value_or(0)));
    case SalvageOrder::unknown:
      return "THE ORDER OF THE CHUNKS IS UNKNOWN: no index was found, and the file is not in "
             "writing "
             "order";
  }
  return "";
}

Json range_json(const codec::ByteRange& range) {
  return {{"offset", range.offset}, {"size", range.size}};
}

Json damage_json(const Damage& damage) {
  Json out{{"part", damage.part}};
  if (damage.chunk) out["chunk"] = *damage.chunk;
  if (!damage.file.empty()) out["file"] = damage.file;
  out["offset"] = damage.at ? Json(*damage.at) : Json(nullptr);
  out["lost"] = damage.lost ? range_json(*damage.lost) : Json(nullptr);
  out["cause"] = damage.cause;
  if (!damage.detail.empty()) out["detail"] = damage.detail;
  return out;
}

const char* checksums_name(const FrameReport& report) {
  using State = codec::FrameChecksums::State;
  if (!report.checksums) return "damaged";
  if (*report.checksums == State::none) return "none";
  return *report.checksums == State::stale ? "stale" : "valid";
}

Json rescue_json(const std::string& to, const codec::SalvagePlan& plan) {
  auto lost = Json::array();
  for (const auto& range : plan.lost()) lost.push_back(range_json(range));
  return {{"path", to},
          {"chunks", plan.entries.size()},
          {"nbytes", plan.nbytes()},
          {"order", order_name(plan.order)},
          {"lost", lost},
          {"left_out_chunks", plan.left_out},
          {"header", plan.has_header},
          {"metalayers", plan.has_metalayers},
          {"vlmetalayers", plan.has_trailer}};
}

}  // namespace

std::string damage_text(const std::string& path, const Damage& damage, bool is_verbose) {
  auto text = fmt::format("{}: {}", printable(path), printable(damage.part));
  if (damage.chunk) text += fmt::format(" {}", *damage.chunk);
  if (!damage.file.empty()) text += " in " + damage.file;
  // The place of a chunk tells chunks apart; that of a field of the frame helps nobody but experts.
  const bool has_detail = !damage.detail.empty() && damage.detail != damage.cause;
  if (damage.at && (damage.chunk || !has_detail)) text += fmt::format(", at byte {}", *damage.at);
  text += ": " + damage.cause;
  if (is_verbose && has_detail) text += fmt::format(" [{}]", damage.detail);
  if (damage.lost) text += fmt::format("; {} of the data cannot be read", range_text(*damage.lost));
  return text + "\n";
}

std::string unlisted_text(const std::string& path, const FrameReport& report) {
  if (report.damages <= FrameChecker::kMaxTold) return {};
  return fmt::format("{}: {} more damages\n", printable(path),
                     whole_number_text(report.damages - FrameChecker::kMaxTold));
}

std::string report_text(const std::string& path, const FrameReport& report) {
  if (report.is_sound()) {
    auto text = fmt::format("{}: sound, {} chunks, {} decoded", printable(path), report.chunks,
                            size_for_people(report.nbytes));
    if (report.dead > 0) text += fmt::format(", {} dead", size_for_people(report.dead));
    if (report.checksums == codec::FrameChecksums::State::valid) text += ", all checksums right";
    return text + "\n";
  }
  if (report.may_be_rehashed()) {
    return fmt::format(
        "{}: DAMAGED, but all of its data can be read; framefs check --rehash makes new "
        "checksums\n",
        printable(path));
  }
  if (!report.is_opened) {
    return fmt::format(
        "{}: DAMAGED, nothing can be read; "
        "framefs check --repair -o OUT looks for chunks, and saves what is left of them\n",
        printable(path));
  }
  auto text = fmt::format("{}: DAMAGED, {} of {} cannot be read", printable(path),
                          size_for_people(report.lost), size_for_people(report.nbytes));
  if (report.chunks == 0) text = fmt::format("{}: DAMAGED, nothing can be read", printable(path));
  if (!report.can_be_repaired) return text + "; frames of this kind cannot be repaired\n";
  return text + "; framefs check --repair -o OUT saves what is left\n";
}

std::vector<std::string> rescue_text(const std::string& to, const codec::SalvagePlan& plan,
                                     const FrameReport& report) {
  const auto path = printable(to);
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{}: saved {} chunks, {}", path, plan.entries.size(),
                              size_for_people(plan.nbytes())));
  if (!plan.entries.empty()) lines.push_back(fmt::format("{}: {}", path, order_text(plan)));
  if (!plan.has_header) lines.push_back(path + ": the header was lost; a new one was made");
  if (!plan.has_metalayers) {
    lines.push_back(path + ": metalayers, such as the shape of an array, were lost");
  }
  if (!plan.has_trailer) {
    lines.push_back(path + (plan.has_header ? ": vl-metalayers were lost"
                                            : ": vl-metalayers were lost, if there were any"));
  }
  if (report.mismatches > 0) {
    lines.push_back(
        fmt::format("{}: {} chunks did not have their checksums, and were saved as "
                    "they are; the new frame has no checksums",
                    path, report.mismatches));
  }
  for (const auto& range : plan.lost()) {
    lines.push_back(fmt::format("{}: {} are lost and read as zeros", path, range_text(range)));
  }
  if (plan.left_out > 0) {
    lines.push_back(fmt::format("{}: {} further chunks were left out: no index names them", path,
                                plan.left_out));
  }
  return lines;
}

std::string checksum_text(const std::string& path, const FrameReport& report, bool is_rehashed) {
  if (is_rehashed) return fmt::format("{}: has new checksums\n", printable(path));
  if (report.checksums == codec::FrameChecksums::State::stale) {
    return fmt::format(
        "{}: its checksums do not count, because a program changed the frame without them; framefs "
        "check --rehash makes new ones\n",
        printable(path));
  }
  if (report.unhashed == 0) return {};
  return fmt::format("{}: {} chunks have no checksum; framefs check --rehash makes them\n",
                     printable(path), report.unhashed);
}

std::string elsewhere_text(const std::string& path, const FrameReport& report) {
  if (report.elsewhere.empty()) return {};
  return fmt::format("{}: {}\n", printable(path), report.elsewhere);
}

std::string report_json(const std::string& path, const FrameReport& report,
                        const std::vector<Damage>& damages, const AfterCheck& after) {
  auto list = Json::array();
  for (const auto& damage : damages) list.push_back(damage_json(damage));
  Json out{{"path", path},
           {"sound", report.is_sound()},
           {"chunks", report.chunks},
           {"nbytes", report.nbytes},
           {"stored_bytes", report.stored},
           {"dead_bytes", report.dead},
           {"lost_bytes", report.lost},
           {"checksums", checksums_name(report)},
           {"unhashed_chunks", report.unhashed},
           {"damages", list},
           {"damage_count", report.damages}};
  if (!report.elsewhere.empty()) out["content"] = report.elsewhere;
  if (after.is_rehashed) out["rehashed"] = true;
  if (after.rescued != nullptr) out["repaired"] = rescue_json(after.to, *after.rescued);
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace framefs
