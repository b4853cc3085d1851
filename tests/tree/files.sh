#!/usr/bin/env bash
# Checks that every source file is short and says its purpose, then its licence.
# SPDX-License-Identifier: MIT
#
# usage: files.sh <root of the tree> [lines a file must stay under]
set -euo pipefail
limit=${2:-1000}
cd "$1"

# tests/tree/crooked is wrong on purpose.
mapfile -d '' files < <(find dev .ci CMakeLists.txt cmake include src tools tests examples benchmarks \
  -type f -not -path 'tests/tree/crooked/*' \( -name '*.[ch]pp' -o -name '*.sh' -o -name '*.cmake' \
  -o -name CMakeLists.txt -o -name dev -o -name run \) -print0 2>/dev/null | sort -z)
[ ${#files[@]} -gt 0 ] || { echo "no sources under $PWD"; exit 1; }

awk -v limit="$limit" '
function check(  purpose) {
  if (file == "") return
  if (count >= limit) { printf "%s: %d lines; split it\n", file, count; bad = 1 }
  purpose = line[1] ~ /^#!/ ? line[2] : line[1]
  if (purpose !~ /^(\/\/|#) ./ || purpose ~ /SPDX/) { printf "%s: no purpose line\n", file; bad = 1 }
  if (!licensed) { printf "%s: no licence line after the purpose\n", file; bad = 1 }
}
FNR == 1 { check(); file = FILENAME; licensed = 0 }
FNR <= 4 {
  line[FNR] = $0
  if ($0 ~ /^(\/\/|#) SPDX-License-Identifier: MIT$/) licensed = 1
}
{ count = FNR }
END {
  check()
  if (!bad) printf "%d files are short and licensed\n", ARGC - 1
  exit bad
}' "${files[@]}"
