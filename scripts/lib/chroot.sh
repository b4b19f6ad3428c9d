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
  # expired, hence Check-Valid-Until.
  debootstrap --variant=minbase "$1" "$chroot" "$3" &&
    printf '#!/bin/sh\nexit 101\n' >"$chroot/usr/sbin/policy-rc.d" &&
    chmod 755 "$chroot/usr/sbin/policy-rc.d" &&
    echo 'Acquire::Check-Valid-Until "false";' >"$chroot/etc/apt/apt.conf.d/50framefs" &&
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

# copy_sources FOLDER: copies the tracked and the new files as they are in the working tree.
copy_sources() {
  mkdir -p "$1"
  (cd "$root" && git ls-files -z --cached --others --exclude-standard |
    xargs -0 -r ls -d 2>/dev/null | tar -cf - -T -) | tar -xf - -C "$1"
}
