# shellcheck shell=bash disable=SC2034,SC2154  # common.sh and scripts/cross set root, lib, dir and log; SC2034: status is theirs, too
# An emulated machine with a kernel of its own, for the tests that qemu-user cannot run.  The sourcing
# script has sourced common.sh, chroot.sh and sysroot.sh.
#
# The machine has no disk: kernel and programs come from two archives in memory.

# The packages that the tests need.
guest_packages=(
  base-files bash busybox-static coreutils dash diffutils findutils grep gzip libc-bin login mount passwd procps rsync
  sed tar util-linux acl attr e2fsprogs file fuse3 python3 python3-h5py python3-numpy python3-yaml
  libcurl4 libdeflate0 libfmt9 liblz4-1 libmicrohttpd12 libpugixml1v5 libseccomp2 libsnappy1v5 libspdlog1.10 libtbb12
  libxxhash0 libzfp1 libzstd1
)

# pack_guest FOLDER ARCHIVE: without what no test uses
pack_guest() {
  (cd "$1" && find . \( -path ./boot -o -path ./apt -o -path ./var -o -path ./usr/lib/modules -o -path ./usr/share/doc \
    -o -path ./usr/share/man -o -path ./usr/share/locale \) -prune -o -print | cpio --quiet -o -H newc) >"$2"
}

# The files that packages make when they are installed.
configure_guest() {
  local etc=$1/etc accounts="daemon nobody framefs" name id=1
  mkdir -p "$etc" "$1/bin" "$1/usr/lib/aarch64-linux-gnu"
  echo 'root:x:0:0:root:/root:/bin/bash' >"$etc/passwd"
  echo 'root:x:0:' >"$etc/group"
  for name in $accounts; do
    echo "$name:x:$id:$id:$name:/nonexistent:/usr/sbin/nologin" >>"$etc/passwd"
    echo "$name:x:$id:" >>"$etc/group"
    id=$((id + 1))
  done
  (umask 077 && echo 'root:*:1::::::' >"$etc/shadow")
  echo '127.0.0.1 localhost' >"$etc/hosts"
  echo 'user_allow_other' >"$etc/fuse.conf"
  ln -sf dash "$1/bin/sh"
  ln -sf blas/libblas.so.3 lapack/liblapack.so.3 "$1/usr/lib/aarch64-linux-gnu/"
}

# make_guest: makes $dir/guest.cpio, the system with the program and the tests.
make_guest() {
  local own=$dir/guest-own program
  make_sysroot bookworm arm64 "$dir/guest" "$log" "${guest_packages[@]}"
  rm -rf "$own"
  copy_sources "$own/framefs"
  mkdir -p "$own/framefs/build/tests"
  for program in framefs tests/framefs_make_frame tests/framefs_sandbox_probe; do
    aarch64-linux-gnu-strip -o "$own/framefs/build/$program" "$dir/$program"
  done
  install -m 755 "$lib/guest/init" "$own/"
  configure_guest "$own"
  pack_guest "$dir/guest" "$dir/guest.cpio"
  pack_guest "$own" "$dir/guest-own.cpio"
}

# run_guest SUITE KERNEL TEST...: boots that kernel of the suite, and runs the tests.
run_guest() {
  local kernel=$dir/$2 modules counts
  make_sysroot "$1" arm64 "$kernel" "$log" "$2"
  modules=$dir/guest-modules
  rm -rf "$modules"
  mkdir -p "$modules/framefs"
  find "$kernel/usr/lib/modules" -name fuse.ko -exec cp {} "$modules/framefs/" \;
  pack_guest "$modules" "$dir/guest-modules.cpio"
  cat "$dir/guest.cpio" "$dir/guest-own.cpio" "$dir/guest-modules.cpio" >"$dir/guest-all.cpio"
  say "booting $2 of $1, and running: ${*:3}"
  timeout 1800 qemu-system-aarch64 -M virt -cpu neoverse-n1 -smp 2 -m 3G -nographic -no-reboot -nic none \
    -kernel "$kernel"/boot/vmlinuz-* -initrd "$dir/guest-all.cpio" \
    -append "console=ttyAMA0 quiet panic=-1 TESTS=\"${*:3}\"" </dev/null | tee "$dir/$2.log" || true
  counts=$(grep -aE '^counts: [0-9]+ [0-9]+ [0-9]+' "$dir/$2.log") || die "the machine ended before the tests"
  read -r _ _ failed _ <<<"${counts//$'\r'/}"
  if ((failed > 0)); then status=1; fi
}
