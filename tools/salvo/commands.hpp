// The tool's commands: each takes its options and returns the program's exit code.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace salvo::tool {

/// Exit codes. Bad input is reported by throwing InputError.
inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;
inline constexpr int kBadInput = 2;

struct InfoOptions {
  bool json = false;
  bool only_environment = false;
};
int info(const InfoOptions& options);

struct DemoOptions {
  bool json = false;
  std::vector<std::string> devices;   // ids; empty: all
  std::vector<std::string> programs;  // names; empty: all
  std::string image;                  // empty: the shipped picture
  std::string output = "salvo-demo-out";
  std::string make_picture;  // write the shipped picture there and do nothing else
};
int demo(const DemoOptions& options);

struct SourceOptions {
  bool json = false;
  std::string kernel;  // empty: list them
  std::string target = "OpenCL";
};
int source(const SourceOptions& options);

/// Without a choice: what there is and what came of it.
struct CacheOptions {
  bool json = false;
  bool path = false;  // the folder alone
  bool clear = false;
};
int cache(const CacheOptions& options);

}  // namespace salvo::tool
