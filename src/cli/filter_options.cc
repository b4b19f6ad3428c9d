#include "src/cli/filter_options.h"

namespace framefs {

void add_filter_options(CLI::App& app, TreeFilter& filter) {
  app.add_option("--include", filter.include, "In directories, take only such names")
      ->allow_extra_args(false)
      ->option_text("GLOB");
  app.add_option("--exclude", filter.exclude, "In directories, leave out such names")
      ->allow_extra_args(false)
      ->option_text("GLOB");
}

}  // namespace framefs
