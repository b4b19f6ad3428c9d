# shellcheck shell=bash disable=SC2034  # variables are for the scripts that source this
# The scripts one folder up source this file: paths, messages, builds.
# The sourcing script has set -euo pipefail.

lib=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
root=${lib%/scripts/lib}
me=$(basename "$0")

# Debian's own Python, because install-deps installs its modules, whatever else is first in the PATH.
python=/usr/bin/python3
if ! command -v dpkg-query >/dev/null; then python=python3; fi

say() { printf '%s: %s\n' "$me" "$*" >&2; }

die() {
  say "$*"
  exit 1
}

# Prints to a terminal only, not to a pipe or a log.
progress() { if [[ -t 2 ]]; then say "$*"; fi; }

# run_logged LOG COMMAND...: runs the command quietly, and prints its output if it fails.
# COMMAND may be a function, but then errexit is off inside: it must chain with &&.
run_logged() {
  local log=$1 status=0
  shift
  mkdir -p "$(dirname "$log")"
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if ((status != 0)); then
    cat "$log" >&2
    say "exit code $status from: $*"
  fi
  return "$status"
}

# The build folder of a preset.
build_dir() {
  if [[ $1 == release ]]; then echo "$root/build"; else echo "$root/build/$1"; fi
}

# configure PRESET: runs CMake if the folder was configured for another path, or if the presets have
# changed since.  CMake itself notices all other changes during the build.
configure() {
  local dir stamp
  dir=$(build_dir "$1")
  stamp=$dir/.configured-by-scripts
  if [[ -f $dir/build.ninja && $stamp -nt $root/CMakePresets.json && $(<"$stamp") == "$root" ]]; then
    return 0
  fi
  (cd "$root" && cmake --fresh --preset "$1") && echo "$root" >"$stamp"
}

# build PRESET [TARGET...]: configures and builds.  Concurrent builds wait for each other.
build() {
  local preset=$1 dir
  shift
  dir=$(build_dir "$preset")
  mkdir -p "$dir" && {
    # Child processes do not inherit the lock: a stray compiler must not hold it.
    flock 9 && configure "$preset" 9>&- && ninja -C "$dir" "$@" 9>&-
  } 9>"$dir/.build-lock"
}

# run_mount_tests FOLDER [NAME...]: runs tests on real mounts, with the program of the dev build.
run_mount_tests() {
  env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$root/tests/e2e" FRAMEFS_REQUIRE_FUSE=1 \
    FRAMEFS="$(build_dir dev)/framefs" "$python" "$lib/run_unittest.py" "$@"
}
