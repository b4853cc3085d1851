// Compiles MSL for the host: an ordinary C++ compiler with the test header of MSL.
// SPDX-License-Identifier: MIT
//
// The compiler contracts multiplies and adds wherever the source does not forbid it, and takes fast
// math for granted unless it is told not to, as Metal's does. What it made is kept in a folder of
// the build, so that a second run of the tests compiles nothing.
#include "drivers/metal/compiler.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>

#include "drivers/process.hpp"

namespace salvo::test::metal {
namespace {

namespace fs = std::filesystem;

const std::string kInclude = SALVO_MSL_INCLUDE;
const fs::path kKept = SALVO_MSL_KEPT;

bool has_fma() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("fma") != 0;
#else
  return false;  // no option is needed
#endif
}

/// The text between the parentheses that open at `at`.
std::string parenthesised(const std::string& text, std::size_t at) {
  int depth = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return text.substr(at + 1, i - at - 1);
  }
  return {};
}

std::vector<std::string> split(const std::string& arguments) {
  std::vector<std::string> all;
  int depth = 0;
  std::string one;
  for (const char c : arguments) {
    depth += c == '(' || c == '<' ? 1 : c == ')' || c == '>' ? -1 : 0;
    if (c == ',' && depth == 0) {
      all.push_back(std::move(one));
      one.clear();
    } else {
      one += c;
    }
  }
  if (one.find_first_not_of(" \n") != std::string::npos) all.push_back(std::move(one));
  return all;
}

/// One argument of a call that the machine makes, by the attribute of the parameter.
std::string argument_of(const std::string& parameter, Kernel& kernel) {
  static const std::regex attribute(R"(\[\[\s*(\w+)\s*(?:\(\s*(\d+)\s*\))?\s*\]\])");
  static const std::map<std::string, std::string> positions{
      {"thread_position_in_threadgroup", "salvo_test::Position{at->place}"},
      {"threadgroup_position_in_grid", "salvo_test::Position{at->block}"},
      {"threads_per_threadgroup", "salvo_test::Position{at->threads}"},
      {"threadgroups_per_grid", "salvo_test::Position{at->blocks}"},
      {"thread_position_in_grid",
       "salvo_test::Position{{at->block.x * at->threads.x + at->place.x, at->block.y * "
       "at->threads.y + at->place.y, at->block.z * at->threads.z + at->place.z}}"},
      {"thread_index_in_threadgroup", "at->index"},
      {"thread_index_in_simdgroup", "at->lane"},
      {"threads_per_simdgroup", "at->lanes"}};
  std::smatch found;
  const bool has = std::regex_search(parameter, found, attribute);
  const std::string word = has ? found[1].str() : "buffer";
  if (const auto position = positions.find(word); position != positions.end()) {
    return position->second;
  }
  if (word == "threadgroup") {
    kernel.has_shared = true;
    return "salvo_test::Pointer{shared}";
  }
  const auto number = has && found[2].matched ? static_cast<unsigned>(std::stoul(found[2].str()))
                                              : static_cast<unsigned>(kernel.buffers.size());
  kernel.buffers.push_back(number);
  const bool pointer = parameter.find('*') != std::string::npos;
  return fmt::format("salvo_test::{}{{buffers[{}]}}", pointer ? "Pointer" : "Reference", number);
}

/// The kernels of a source, and the functions by which the machine calls them.
std::string callers(const std::string& source, std::map<std::string, Kernel>& kernels) {
  static const std::regex head(R"(\bkernel\s+void\s+(\w+)\s*\()");
  std::string text;
  for (std::sregex_iterator it(source.begin(), source.end(), head), end; it != end; ++it) {
    Kernel kernel;
    kernel.name = (*it)[1].str();
    const auto opens = static_cast<std::size_t>(it->position() + it->length() - 1);
    std::vector<std::string> arguments;
    for (const std::string& parameter : split(parenthesised(source, opens))) {
      arguments.push_back(argument_of(parameter, kernel));
    }
    text += fmt::format(
        "extern \"C\" __attribute__((visibility(\"default\"))) void salvo_call_{0}(\n"
        "    void* const* buffers, void* shared, const salvo_test::Thread* at) {{\n"
        "  (void)buffers, (void)shared, (void)at;\n"
        "  {0}({1});\n"
        "}}\n",
        kernel.name, fmt::join(arguments, ", "));
    kernels[kernel.name] = std::move(kernel);
  }
  return text;
}

