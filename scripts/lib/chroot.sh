# shellcheck shell=bash disable=SC2154  # common.sh sets root
# Debian chroots for the scripts that need another machine: a bare one, or one with other packages.
# The sourcing script has sourced common.sh and runs as root.

# Prints the mirror to make chroots from: FRAMEFS_MIRROR, or the one that this machine's apt uses.
debian_mirror() {
  local mirror=${FRAMEFS_MIRROR:-}
  if [[ -z $mirror ]]; then
    # Security and update archives have a dash in their release; they hold no whole suite.
    # shellcheck disable=SC2016  # apt replaces the variables
    mirror=$(apt-get indextargets --format '$(RELEASE) $(SITE)' 'Created-By: Packages' |
      awk '$1 !~ /-/ && !found {found = $2} END {print found}')
  fi
  [[ -n $mirror ]] || die "apt knows no mirror: set FRAMEFS_MIRROR to the URL of one"
  echo "$mirror"
}

# Put before a command: gives it the environment of a fresh machine.
fresh_environment=(env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive)

# in_chroot CHROOT COMMAND...: runs a command in that environment
in_chroot() { chroot "$1" "${fresh_environment[@]}" "${@:2}"; }

# fill_chroot SUITE CHROOT MIRROR [PACKAGE...]
fill_chroot() {
  local chroot=$2
  # No daemon starts when its package is installed.  Snapshot mirrors have package lists that have
  # expired, hence Check-Valid-Until.  A chroot need not survive a power failure.
  debootstrap --variant=minbase "$1" "$chroot" "$3" &&
    printf '#!/bin/sh\nexit 101\n' >"$chroot/usr/sbin/policy-rc.d" &&
    chmod 755 "$chroot/usr/sbin/policy-rc.d" &&
    echo 'Acquire::Check-Valid-Until "false";' >"$chroot/etc/apt/apt.conf.d/50framefs" &&
    echo force-unsafe-io >"$chroot/etc/dpkg/dpkg.cfg.d/50framefs" &&
    in_chroot "$chroot" apt-get -q update &&
    if (($# > 3)); then
      in_chroot "$chroot" apt-get -q -y --no-install-recommends install "${@:4}"
    fi
}

# make_chroot SUITE CHROOT LOG [PACKAGE...]: a Debian of that suite with these packages.  CHROOT does
# not exist before, and exists afterwards only if everything was installed.
make_chroot() {
  local suite=$1 chroot=$2 log=$3 mirror
  ((EUID == 0)) || die "run it as root: it makes a chroot"
  "$root/scripts/install-deps" chroot
  mirror=$(debian_mirror)
  rm -rf --one-file-system "$chroot.new"
  mkdir -p "$(dirname "$chroot")"
  run_logged "$log" fill_chroot "$suite" "$chroot.new" "$mirror" "${@:4}" ||
    die "could not make $chroot"
  mv "$chroot.new" "$chroot"
}

# add_architecture CHROOT ARCHITECTURE: packages of that architecture can then be installed, too.
add_architecture() { in_chroot "$1" dpkg --add-architecture "$2" && in_chroot "$1" apt-get -q update; }

# install_build_dependencies CHROOT FOLDER [ARCHITECTURE]: what builds the Debian package of the sources in
# this folder of the chroot, for that architecture by a cross compiler.
install_build_dependencies() {
  local tools=(build-essential debhelper) options=()
  if [[ -n ${3-} ]]; then
    tools+=("crossbuild-essential-$3")
    options=(--host-architecture="$3" --build-profiles=cross)
    add_architecture "$1" "$3" || return
  fi
  # shellcheck disable=SC2016  # the inner shell expands it
  in_chroot "$1" apt-get -q -y --no-install-recommends install "${tools[@]}" &&
    in_chroot "$1" sh -c 'cd "$0" && apt-get -q -y --no-install-recommends build-dep "$@" .' "$2" "${options[@]}"
}

# copy_sources FOLDER: copies the tracked and the new files as they are in the working tree.
copy_sources() {
  mkdir -p "$1"
  (cd "$root" && git ls-files -z --cached --others --exclude-standard |
    xargs -0 -r ls -d 2>/dev/null | tar -cf - -T -) | tar -xf - -C "$1"
}
