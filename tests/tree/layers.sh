#!/usr/bin/env bash
# Checks that every #include "..." of a tree points in a direction that layers.table allows.
# SPDX-License-Identifier: MIT
#
# usage: layers.sh <root of the tree>
set -euo pipefail
table=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/layers.table
cd "$1"

mapfile -d '' files < <(find include/salvo src tools examples benchmarks \
  \( -name '*.hpp' -o -name '*.cpp' \) -print0 2>/dev/null | sort -z)
[ ${#files[@]} -gt 0 ] || { echo "no sources under $PWD"; exit 1; }

awk '
# The layer a path belongs to, as the table spells it; empty for none.
function layer_of(path,   part, n) {
  n = split(path, part, "/")
  if (path ~ /^include\/salvo\//) return "public"
  if (path ~ /^src\/backends\/[^\/]+\//) return ("backends/" part[3]) in known ? "backends/" part[3] : "backends/*"
  if (path ~ /^src\/backends\//) return "api"  # the list of backends is part of the composition
  if (part[1] == "src") return n > 2 ? part[2] : ""
  return part[1]
}
# The folder a quoted include starts in: "ir", "backends/opencl", "salvo" or empty for a neighbour.
function root_of(header,   part) {
  split(header, part, "/")
  return part[1] == "backends" ? part[1] "/" part[2] : part[1]
}
function allowed(layer, header, own,   root, word, i, n) {
  root = root_of(header)
  if (header ~ /^salvo\//) return (layer SUBSEP "public") in may || (layer SUBSEP header) in may
  if (header !~ /\// || root == own) return 1
  if ((layer SUBSEP header) in may || (layer SUBSEP root) in may) return 1
  return root ~ /^backends\// && (layer SUBSEP "backends") in may
}
FILENAME == ARGV[1] {
  if ($0 ~ /^#/ || NF == 0) next
  known[$1] = 1
  for (i = 2; i <= NF; ++i) may[$1, $i] = 1
  next
}
FNR == 1 {
  layer = layer_of(FILENAME)
  own = FILENAME
  sub(/^src\//, "", own)
  own = root_of(own)
  if (!(layer in known)) { printf "%s: no layer of the table\n", FILENAME; bad = 1 }
}
/^[ \t]*#[ \t]*include[ \t]*["<]/ {
  header = $0
  sub(/^[^"<]*["<]/, "", header)
  sub(/[">].*/, "", header)
  ++seen
  if ($0 ~ /</ && header !~ /^salvo\//) next
  if (allowed(layer, header, own)) next
  printf "%s:%d: %s must not include %s\n", FILENAME, FNR, layer, header
  bad = 1
}
END {
  if (!seen) { print "no include was seen"; exit 1 }
  if (!bad) printf "%d includes in %d files point the allowed way\n", seen, ARGC - 2
  exit bad
}' "$table" "${files[@]}"
