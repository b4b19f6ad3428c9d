# shellcheck shell=bash disable=SC2154  # common.sh and scripts/package set root, lib, python and target
# The tarball of scripts/package, which has the program and all its libraries.  The sourcing script has
# sourced common.sh, chroot.sh and sysroot.sh, and sets `target`: an architecture, or nothing for that of
# this machine.

tarball_version=$(sed -n 's/^  VERSION //p' "$root/CMakeLists.txt")
# The time of all files in it.
tarball_time=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct)}

name_of_tarball() {
  local processor
  if [[ -n $target ]]; then processor=$(processor_of "$target"); else processor=$(uname -m); fi
  echo "framefs-$tarball_version-linux-$processor"
}

# compile_bundle SOURCES FOLDER: builds and installs into FOLDER.  The flags are those of the Debian
# package but for debug information; they also hide the paths of SOURCES and of the sysroot from the
# compiler's output.
compile_bundle() {
  cd "$1" || return
  local -x DEB_BUILD_MAINT_OPTIONS=hardening=+all DEB_CXXFLAGS_MAINT_STRIP="-g -O2"
  local -x CXXFLAGS LDFLAGS
  local toolchain=()
  if [[ -n $target ]]; then
    local -x DEB_HOST_ARCH=$target DEB_CXXFLAGS_MAINT_APPEND="-ffile-prefix-map=$FRAMEFS_CROSS_SYSROOT="
    toolchain=(--toolchain "$1/cmake/cross.cmake")
  fi
  CXXFLAGS="$(dpkg-buildflags --get CXXFLAGS) $(dpkg-buildflags --get CPPFLAGS)" &&
    LDFLAGS=$(dpkg-buildflags --get LDFLAGS) &&
    cmake --preset release -DFRAMEFS_BUNDLE=ON -DFRAMEFS_ZFP=ON "${toolchain[@]}" &&
    ninja -C build &&
    cmake --install build --prefix "$2" --strip
}

# complete_bundle SOURCES FOLDER: what the installation lacks.
complete_bundle() {
  install -d "$2/share/doc/framefs" &&
    install -m 644 "$1"/{README.md,CHANGELOG.md,LICENSE} "$2/share/doc/framefs/" &&
    install -m 644 "$1/packaging/bundle/INSTALL.md" "$2/" &&
    # The program may lie anywhere; systemd finds a link to it where administrators put programs.
    sed -i 's|^ExecStart=/usr/bin/|ExecStart=/usr/local/bin/|' "$2/lib/systemd/system/framefs@.service" &&
    "$python" "$lib/bundle.py" "$2" "$1/build" "${FRAMEFS_CROSS_TRIPLET:-$(gcc -print-multiarch)}" \
      "${FRAMEFS_CROSS_SYSROOT:-/}"
}

# pack_bundle FOLDER NAME: the same bytes for the same files, whoever packs them and whenever.
pack_bundle() {
  tar -C "$1" --sort=name --format=gnu --mtime="@$tarball_time" --owner=0 --group=0 --numeric-owner \
    --mode=u=rwX,go=rX -cf "$1/$2.tar" "$2" &&
    xz -9 --threads=1 --force "$1/$2.tar" &&
    (cd "$1" && sha256sum "$2.tar.xz" >"$2.tar.xz.sha256")
}

# make_tarball FOLDER: builds NAME.tar.xz and NAME.tar.xz.sha256 in FOLDER.
make_tarball() {
  local folder=$1 log=$1.log tarball_name
  tarball_name=$(name_of_tarball)
  if [[ -n $target ]]; then prepare_cross_build "$target" "$log"; fi
  rm -rf "$folder"
  copy_package_sources "$folder/source"
  say "building $tarball_name.tar.xz, which takes a few minutes; the log is $log"
  (umask 022 && run_logged "$log" compile_bundle "$folder/source" "$folder/$tarball_name")
  run_logged "$log" complete_bundle "$folder/source" "$folder/$tarball_name"
  run_logged "$log" pack_bundle "$folder" "$tarball_name"
  rm -rf "$folder/source" "${folder:?}/$tarball_name"
}

# compare_tarball FOLDER OTHER: builds once more in OTHER, without a compiler cache, and compares.
compare_tarball() {
  CCACHE_DISABLE=1 make_tarball "$2"
  cmp "$1/$(name_of_tarball).tar.xz" "$2/$(name_of_tarball).tar.xz" || die "two builds differ"
  say "a second build in another folder has the same bytes"
  rm -rf "$2"
}
