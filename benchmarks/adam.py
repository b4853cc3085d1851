#!/usr/bin/env python3
# Times PyTorch's fused Adam on the tensors of adam.cpp, runs that program, and prints ratios.
# SPDX-License-Identifier: MIT
"""Usage: adam.py PATH_OF_THE_ADAM_PROGRAM [BACKEND ...]"""
import json
import statistics
import subprocess
import sys
import time

import torch

SIZES = (64, 256, 1024, 4096, 16384)
OF_EACH = 40
CHECKED = 10
ROUNDS = 300
BACK_TO_BACK = 20


def tensors():
    made = []
    for size in SIZES:
        for _ in range(OF_EACH):
            i = torch.arange(size, dtype=torch.int32)
            value = (i % 17).float() * 0.1 - 0.8
            parameter = torch.nn.Parameter(value.cuda())
            parameter.grad = ((i % 13).float() * 0.01 - 0.06).cuda()
            made.append(parameter)
    return made


def timed(step, steps):
    start = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) * 1e6 / steps


def torch_figures():
    parameters = tensors()
    optimizer = torch.optim.Adam(parameters, lr=1e-3, fused=True)
    for _ in range(CHECKED):
        optimizer.step()
    total = sum(p.detach().double().sum().item() for p in parameters)
    single, steady = [], []
    for turn in range(ROUNDS):
        timed(optimizer.step, 1)
        single.append(timed(optimizer.step, 1))
        if turn % 10 == 0:
            steady.append(timed(optimizer.step, BACK_TO_BACK))
    return {"step_us": statistics.median(single), "steady_us": statistics.median(steady),
            "sum": total}


def main():
    program, backends = sys.argv[1], sys.argv[2:] or ["CUDA/PTX", "CUDA/C"]
    before = torch_figures()
    lines = []
    for backend in backends:
        out = subprocess.run([program, backend], check=True, capture_output=True, text=True).stdout
        lines += [json.loads(line) for line in out.splitlines()]
    after = torch_figures()
    step = (before["step_us"] + after["step_us"]) / 2
    steady = (before["steady_us"] + after["steady_us"]) / 2
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; sum after {CHECKED} steps "
          f"{before['sum']:.6f}")
    print("| way | one step, waited for, us | of torch | back to back, us a step | of torch |")
    print("|---|---|---|---|---|")
    print(f"| torch, fused Adam | {step:.1f} | 1 | {steady:.1f} | 1 |")
    for line in lines:
        print(f"| {line['backend']}, window {line['way']} | {line['step_us']:.1f} "
              f"| {line['step_us'] / step:.3f} | {line['steady_us']:.1f} "
              f"| {line['steady_us'] / steady:.3f} |")
        if abs(line["sum"] - before["sum"]) > 1e-3 * abs(before["sum"]) + 1e-2:
            sys.exit(f"adam.py: the sums differ: {line['sum']} and {before['sum']}")


if __name__ == "__main__":
    main()
