// Runs a program and keeps its words, for test drivers that compile.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace salvo::test {

/// All of a file; empty if there is none.
std::string content_of(const std::string& path);

/// Exit status of the command, its output in the file `log`; -1 if it could not be run.
int run_program(const std::vector<std::string>& words, const std::string& log);

}  // namespace salvo::test
