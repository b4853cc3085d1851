#!/usr/bin/env bash
# Checks that every rule of the specification is named by a test, or excused in a table.
# SPDX-License-Identifier: MIT
#
# usage: rules.sh <root of the tree>
#
# A test of rule W12 has W12_ in its name. rules.table beside this script lists the rules that have
# no test, one a line, with the reason.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"

rules=$(grep -hoE '^- [A-Z][0-9]+ ' docs/spec/*.md | tr -d ' -' | sort -u)
tested=$(grep -rhoE '\b[A-Z][0-9]+_' tests --exclude-dir=crooked \
  --include='*.cpp' --include=CMakeLists.txt || true)
excused=$(grep -vE '^(#|$)' "$here/rules.table" | cut -d' ' -f1)
missing=$(comm -23 <(echo "$rules") <(printf '%s\n%s\n' "${tested//_/}" "$excused" | sort -u))

if [ -n "$missing" ]; then
  echo "no test names: ${missing//$'\n'/ }"
  exit 1
fi
echo "$(wc -l <<<"$rules") rules, each named by a test or excused"
