#include "src/pack/pack_estimate_report.h"

#include <sys/stat.h>

#include <cerrno>
#include <cmath>
#include <list>
#include <unordered_set>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "src/cli/cause_text.h"
#include "src/cli/collected_log.h"
#include "src/cli/size_text.h"
#include "src/cli/text_output.h"
#include "src/pack/pack_estimate.h"
#include "src/pack/packed_already.h"
#include "src/pack/replacement_file.h"

namespace framefs {
namespace {

double ratio_of(const PackEstimate& estimate) {
  if (estimate.packed_bytes == 0) return 1;
  return static_cast<double>(estimate.bytes) / static_cast<double>(estimate.packed_bytes);
}

std::string count_text(std::uint64_t number, const std::string& what) {
  return fmt::format("{} {}{}", whole_number_text(number), what, number == 1 ? "" : "s");
}

std::string estimate_text(const PackEstimate& estimate) {
  if (estimate.files == 0) return "no files to pack\n";
  auto text = fmt::format("{}, {}: {}{} packed", count_text(estimate.files, "file"),
                          size_for_people(estimate.bytes), estimate.is_complete ? "" : "about ",
                          size_for_people(estimate.packed_bytes));
  const auto ratio = ratio_of(estimate);
  text += ratio > 1 ? fmt::format(", {:.2f} times smaller", ratio) : ", which saves nothing";
  if (!estimate.is_complete && estimate.packed_bytes > 0) {
    const auto percent = std::ceil(100 * static_cast<double>(estimate.uncertainty_bytes) /
                                   static_cast<double>(estimate.packed_bytes));
    text += fmt::format(", give or take {:.0f} %", percent);
  }
  return text + fmt::format("\ncompressed {} of {}, {}\n",
                            count_text(estimate.sampled_pieces, "piece"),
                            count_text(estimate.sampled_files, "file"),
                            size_for_people(estimate.sampled_bytes));
}

std::string estimate_json(const PackEstimate& estimate, std::uint64_t packed_already,
                          std::uint64_t failed) {
  const nlohmann::ordered_json out{{"files", estimate.files},
                                   {"bytes", estimate.bytes},
                                   {"packed_bytes", estimate.packed_bytes},
                                   {"ratio", ratio_of(estimate)},
                                   {"uncertainty_bytes", estimate.uncertainty_bytes},
                                   {"sampled_files", estimate.sampled_files},
                                   {"sampled_pieces", estimate.sampled_pieces},
                                   {"sampled_bytes", estimate.sampled_bytes},
                                   {"packed_already", packed_already},
                                   {"failed", failed}};
  return out.dump() + "\n";
}

// The files of one run of the command.
class EstimateRun {
 public:
  EstimateRun(const PackOptions& options, const EstimateOptions& how)
      : options_(options), how_(how) {}

  void add(const std::string& path) {
    if (is_tree(path)) return add_tree(path);
    if (!how_.nest && is_packed_already(path)) {
      ++packed_already_;
      return;
    }
    struct stat st{};
    if (::stat(path.c_str(), &st) != 0) return fail(path, fs::system_error("open").error());
    if (!S_ISREG(st.st_mode)) {
      return fail(path, fs::refusal(EINVAL, "only files and directories are estimated").error());
    }
    add_file(nullptr, path, st);
  }

  bool report(fs::WorkerPool& pool) {
    const auto on_failure = [this](const std::string& path, const codec::Error& error) {
      fail(path, error);
    };
    const auto estimate = estimate_packing(files_, options_, pool, on_failure);
    if (!estimate) {
      on_failure("the estimate", estimate.error());
      return false;
    }
    TextOutput out;
    if (how_.json) {
      out.put(estimate_json(*estimate, packed_already_, failed_));
    } else {
      out.put(estimate_text(*estimate));
      if (packed_already_ > 0) {
        out.put(whole_number_text(packed_already_) + " left out: frames and containers\n");
      }
    }
    return out.end() && failed_ == 0;
  }

 private:
  void add_tree(const std::string& top) {
    auto opened = fs::Tree::open(top);
    if (!opened) return fail(top, opened.error());
    const auto& tree = trees_.emplace_back(std::move(*opened));
    const auto visit = [&](const TreeEntry& entry) {
      const bool is_wanted = how_.filter.takes(entry.relative) &&
                             (S_ISREG(entry.stat.st_mode) || entry.is_sparse_frame) &&
                             !is_unfinished(entry.place.name());
      if (is_wanted && is_packed_entry(entry) && (!how_.nest || entry.is_sparse_frame)) {
        ++packed_already_;
      } else if (is_wanted) {
        add_file(&tree, entry.relative, entry.stat);
      }
      return TreeWalk::Next::entry;
    };
    const auto on_failure = [this](const std::string& path, const codec::Error& error) {
      fail(path, error);
    };
    TreeWalk(how_.filter, visit, nullptr, on_failure).walk(tree);
  }

  // A file with several hard links is packed once.
  void add_file(const fs::Tree* tree, const std::string& path, const struct stat& st) {
    if (st.st_nlink > 1 && !linked_.insert(fs::file_key(st)).second) return;
    files_.push_back({.tree = tree, .path = path, .size = static_cast<std::uint64_t>(st.st_size)});
  }

  void fail(const std::string& path, const codec::Error& error) {
    ++failed_;
    print_messages({fmt::format("{}: {}", path, cause_text(error))});
  }

  const PackOptions& options_;
  const EstimateOptions& how_;
  std::list<fs::Tree> trees_;  // whose places stay
  std::vector<EstimatedFile> files_;
  std::unordered_set<fs::FileKey, fs::FileKeyHash> linked_;
  std::uint64_t packed_already_ = 0;
  std::uint64_t failed_ = 0;
};

}  // namespace

bool report_estimate(const std::vector<std::string>& paths, const PackOptions& options,
                     const EstimateOptions& how, fs::WorkerPool& pool) {
  EstimateRun run(options, how);
  for (const auto& path : paths) run.add(path);
  return run.report(pool);
}

}  // namespace framefs
