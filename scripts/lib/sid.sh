# shellcheck shell=bash disable=SC2154  # common.sh sets root and lib
# The reference library in a chroot of Debian sid, whose folder is $sid.  The sourcing script has sourced
# common.sh and runs as root.
#
# FRAMEFS_SID names the folder of the chroot.  Without it, the first run makes a chroot below build/,
# which takes a minute and about 300 MB.  FRAMEFS_MIRROR names a mirror other than that of this machine's
# apt.
# shellcheck source-path=SCRIPTDIR source=chroot.sh
source "$lib/chroot.sh"
sid=${FRAMEFS_SID:-$root/build/sid}
if [[ ! -e $sid/usr/include/blosc2.h ]]; then
  progress "making a Debian sid with the library in $sid"
  make_chroot sid "$sid" "$root/build/logs/sid.log" gcc libc6-dev libblosc2-dev
fi
