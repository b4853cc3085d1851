#!/bin/sh
# Runs the conformance suite and the rules under NVIDIA's compute-sanitizer.
# SPDX-License-Identifier: MIT
#
# Usage: tests/compute_sanitizer.sh BUILD_FOLDER [TOOL ...]
# Tools: memcheck racecheck initcheck synccheck; all of them by default. Each program is shared out
# over SALVO_SANITIZER_SHARDS processes (4), all of which run at once, for SALVO_SANITIZER_SECONDS
# at most (600). Prints a line per program and tool, and fails if one found anything, was not done in
# time or ran no test. Skips, by saying so, where the tool is not installed.
set -u
build=${1:?usage: compute_sanitizer.sh BUILD_FOLDER [TOOL ...]}
shift
[ $# -gt 0 ] || set -- memcheck racecheck initcheck synccheck
seconds=${SALVO_SANITIZER_SECONDS:-600}
shards=${SALVO_SANITIZER_SHARDS:-4}
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
if [ ! -x "$sanitizer" ]; then
  echo "skipped: compute-sanitizer is not installed"
  exit 0
fi
# Kernels are compiled anew, so that none comes from another run, and only the CUDA backends open.
export SALVO_DISK_CACHE=0 SALVO_DISABLE_OPENCL=1 SALVO_DISABLE_VULKAN=1
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
failed=0

status_of() { echo "${1%/*}/status.${1##*/}"; }
# Some tests call the driver wrongly on purpose, so that its refusals are no findings.
sanitize() {  # program, filter, tool, log
  timeout "$seconds" "$sanitizer" --tool "$3" --error-exitcode 86 --report-api-errors no \
    --print-limit 20 "$build/$1" --gtest_brief=1 --gtest_filter="$2" >"$4" 2>&1
  echo $? >"$(status_of "$4")"
}
start() {  # program, filter, tool
  shard=0
  while [ $shard -lt "$shards" ]; do
    (
      export GTEST_TOTAL_SHARDS="$shards" GTEST_SHARD_INDEX=$shard
      sanitize "$1" "$2" "$3" "$logs/$3.${1##*/}.$shard"
    ) &
    shard=$((shard + 1))
  done
}
report() {  # program, tool
  passed=0
  bad=
  for log in "$logs/$2.${1##*/}".[0-9]*; do
    status=$(cat "$(status_of "$log")")
    count=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) tests*\.$/\1/p' "$log")
    passed=$((passed + ${count:-0}))
    [ "$status" -eq 0 ] || bad="$bad $log"
  done
  echo "$2 $1: $passed tests passed, $(cat "$logs/$2.${1##*/}".[0-9]* | grep -c 'ERROR SUMMARY: 0\|SUMMARY: 0 hazards') of $shards processes without a finding"
  [ -z "$bad" ] && [ "$passed" -gt 0 ] && return
  failed=1
  for log in $bad; do
    echo "exit $(cat "$(status_of "$log")"), $(grep SUMMARY "$log" | tail -1)"
    grep -vE '^\[  PASSED|^Running|^Note' "$log" | tail -40
  done
}

for tool in "$@"; do
  start tests/conformance/conformance_test '*CUDA*' "$tool"
  start tests/rules/rules_test '*CUDA*:*Cuda*' "$tool"
  start tests/rules/device_rules_test '*CUDA*:*Cuda*' "$tool"
  [ "$tool" = memcheck ] || continue
  # The tool must find a kernel that does write where there is no memory.
  sanitize tests/rules/cuda_lost_context_test CudaLostContext.IsReportedByEachLaterCall memcheck \
    "$logs/wild" &
done
wait
for tool in "$@"; do
  report tests/conformance/conformance_test "$tool"
  report tests/rules/rules_test "$tool"
  report tests/rules/device_rules_test "$tool"
  [ "$tool" = memcheck ] || continue
  grep -q 'Invalid __global__ write' "$logs/wild" || {
    echo "memcheck missed the wild write of cuda_lost_context_test"
    tail -20 "$logs/wild"
    failed=1
  }
done
exit $failed
