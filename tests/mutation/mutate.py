#!/usr/bin/env python3
# Breaks one rule at a time in a copy of the tree and checks that a test of that rule fails.
# SPDX-License-Identifier: MIT
"""Usage: tests/mutation/mutate.py [--work FOLDER] [--only REGEX] [--jobs N] [--check] [TABLE...]

A table lists mutations, by default window.table and fusion.table beside this file:

    == W10 rules_test W08*W10_*
    @ src/window/launch_window.cpp
    -text that stands in the file exactly once
    +text that takes its place

`rules_test` is the target to build and run, what follows are patterns of its tests, of which at least
one must fail. A mutation that no longer applies, does not compile, or that no test sees is reported,
and so is a table whose tests fail without any mutation. Exit status 0: all were caught.

With --check nothing is built or run: exit status 0 if all mutations apply.
"""
import argparse
import dataclasses
import fcntl
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
# Tests on real devices take long and see nothing that those on the recording device do not.
LEFT_OUT = "-*/OpenCL0:*/Vulkan0"
TEST_SECONDS = 120


@dataclasses.dataclass
class Mutation:
    rule: str
    target: str
    tests: str
    where: str  # "window.table:12"
    file: str = ""
    old: str = ""
    new: str = ""


class BadTable(Exception):
    pass


def read_table(path):
    mutations = []
    old, new = [], []

    def close():
        if mutations:
            mutations[-1].old, mutations[-1].new = "\n".join(old), "\n".join(new)
            if not old or not mutations[-1].file:
                raise BadTable(f"{mutations[-1].where}: no file or no text to replace")
        old.clear()
        new.clear()

    for number, line in enumerate(path.read_text().splitlines(), 1):
        where = f"{path.name}:{number}"
        if line.startswith("== "):
            close()
            words = line[3:].split()
            if len(words) < 3:
                raise BadTable(f"{where}: a rule, a target and patterns of tests are needed")
            mutations.append(Mutation(words[0], words[1], ":".join(words[2:]), where))
        elif line.startswith("@ "):
            mutations[-1].file = line[2:].strip()
        elif line.startswith("-"):
            old.append(line[1:])
        elif line.startswith("+"):
            new.append(line[1:])
        elif line.strip() and not line.startswith("#"):
            raise BadTable(f"{where}: neither ==, @, -, + nor #")
    close()
    return mutations


def why_stale(mutation, tree):
    """Why the mutation cannot be made in a tree; None if it can."""
    path = tree / mutation.file
    if not path.is_file():
        return "no longer applies: no such file"
    found = path.read_text().count(mutation.old)
    return None if found == 1 else f"no longer applies: its text stands there {found} times"


def check(mutations):
    stale = 0
    for mutation in mutations:
        reason = why_stale(mutation, ROOT)
        if reason:
            stale += 1
            print(f"{mutation.rule:<5} {mutation.where:<20} {mutation.file}: {reason}")
    print(f"{len(mutations) - stale} of {len(mutations)} mutations apply")
    return 1 if stale else 0


def copy_tree(to):
    """Brings the copy up to date; files that are the same keep their times, so little is built."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=ROOT, check=True, capture_output=True, text=True).stdout
    wanted = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    for name in wanted:
        source, target = ROOT / name, to / name
        if target.exists() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
        os.utime(target)
    for target in to.rglob("*"):
        name = str(target.relative_to(to))
        if target.is_file() and name not in wanted and not name.startswith("build/"):
            target.unlink()


def run(command, cwd, seconds=None):
    """Exit status, None past the time limit, and what it printed."""
    try:
        done = subprocess.run(command, cwd=cwd, timeout=seconds, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        return None, ""


class Copy:
    def __init__(self, folder, jobs):
        self.tree = folder / "tree"
        self.build = self.tree / "build" / "dev"
        self.jobs = jobs

    def prepare(self):
        copy_tree(self.tree)
        # As everybody builds, and in a folder as deep, so that ccache knows what did not change.
        status, said = run(["cmake", "--preset", "dev", "-DSALVO_BUILD_TOOL=OFF",
                            "-DSALVO_BUILD_EXAMPLES=OFF"], self.tree)
        if status != 0:
            sys.exit(f"the copy cannot be configured:\n{said}")

    def make(self, target):
        return run(["ninja", "-C", str(self.build), f"-j{self.jobs}", target], self.tree)

    def test(self, mutation):
        program = next(self.build.glob(f"tests/**/{mutation.target}"))
        return run([program, "--gtest_brief=1", f"--gtest_filter={mutation.tests}:{LEFT_OUT}"],
                   self.tree, TEST_SECONDS)

    def try_out(self, mutation):
        """What became of it, and whether that is as it should be."""
        reason = why_stale(mutation, self.tree)
        if reason:
            return False, reason
        path = self.tree / mutation.file
        text = path.read_text()
        try:
            path.write_text(text.replace(mutation.old, mutation.new))
            status, said = self.make(mutation.target)
            if status != 0:
                errors = [line for line in said.splitlines() if "error" in line]
                return False, "does not compile: " + (errors or said.splitlines()[-1:])[0][:300]
            status, said = self.test(mutation)
            if status == 0:
                return False, "SURVIVES"
            failed = re.findall(r"\[  FAILED  \] (\S+)", said)
            if status is None:
                return True, "caught: the tests hang"
            return True, "caught by " + (failed[0].rstrip(",") if failed else "a crash")
        finally:
            path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "mutation",
                        help="where the copy of the tree is kept and built")
    parser.add_argument("--only", default="", help="rules or places in a table that match this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--check", action="store_true",
                        help="only whether the text of each stands in its file exactly once")
    parser.add_argument("tables", nargs="*", type=pathlib.Path,
                        default=[HERE / "window.table", HERE / "fusion.table"])
    options = parser.parse_args()
    try:
        mutations = [m for table in options.tables for m in read_table(table)
                     if re.search(options.only, f"{m.rule} {m.where}")]
    except BadTable as bad:
        sys.exit(str(bad))
    if options.check:
        return check(mutations)
    options.work.mkdir(parents=True, exist_ok=True)
    lock = open(options.work / "lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(f"another run uses {options.work}")
    copy = Copy(options.work, options.jobs)
    copy.prepare()
    for target in sorted({m.target for m in mutations}):
        status, said = copy.make(target)
        if status != 0:
            sys.exit(f"{target} does not build:\n{said[-4000:]}")
    for target, tests in sorted({(m.target, m.tests) for m in mutations}):
        status, said = copy.test(Mutation("", target, tests, ""))
        if status != 0 or " 0 tests" in said:
            sys.exit(f"{target} {tests} fails, or runs nothing, without any mutation:\n{said[-4000:]}")

    started, wrong = time.monotonic(), []
    for mutation in mutations:
        good, outcome = copy.try_out(mutation)
        if not good:
            wrong.append(mutation)
        print(f"{mutation.rule:<5} {mutation.where:<20} {outcome}", flush=True)
    print(f"{len(mutations) - len(wrong)} of {len(mutations)} mutations caught "
          f"in {time.monotonic() - started:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
