// Compiles kernels with the real hiprtc for GPUs that are not there, and reads the machine code.
// SPDX-License-Identifier: MIT
#include "offline/hip_audit.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "codegen/c_family/hip_dialect.hpp"
#include "codegen/c_family/printer.hpp"
#include "salvo/error.hpp"

namespace salvo::tests {
namespace {

constexpr std::string_view kFile = "gallery.hip";
constexpr std::size_t kTogether = 48;  // most of a compilation's time is spent once for any number

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The kernels in one source, each in a namespace, so that their helpers do not meet.
std::string source_of(std::span<const ir::Kernel> kernels) {
  std::string source;
  std::size_t count = 0;
  for (const ir::Kernel& kernel : kernels) {
    source +=
        fmt::format("namespace kernel_{} {{\n{}}}\n", ++count,
                    codegen::c_family::print(kernel, codegen::c_family::hip_dialect(), {}).code);
  }
  return source;
}

std::string disassembled(const std::string& code) {
  const auto path = std::filesystem::temp_directory_path() /
                    fmt::format("salvo_hip_{}.o", static_cast<int>(getpid()));
  std::ofstream(path, std::ios::binary)
      .write(code.data(), static_cast<std::streamsize>(code.size()));
  const std::string command = fmt::format("{} -d -l {}", SALVO_LLVM_OBJDUMP, path.string());
  const auto close = [](FILE* pipe) { pclose(pipe); };
  const std::unique_ptr<FILE, decltype(close)> pipe(popen(command.c_str(), "r"), close);
  if (!pipe) throw std::runtime_error("cannot run " + command);
  std::string text;
  std::array<char, 65536> chunk{};
  while (const std::size_t read = fread(chunk.data(), 1, chunk.size(), pipe.get())) {
    text.append(chunk.data(), read);
  }
  std::filesystem::remove(path);
  if (text.find("Disassembly") == std::string::npos) throw std::runtime_error("no disassembly");
  return text;
}

/// Of floats: v_mad_u64_u32 and its like add integers.
bool is_fused_multiply_add(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos) return false;
  line.remove_prefix(first);
  for (std::string_view name : {"v_fma_", "v_fmac_", "v_fmaak_", "v_fmamk_", "v_mad_f", "v_mac_f",
                                "v_madak_", "v_madmk_", "v_mad_mix", "v_pk_fma", "v_dot2"}) {
    if (line.starts_with(name)) return true;
  }
  return false;
}

/// Lines of the source that hold at least one, and those of other files that do.
std::set<std::size_t> fused_lines(const std::string& disassembly) {
  std::set<std::size_t> lines;
  std::size_t current = 0;
  for (const std::string& line : lines_of(disassembly)) {
    if (line.starts_with("; ")) {
      const std::size_t colon = line.rfind(':');
      if (colon == std::string::npos) continue;
      const std::string_view file = std::string_view(line).substr(2, colon - 2);
      current = 0;
      if (!file.ends_with(kFile)) continue;
      std::from_chars(line.data() + colon + 1, line.data() + line.size(), current);
    } else if (current != 0 && is_fused_multiply_add(line)) {
      lines.insert(current);
    }
  }
  return lines;
}

bool asks_for_fma(const std::string& line) {
  return line.find("__builtin_fma") != std::string::npos;
}

/// Divisions and saturating conversions to 64-bit integers are made of such instructions; functions
/// lie in files of their own.
bool may_hold_fma(const std::string& line) {
  return line.find(" / ") != std::string::npos || line.find(" % ") != std::string::npos ||
         line.find(": (long long)a;") != std::string::npos ||
         line.find(": (unsigned long long)a;") != std::string::npos;
}

}  // namespace

HipAudit audit(const backends::hip::Hiprtc& hiprtc, std::span<const ir::Kernel> kernels,
               const std::string& architecture, const std::string& last_option) {
  HipAudit result;
  std::vector<std::string> options =
      backends::hip::compile_options(architecture, {"-gline-tables-only"});
  options.back() = last_option;
  for (std::size_t first = 0; first < kernels.size(); first += kTogether) {
    const auto some = kernels.subspan(first, std::min(kTogether, kernels.size() - first));
    const std::string source = source_of(some);
    std::string code;
    try {
      code = hiprtc.compile(fmt::format("#line 1 \"{}\"\n{}", kFile, source), std::string(kFile),
                            options);
    } catch (const Error& error) {
      result.refused.push_back(
          fmt::format("for {}: {}\n{}", architecture, error.what(), error.log().substr(0, 2000)));
      continue;
    }
    result.kernels += some.size();
    const std::vector<std::string> lines = lines_of(source);
    const std::set<std::size_t> fused = fused_lines(disassembled(code));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const bool has = fused.contains(i + 1);
      const std::string where =
          fmt::format("{}, line {} of {}...: {}", architecture, i + 1, some.front().name, lines[i]);
      if (asks_for_fma(lines[i])) {
        ++result.asked;
        if (!has) result.lost.push_back(where);
      } else if (has && !may_hold_fma(lines[i])) {
        result.contracted.push_back(where);
      }
    }
  }
  return result;
}

}  // namespace salvo::tests
