# shellcheck shell=bash disable=SC2154  # chroot.sh and common.sh set root and debian_mirror
# Libraries of another architecture in a folder of their own.  The sourcing script has sourced common.sh
# and chroot.sh.
#
# The packages are unpacked, not installed: this machine's own packages stay as they are, nothing
# needs root, and suite and architecture are free.

# fill_sysroot SUITE ARCHITECTURE FOLDER MIRROR PACKAGE...
fill_sysroot() {
  local suite=$1 architecture=$2 folder=$3 mirror=$4 apt package
  mkdir -p "$folder"/apt/{lists/partial,archives/partial,etc} && : >"$folder/apt/status" || return
  echo "deb [arch=$architecture signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" \
    >"$folder/apt/etc/sources.list" || return
  # An empty status file: apt then also downloads what this machine has already.
  apt=(apt-get -q -y -o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture"
    -o "APT::Install-Recommends=false" -o "Dir::State=$folder/apt" -o "Dir::State::status=$folder/apt/status"
    -o "Dir::Cache=$folder/apt" -o "Dir::Etc::sourcelist=$folder/apt/etc/sources.list" -o "Dir::Etc::sourceparts=-"
    -o "Acquire::Languages=none" -o "Acquire::Check-Valid-Until=false" -o "APT::Sandbox::User=")
  "${apt[@]}" update && "${apt[@]}" --download-only install "${@:5}" || return
  for package in "$folder"/apt/archives/*.deb; do
    dpkg-deb --extract "$package" "$folder" || return
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
# A folder with the same packages is kept.
make_sysroot() {
  local folder=$3 log=$4 mirror wanted="$1 $2 ${*:5}"
  if [[ -f $folder/.contents && $(<"$folder/.contents") == "$wanted" ]]; then return; fi
  mirror=$(debian_mirror)
  rm -rf --one-file-system "$folder" "$folder.new"
  run_logged "$log" fill_sysroot "$1" "$2" "$folder.new" "$mirror" "${@:5}" || die "could not make $folder"
  echo "$wanted" >"$folder.new/.contents"
  mv "$folder.new" "$folder"
}
