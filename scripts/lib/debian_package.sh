# shellcheck shell=bash disable=SC2154  # common.sh and scripts/package set root, lib and target
# The Debian packages of scripts/package.  The sourcing script has sourced common.sh, chroot.sh and
# sysroot.sh, and sets `target`: an architecture, or nothing for that of this machine.

# build_package_here FOLDER: for the Debian that runs here.
build_package_here() {
  local folder=$1 work=$1/source log=$1/build.log
  "$root/scripts/install-deps" build package
  rm -rf "$work"
  copy_package_sources "$work"
  rm -f "$folder"/*.deb
  say "building the package, which takes a few minutes; the log is $log"
  (cd "$work" && run_logged "$log" dpkg-buildpackage -b -us -uc)
  rm -rf "$work"
  (cd "$folder" && rm -f ./*.buildinfo ./*.changes && ls -1 "$PWD"/framefs*.deb)
}

# The chroot in which in_suite runs commands; leave_suite also removes it.
chroot=
enter_suite() {
  chroot=$1
  mount -t proc proc "$chroot/proc"
}
in_suite() { run_logged "$log" in_chroot "$chroot" "$@"; }
leave_suite() {
  if [[ -z $chroot ]]; then return; fi
  if mountpoint -q "$chroot/mnt/plain"; then umount -l "$chroot/mnt/plain"; fi
  umount -l "$chroot/proc" && rm -rf --one-file-system "$chroot"
  chroot=
}

build_in_suite() {
  local options=()
  if [[ -n $target ]]; then options=(--host-arch="$target" --build-profiles=cross); fi
  copy_package_sources "$chroot/src/framefs"
  say "[2/6] installing the build dependencies"
  run_logged "$log" install_build_dependencies "$chroot" /src/framefs "$target"
  in_suite apt-get -q -y --no-install-recommends install lintian
  say "[3/6] building"
  # shellcheck disable=SC2016  # the inner shell expands it
  in_suite sh -c 'cd /src/framefs && dpkg-buildpackage -b -us -uc "$@"' sh "${options[@]}"
  say "[4/6] lintian"
  in_suite sh -c 'lintian --fail-on error,warning --allow-root /src/framefs_*.changes'
}

# Installs, uses and removes the package in the chroot.
try_in_suite() {
  local emulated=()
  say "[5/6] installing the package with its dependencies only"
  mknod -m 666 "$chroot/dev/fuse" c 10 229 2>/dev/null || test -e "$chroot/dev/fuse"
  cp "$packages"/framefs_*.deb "$lib/try_commands.sh" "$chroot/"
  if [[ -n $target ]]; then run_logged "$log" add_architecture "$chroot" "$target"; fi
  in_suite sh -c 'apt-get -q -y --no-install-recommends install /framefs_*.deb'
  say "[6/6] using and removing the package"
  if [[ -n $target ]]; then
    cp "$(emulator_of "$target")" "$chroot/emulator"
    emulated=(/emulator)
  fi
  in_suite test -x /sbin/mount.framefs
  in_suite sh /try_commands.sh /try "${emulated[@]}" /usr/bin/framefs
  # qemu-user lacks the system calls of the sandbox.
  if [[ -z $target ]]; then
    in_suite sh -ec '
      mkdir /mnt/plain
      echo "/try/demo /mnt/plain framefs ro,nofail 0 0" >>/etc/fstab
      mount /mnt/plain
      framefs stats /mnt/plain
      cmp /mnt/plain/logs/app.log /try/plain/logs/app.log
      framefs umount /mnt/plain'
  fi
  in_suite apt-get -q -y purge "framefs${target:+:$target}"
  in_suite sh -ec 'test ! -e /usr/bin/framefs; test ! -e /sbin/mount.framefs'
}

# build_package_in FOLDER SUITE: for that suite.  One chroot has the build dependencies, and another one only
# the dependencies of the package.
build_package_in() {
  local suite=$2
  local name=$suite${target:+-$target}
  local packages=$1/$name log=$1/$name.log bare=$1/$name.bare
  if [[ -n $target ]]; then make_emulator "$log"; fi
  mkdir -p "$1"
  rm -rf --one-file-system "$packages" "$bare" "$1/$name.chroot"
  trap leave_suite EXIT
  say "[1/6] a bare $suite; the log is $log"
  make_chroot "$suite" "$bare" "$log"
  cp -a "$bare" "$1/$name.chroot"
  enter_suite "$1/$name.chroot"
  build_in_suite
  mkdir "$packages"
  cp "$chroot"/src/framefs*.deb "$packages/"
  leave_suite
  enter_suite "$bare"
  try_in_suite
  leave_suite
  ls -1 "$packages"/framefs*.deb
}
