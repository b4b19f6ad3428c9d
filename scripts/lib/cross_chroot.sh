# shellcheck shell=bash disable=SC2154  # common.sh sets root
# Cross builds in a chroot, for an architecture that the Debian of this machine lacks.  The cross compiler of
# an older Debian does not serve: it takes its own headers before those of a newer sysroot.  The sourcing
# script has sourced common.sh, chroot.sh and sysroot.sh, and runs as root.

# install_for ARCHITECTURE CHROOT: the compiler, and the libraries of that architecture.
install_for() {
  local names
  read -r -d '' -a names < <(libraries_of test) || true
  # Its name since trixie, where catch2 is only for the machine that builds.
  names=("${names[@]/#catch2/libcatch2-dev}")
  install_build_dependencies "$2" "$root" "$1" &&
    in_chroot "$2" apt-get -q -y --no-install-recommends install python3 "${names[@]/%/:$1}" && : >"$2/complete"
}

# build_in_chroot SUITE ARCHITECTURE CHROOT LOG TARGET...: the chroot is kept for the next build.
build_in_chroot() {
  local suite=$1 architecture=$2 log=$4
  inner=$3$root
  if [[ ! -e $3/complete ]]; then
    rm -rf --one-file-system "$3"
    make_chroot "$suite" "$3" "$log"
  fi
  # The sources have the same path inside.
  mkdir -p "$inner"
  trap 'umount -l "$inner"' EXIT
  mount --bind "$root" "$inner"
  if [[ ! -e $3/complete ]]; then run_logged "$log" install_for "$architecture" "$3"; fi
  # In the chroot, the root is the sysroot.
  set_cross_environment "$architecture" /
  # shellcheck disable=SC2016  # the inner shell expands it
  run_logged "$log" in_chroot "$3" env "FRAMEFS_CROSS_TRIPLET=$FRAMEFS_CROSS_TRIPLET" \
    "FRAMEFS_CROSS_SYSROOT=/" "FRAMEFS_CROSS_EMULATOR=$FRAMEFS_CROSS_EMULATOR" \
    bash -euc 'source "$0/scripts/lib/common.sh"; build "$@"' "$root" "cross-$architecture" "${@:5}"
  umount "$inner"
  trap - EXIT
}
