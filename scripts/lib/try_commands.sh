#!/bin/sh
# Uses the commands of framefs as a user would, without a mount; for scripts/cross.
#
#   try_commands.sh FOLDER COMMAND...
#
# COMMAND starts framefs.  FOLDER is made; afterwards it holds a dataset (demo) and its plain files (plain).
set -e
folder=$1
shift
mkdir "$folder"
"$@" demo "$folder/demo"
"$@" check "$folder/demo"
"$@" info --chunks "$folder/demo/logs/app.log.b2frame"
"$@" unpack -q "$folder/demo" -o "$folder/plain"
"$@" pack -q "$folder/plain" -o "$folder/packed"
"$@" check "$folder/packed"
"$@" unpack -q "$folder/packed" -o "$folder/again"
diff -r "$folder/plain" "$folder/again"
