#!/usr/bin/env bash
# Runs every suite that needs a device on one of this machine's, and the benchmarks, each for a limited time.
# SPDX-License-Identifier: MIT
#
# Usage: tests/on_device.sh BUILD_FOLDER RESULTS_FOLDER DEVICE [STEP ...]
# DEVICE is the beginning of a device's name in tests, as in Arithmetic.Adds/CUDAPTX0: CUDA, OpenCL, Vulkan,
# Native, LevelZero. STEPs are names of the lines this prints, or `checks` or `timings`; all by default. Each
# step's output goes to RESULTS_FOLDER/STEP.log. Prints a line a step: how it ended, and the tests that
# passed, failed and were skipped by name in the log. Fails if a step failed or was not done in time, or if there is no
# such device. Steps whose program is not built are named.
# SALVO_STEP_SECONDS (300) is the limit of a step; SALVO_TEST_PROGRAMS the number of random programs.
set -u
build=${1:?usage: on_device.sh BUILD_FOLDER RESULTS_FOLDER DEVICE [STEP ...]}
results=${2:?a folder for the results}
device=${3:?a device, such as CUDA, OpenCL or Vulkan}
shift 3
wanted=" ${*:-checks timings} "
seconds=${SALVO_STEP_SECONDS:-300}
mkdir -p "$results"
failed=0

is_wanted() { case "$wanted" in *" $1 "* | *" $2 "*) return 0 ;; *) return 1 ;; esac }
count() { sed -n "s/^\[  $1 *\] \([0-9]*\) tests*.*/\1/p" "$2" | tail -1; }

run() { # kind, step, program, argument...
  local kind=$1 step=$2 program=$build/$3
  shift 3
  is_wanted "$step" "$kind" || return 0
  if [ ! -x "$program" ]; then
    echo "$step: $program is not built"
    return 0
  fi
  local log=$results/$step.log begun=$SECONDS status=0
  timeout "$seconds" "$program" "$@" >"$log" 2>&1 || status=$?
  # A program that prints its help has run nothing, and ends well.
  if [ "$kind" = checks ] && [ $status -eq 0 ] && ! grep -q "^\[  PASSED  \]" "$log"; then
    status=1
  fi
  local outcome="done"
  if [ $status -eq 124 ]; then
    outcome="NOT DONE in time"
    failed=1
  elif [ $status -ne 0 ]; then
    outcome="FAILED with $status"
    failed=1
  fi
  if [ "$kind" = checks ]; then
    outcome="$outcome: $(count PASSED "$log" | grep . || echo 0) passed, $(count FAILED "$log" | grep . || echo 0) failed,"
    outcome="$outcome $(count SKIPPED "$log" | grep . || echo 0) skipped"
    if grep -q "Running 0 tests" "$log" || grep -q "^\[  PASSED  \] 0 tests" "$log"; then
      outcome="no test of this device"
      # The suite that every device passes.
      [ "$step" = conformance ] && failed=1
    fi
  fi
  echo "$step: $outcome, $((SECONDS - begun)) s"
}

check() { # step, program, filter
  run checks "$1" "$2" --gtest_brief=1 --gtest_filter="$3"
}

# What runs on every device there is, or opens them all: the others are hidden.
alone() { # command of this script...
  (
    for other in CUDA_PTX CUDA_C HIP LEVEL_ZERO METAL OPENCL VULKAN WEBGPU; do
      spelled=$(echo "$device" | tr '[:lower:]' '[:upper:]')
      [ "$spelled" = LEVELZERO ] && spelled=LEVEL_ZERO
      case $other in "$spelled"*) ;; *) export "SALVO_DISABLE_$other=1" ;; esac
    done
    failed=0
    "$@"
    exit $failed
  ) || failed=1
}

on="*/$device*"
# Fixtures of one device's own carry its name.
own="*$device*"
[ "$device" = CUDA ] && own="$own:*Cuda*"
check conformance tests/conformance/conformance_test "$on"
check rules tests/rules/rules_test "$own"
# All rules, on fake devices that hand their work to this one.
flags=$(dirname "$0")/rules/recorded.flags
case $device in CUDA) recorded="CUDA/PTX CUDA/C" ;; *) recorded=$device ;; esac
for backend in $recorded; do
  export SALVO_TEST_RECORDED="$backend"
  alone run checks "recorded_rules_${backend#*/}" tests/rules/rules_test --gtest_flagfile="$flags"
  alone run checks "recorded_launch_path_${backend#*/}" tests/rules/launch_path_test --gtest_flagfile="$flags"
done
unset SALVO_TEST_RECORDED
check device_rules tests/rules/device_rules_test "$own"
check launch_path tests/rules/launch_path_test "$own"
alone check cooperative_matrices tests/rules/cooperative_matrix_test "*"
random() { alone check "$1" tests/random/random_test "$2"; }
if [ "$device" = Native ]; then
  random random_programs "*NativeIfItWereHeld"
else
  random random_windows "RandomWindows.*EveryDeviceThatCompiles"
  random random_epilogues "RandomEpilogues.EveryDeviceThatCompiles"
fi
if [ "$device" = CUDA ]; then
  # Each test loses the process's context.
  program=tests/rules/cuda_lost_context_test
  if [ -x "$build/$program" ]; then
    for one in $("$build/$program" --gtest_list_tests | sed -n 's/^  \([A-Za-z0-9_]*\).*/\1/p'); do
      check "lost_context_$one" $program "*.$one"
    done
  fi
  if is_wanted compute_sanitizer checks; then
    SALVO_SANITIZER_SECONDS=$seconds sh "$(dirname "$0")/compute_sanitizer.sh" "$build" \
      >"$results/compute_sanitizer.log" 2>&1 || failed=1
    sed 's/^/compute_sanitizer: /' "$results/compute_sanitizer.log"
  fi
fi

run timings launches benchmarks/salvo_bench
run timings recording benchmarks/salvo_bench_recording
run timings chain benchmarks/salvo_bench_chain
run timings first_launch benchmarks/salvo_bench_first_launch
if [ "$device" = CUDA ]; then
  run timings launch_floor benchmarks/launch_floor
  run timings cuda_kernels benchmarks/cuda_kernels
  run timings adam benchmarks/salvo_bench_adam
elif [ "$device" = Vulkan ]; then
  run timings vulkan_batch benchmarks/salvo_bench_vulkan_batch
  run timings vulkan_batch_warm benchmarks/salvo_bench_vulkan_batch 200
  run timings vulkan_floor benchmarks/salvo_bench_vulkan_floor
elif [ "$device" = Native ]; then
  run timings native benchmarks/salvo_bench_native
  run timings native_stages benchmarks/salvo_bench_native_stages
fi
exit $failed