/// What a macro cannot say. Arrays in threadgroup memory are one for all threads of a block, of
/// which one runs at a time; and the word is no macro in an attribute.
std::string for_the_host(const std::string& source) {
  static const std::regex array(R"(\n(\s*)threadgroup (\w+ \w+\[\d+\];))");
  static const std::regex attribute(R"(\[\[threadgroup\()");
  return std::regex_replace(std::regex_replace(source, array, "\n$1static $2"), attribute,
                            "[[threadgroup_argument(");
}

std::vector<std::string> command(const CompilerOptions& options) {
  std::vector<std::string> words{
      SALVO_MSL_COMPILER,
      "-x",
      "c++",
      "-std=c++14",
      "-O1",
      "-shared",
      "-fPIC",
      "-nostdlib",
      "-fvisibility=hidden",
      "-fno-strict-aliasing",
      "-fno-exceptions",
      "-fno-rtti",
      "-Wall",
      "-Wextra",
      "-Wno-unused",
      "-Wno-unused-parameter",
      "-Wno-unknown-attributes",
      "-Wno-unknown-pragmas",
      "-Wno-pass-failed",
      "-Wno-tautological-compare",
      "-I" + kInclude,
      fmt::format("-DSALVO_METAL_VERSION={}", (options.language_version >> 16) * 100 +
                                                  (options.language_version & 0xffff) * 10)};
  // The option's last form is the compiler's alone: its driver does not know it.
  if (!options.contracts) words.emplace_back("-Xclang");
  words.push_back(options.contracts ? "-ffp-contract=fast" : "-ffp-contract=fast-honor-pragmas");
  if (has_fma()) words.push_back("-mfma");
  if (!options.exact) words.push_back("-ffast-math");
  return words;
}

/// Compiles into the folder of kept libraries. Returns the library's path; empty if it failed.
fs::path build(const std::string& code, const CompilerOptions& options, std::string& log) {
  static const std::string header = content_of(kInclude + "/metal_stdlib");
  std::vector<std::string> words = command(options);
  const std::size_t key =
      std::hash<std::string>{}(fmt::format("{}\n{}\n{}", fmt::join(words, " "), header, code));
  fs::create_directories(kKept);
  const fs::path kept = kKept / fmt::format("{:016x}.so", key);
  const fs::path source = kKept / fmt::format("{:016x}.metal", key);
  if (fs::exists(kept) && content_of(source.string()) == code) return kept;
  const std::string own = fmt::format("{}.{}", kept.string(), getpid());
  std::ofstream(own + ".metal", std::ios::binary) << code;
  words.insert(words.end(), {own + ".metal", "-o", own + ".so"});
  const int status = run_program(words, own + ".log");
  log = content_of(own + ".log");
  fs::remove(own + ".log");
  if (status == -1) log = SALVO_MSL_COMPILER " cannot be run";
  // A warning is a mistake of the generator's as well.
  if (status != 0 || log.find("warning:") != std::string::npos) {
    fs::remove(own + ".metal");
    fs::remove(own + ".so");
    return {};
  }
  // Other processes of the tests build the same: the last one stays, whole.
  fs::rename(own + ".metal", source);
  fs::rename(own + ".so", kept);
  return kept;
}

}  // namespace

std::shared_ptr<const Library> compile(const std::string& source, const CompilerOptions& options,
                                       std::string& log) {
  auto library = std::make_shared<Library>();
  const std::string code =
      for_the_host(source) + "\n#line 1 \"caller\"\n" + callers(source, library->kernels);
  const fs::path path = build(code, options, log);
  if (path.empty()) return nullptr;
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    log = dlerror();
    return nullptr;
  }
  library->handle = std::shared_ptr<void>(handle, [](void* open) { dlclose(open); });
  library->hooks = static_cast<Hooks*>(dlsym(handle, "salvo_hooks"));
  library->threads_meet = source.find("threadgroup_barrier") != std::string::npos ||
                          source.find("simd_") != std::string::npos ||
                          source.find("simdgroup_matrix") != std::string::npos;
  for (auto& [name, kernel] : library->kernels) {
    kernel.entry = reinterpret_cast<Entry>(dlsym(handle, ("salvo_call_" + name).c_str()));
  }
  return library;
}

}  // namespace salvo::test::metal
