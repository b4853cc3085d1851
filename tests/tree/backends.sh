#!/usr/bin/env bash
# Checks that every backend's folder has the same file names, but for what backends.table excepts.
# SPDX-License-Identifier: MIT
#
# usage: backends.sh <root of the tree>
set -euo pipefail
table=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/backends.table
cd "$1/src/backends"

# The driver's functions, the backend, what a process knows of its drivers, a device with its kernels
# and queues, what it is, and what its failures mean. Where a device's class has a second file for
# code, that is _device_code.
parts=(api backend drivers device executable queue properties error)

bad=0 seen=0
for folder in */; do
  backend=${folder%/}
  for part in "${parts[@]}"; do
    file=${backend}_$part.hpp
    reason=$(awk -v b="$backend" -v p="$part" '$1 == b && ($2 == p || $2 == "*")' "$table")
    exact=$(awk -v b="$backend" -v p="$part" '$1 == b && $2 == p' "$table")
    seen=$((seen + 1))
    if [ -e "$backend/$file" ]; then
      [ -z "$exact" ] || { echo "src/backends/$backend: $file is there, but backends.table excepts it"; bad=1; }
    elif [ -z "$reason" ]; then
      echo "src/backends/$backend: no $file"
      bad=1
    fi
  done
done
[ "$seen" -gt 0 ] || { echo "no backend under $PWD"; exit 1; }
[ "$bad" -eq 0 ] && echo "$seen parts of backends have their names or a reason"
exit "$bad"
