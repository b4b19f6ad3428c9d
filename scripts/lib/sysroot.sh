# shellcheck shell=bash disable=SC2154  # chroot.sh and common.sh set root and debian_mirror
# Libraries of another architecture in a folder of their own.  The sourcing script has sourced common.sh
# and chroot.sh.
#
# The packages are unpacked, not installed: this machine's own packages stay as they are, nothing
# needs root, and suite and architecture are free.

# record_package PACKAGE FOLDER: enters an unpacked package in a database that dpkg-query reads.
record_package() {
  local database=$2/var/lib/dpkg name
  name=$(dpkg-deb --field "$1" Package) &&
    { dpkg-deb --field "$1" && printf 'Status: install ok installed\n\n'; } >>"$database/status" &&
    dpkg-deb --fsys-tarfile "$1" | tar -t | sed 's|^\.||; s|/$||; s|^$|/.|' >"$database/info/$name.list"
}

# fill_sysroot SUITE ARCHITECTURE FOLDER MIRROR PACKAGE...
fill_sysroot() {
  local suite=$1 architecture=$2 folder=$3 mirror=$4 apt package
  mkdir -p "$folder"/apt/{lists/partial,archives/partial,etc} "$folder/var/lib/dpkg/info" &&
    : >"$folder/apt/status" || return
  echo "deb [arch=$architecture signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" \
    >"$folder/apt/etc/sources.list" || return
  # An empty status file: apt then also downloads what this machine has already.
  apt=(apt-get -q -y -o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture"
    -o "APT::Install-Recommends=false" -o "Dir::State=$folder/apt" -o "Dir::State::status=$folder/apt/status"
    -o "Dir::Cache=$folder/apt" -o "Dir::Etc::sourcelist=$folder/apt/etc/sources.list" -o "Dir::Etc::sourceparts=-"
    -o "Acquire::Languages=none" -o "Acquire::Check-Valid-Until=false" -o "APT::Sandbox::User=")
  "${apt[@]}" update && "${apt[@]}" --download-only install "${@:5}" || return
  for package in "$folder"/apt/archives/*.deb; do
    dpkg-deb --extract "$package" "$folder" && record_package "$package" "$folder" || return
  done
  # lib is a link to usr/lib in an installed system; here, packages of bookworm that use /lib made a folder.
  mkdir -p "$folder/usr/lib" || return
  if [[ -d $folder/lib ]]; then
    cp -a "$folder/lib/." "$folder/usr/lib/" && rm -r "${folder:?}/lib" || return
  fi
  ln -s usr/lib "$folder/lib"
  # An absolute link leads out of the folder.
  find "$folder" -lname '/*' -print0 | while IFS= read -r -d '' link; do
    ln -srfn "$folder$(readlink "$link")" "$link" || return
  done || return
  # Some CMake packages name their libraries by absolute paths.
  # shellcheck disable=SC2016  # CMake replaces the variable
  find "$folder/usr/lib" -path '*/cmake/*.cmake' \
    -exec sed -i -E 's|"(/usr/lib/[^/"]+/lib)|"${CMAKE_SYSROOT}\1|' {} + || return
  rm -rf "$folder/apt/archives" "$folder/apt/lists" "$folder/apt/"*.bin
}

# make_sysroot SUITE ARCHITECTURE FOLDER LOG PACKAGE...: FOLDER exists afterwards only if all was unpacked.
# A folder with the same packages is kept, if it has their database.
make_sysroot() {
  local folder=$3 log=$4 mirror wanted="$1 $2 ${*:5}"
  if [[ -f $folder/.contents && -f $folder/var/lib/dpkg/status && $(<"$folder/.contents") == "$wanted" ]]; then
    return
  fi
  mirror=$(debian_mirror)
  rm -rf --one-file-system "$folder" "$folder.new"
  run_logged "$log" fill_sysroot "$1" "$2" "$folder.new" "$mirror" "${@:5}" || die "could not make $folder"
  echo "$wanted" >"$folder.new/.contents"
  mv "$folder.new" "$folder"
}

# The names that compilers and emulators have for an architecture of Debian.
triplet_of() {
  case $1 in
    arm64) echo aarch64-linux-gnu ;;
    *) echo "$1-linux-gnu" ;;
  esac
}
processor_of() { triplet_of "$1" | cut -d- -f1; }
emulator_of() { echo "$root/build/emulator/usr/bin/qemu-$(processor_of "$1")"; }

# make_emulator LOG: the emulator is that of trixie, because the one of bookworm lacks openat2(2), which
# opens all files of a SOURCE.  It is linked statically, and thus also runs in a chroot.
make_emulator() { make_sysroot trixie "$(dpkg --print-architecture)" "$root/build/emulator" "$1" qemu-user; }

# libraries_of GROUP...: the packages of install-deps that are needed for the other architecture.
libraries_of() { "$root/scripts/install-deps" --print "$@" | tr ' ' '\n' | grep -E -- '-dev$|^catch2$'; }

# set_cross_environment ARCHITECTURE SYSROOT: for cmake/cross.cmake
set_cross_environment() {
  FRAMEFS_CROSS_TRIPLET=$(triplet_of "$1")
  FRAMEFS_CROSS_SYSROOT=$2
  FRAMEFS_CROSS_EMULATOR=$(emulator_of "$1")
  export FRAMEFS_CROSS_TRIPLET FRAMEFS_CROSS_SYSROOT FRAMEFS_CROSS_EMULATOR
}

# prepare_cross_build ARCHITECTURE LOG: installs the compiler, and makes the emulator and the sysroot.
prepare_cross_build() {
  local names
  "$root/scripts/install-deps" build "cross-$1"
  make_emulator "$2"
  set_cross_environment "$1" "$(build_dir "cross-$1")/sysroot"
  read -r -d '' -a names < <(libraries_of build test) || true
  make_sysroot bookworm "$1" "$FRAMEFS_CROSS_SYSROOT" "$2" "${names[@]}" libc6-dev libstdc++-12-dev
}
