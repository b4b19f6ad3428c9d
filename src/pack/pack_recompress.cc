#include "src/pack/pack_recompress.h"

#include <unistd.h>

#include <iostream>
#include <utility>

#include <fmt/core.h>

#include "fs/source/suffixes.h"
#include "src/cli/cause_text.h"
#include "src/cli/collected_log.h"
#include "src/cli/printable.h"
#include "src/cli/size_text.h"
#include "src/cli/tree_walk.h"

namespace framefs {
namespace {

// One run of the command.
class RecompressRun {
 public:
  RecompressRun(const PackOptions& options, const GivenSizes& sizes, const TransferOptions& tree,
                fs::WorkerPool& pool)
      : options_(options), tree_(tree), recompressor_(options, sizes, pool, log_.log()) {}

  [[nodiscard]] bool is_stopped() const { return options_.stop && options_.stop(); }

  bool do_tree(const std::string& top) {
    TransferCount count;
    const auto visit = [&](const fs::Place& place) {
      const auto expected = fs::expected_content(place.name());
      const bool is_frame = expected == fs::Expected::frame || expected == fs::Expected::array;
      if (is_frame) replace(place, count);
      return !is_stopped() && (tree_.keeps_going || count.failed == 0);
    };
    const auto fail = [&](const std::string& path, const codec::Error& error) {
      ++count.failed;
      print_messages({failure_text(path, error)});
    };
    walk_frames(tree_.filter, top, visit, fail);
    if (!options_.quiet) {
      std::cerr << fmt::format("{}: {}\n", printable(top), transfer_text(count, "recompressed"));
    }
    return count.failed == 0;
  }

  bool do_one(const std::string& path) {
    TransferCount count;
    const auto place = fs::Place::behind_links(path);
    if (!place) {
      print_messages({failure_text(path, place.error())});
      return false;
    }
    if (!replace(*place, count)) return false;
    if (!options_.quiet && ::isatty(STDERR_FILENO) == 1) {
      std::cerr << fmt::format("{}: {} to {}\n", printable(path),
                               size_for_people(count.bytes.before),
                               size_for_people(count.bytes.after));
    }
    return true;
  }

 private:
  bool replace(const fs::Place& place, TransferCount& count) {
    const auto done = recompressor_.recompress(place);
    if (done) {
      print_messages(log_.take_lines());
      ++count.converted;
      count.bytes.before += done->before;
      count.bytes.after += done->after;
      return true;
    }
    const auto lines = log_.take_failure(place.path(), done.error());
    if (is_stopped()) return false;
    ++count.failed;
    print_messages(lines);
    return false;
  }

  const PackOptions& options_;
  const TransferOptions& tree_;
  CollectedLog log_;
  const FrameRecompressor recompressor_;
};

}  // namespace

bool recompress_frames(const std::vector<std::string>& paths, const PackOptions& options,
                       const GivenSizes& sizes, const TransferOptions& tree, fs::WorkerPool& pool) {
  RecompressRun run(options, sizes, tree, pool);
  bool all = true;
  for (const auto& path : paths) {
    all = (is_tree(path) ? run.do_tree(path) : run.do_one(path)) && all;
    if (run.is_stopped()) return false;
  }
  return all;
}

}  // namespace framefs
