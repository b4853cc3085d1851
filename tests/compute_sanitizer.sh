#!/bin/sh
# Runs the conformance suite and the device rules under NVIDIA's compute-sanitizer.
# SPDX-License-Identifier: MIT
#
# Usage: tests/compute_sanitizer.sh BUILD_FOLDER [TOOL ...]
# Tools: memcheck racecheck initcheck synccheck; all of them by default. Prints a line per program
# and tool, and fails if one found anything. Skips, by saying so, where the tool is not installed.
set -u
build=${1:?usage: compute_sanitizer.sh BUILD_FOLDER [TOOL ...]}
shift
[ $# -gt 0 ] || set -- memcheck racecheck initcheck synccheck
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
if [ ! -x "$sanitizer" ]; then
  echo "skipped: compute-sanitizer is not installed"
  exit 0
fi
# Kernels are compiled anew, so that none comes from another run, and only the CUDA backends open.
export SALVO_DISK_CACHE=0 SALVO_DISABLE_OPENCL=1 SALVO_DISABLE_VULKAN=1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0
sanitize() {  # program, filter, tool
  timeout "${SALVO_SANITIZER_SECONDS:-600}" "$sanitizer" --tool "$3" --error-exitcode 86 \
    --report-api-errors no --print-limit 20 "$build/$1" --gtest_brief=1 --gtest_filter="$2" \
    >"$log" 2>&1
}
check() {  # program, filter, tool
  # Some tests call the driver wrongly on purpose, so that its refusals are no findings.
  sanitize "$1" "$2" "$3"
  status=$?
  passed=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) tests*\.$/\1/p' "$log")
  echo "$3 $1: exit $status, ${passed:-0} tests passed; $(grep 'SUMMARY' "$log" | tail -1)"
  if [ $status -ne 0 ] || [ "${passed:-0}" -eq 0 ]; then
    failed=1
    grep -vE '^\[|^Running|^Note' "$log" | head -60
  fi
}
for tool in "$@"; do
  if [ "$tool" = memcheck ]; then
    # The tool must find a kernel that does write where there is no memory.
    sanitize tests/rules/cuda_lost_context_test 'CudaLostContext.IsReportedByEachLaterCall' memcheck
    grep -q 'Invalid __global__ write' "$log" || {
      echo "memcheck missed the wild write of cuda_lost_context_test"
      failed=1
    }
  fi
  check tests/conformance/conformance_test '*CUDA*' "$tool"
  check tests/rules/device_rules_test '*CUDA*:*Cuda*' "$tool"
done
exit $failed
