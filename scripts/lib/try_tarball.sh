# shellcheck shell=bash disable=SC2154  # common.sh and scripts/package set lib, python and target
# Bare systems to try the tarball in.  The sourcing script has sourced common.sh, chroot.sh and sysroot.sh.

# fill_busybox FOLDER: a system that has nothing but busybox-static and an empty /etc.
fill_busybox() {
  mkdir -p "$1"/{bin,sbin,dev,proc,etc,mnt,opt,tmp,root,home} && cd "$1" || return
  apt-get -q download busybox-static && dpkg-deb --extract busybox-static_*.deb unpacked || return
  find unpacked -type f -name busybox -exec mv {} bin/busybox ';' && rm -r unpacked busybox-static_*.deb &&
    chroot . /bin/busybox --install -s /bin && echo 'root:x:0:0::/root:/bin/sh' >etc/passwd &&
    echo '127.0.0.1 localhost' >etc/hosts
}

# make_bare_system NAME FOLDER LOG: FOLDER exists afterwards only if the system is complete.
make_bare_system() {
  say "making a bare $1; the log is $3"
  if [[ $1 == busybox ]]; then
    rm -rf "$2.new"
    (run_logged "$3" fill_busybox "$2.new") || die "could not make $2"
    mv "$2.new" "$2"
  else
    make_chroot "$1" "$2" "$3" fuse3
  fi
}

# try_tarball TARBALL FOLDER SYSTEM...: as root.  The systems stay in FOLDER for the next time.
try_tarball() {
  local tarball=$1 folder=$2 system
  ((EUID == 0)) || die "run it as root: it makes chroots"
  for system in "${@:3}"; do
    if [[ ! -d $folder/$system ]]; then make_bare_system "$system" "$folder/$system" "$folder/$system.log"; fi
  done
  "$python" "$lib/try_tarball.py" "$tarball" "$folder" "${@:3}"
}

# use_emulated BUNDLE: the commands, and what doctor finds.
use_emulated() {
  local framefs=("$(emulator_of "$target")" "$1/bin/framefs") status=0
  (cd "$1" && sha256sum --quiet -c SHA256SUMS) || return
  "${framefs[@]}" --version || return
  "${framefs[@]}" doctor "$1" || status=$?
  # 1 means that mounts would fail: qemu-user lacks the system calls of the sandbox.
  ((status <= 1)) && sh "$lib/try_commands.sh" "$1/try" "${framefs[@]}"
}

# try_tarball_emulated TARBALL FOLDER: on this machine, which has no library of the architecture.
try_tarball_emulated() {
  local log=$2.log
  make_emulator "$log"
  rm -rf "$2"
  mkdir -p "$2"
  tar -xf "$1" -C "$2"
  run_logged "$log" use_emulated "$2/$(name_of_tarball)"
  say "the tarball works emulated; the log is $log"
}
