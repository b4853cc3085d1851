// Line tables for generated code: LLVM's metadata for the places in the user's C++.
// SPDX-License-Identifier: MIT
#include "codegen/llvm/debug_info.hpp"

#include <fmt/format.h>

namespace salvo::codegen::llvm {
namespace {

/// Text as LLVM quotes it.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    const bool plain = code >= 0x20 && code < 0x7f && c != '"' && c != '\\';
    result += plain ? std::string(1, c) : fmt::format("\\{:02X}", code);
  }
  return result + "\"";
}

}  // namespace

DebugInfo::DebugInfo(const ir::Kernel& kernel, bool enabled)
    : kernel_(kernel), enabled_(enabled && !kernel.locations.empty()) {
  if (!enabled_) return;
  const ir::Location& first = kernel.locations.front();
  const unsigned main = file(first.file);
  unit_ =
      add(fmt::format("distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !{}, "
                      "producer: \"Salvo\", isOptimized: true, runtimeVersion: 0, "
                      "emissionKind: FullDebug)",
                      main));
  const unsigned none = add("!{}");
  const unsigned type = add(fmt::format("!DISubroutineType(types: !{})", none));
  function_ =
      add(fmt::format("distinct !DISubprogram(name: {}, scope: !{}, file: !{}, line: {}, "
                      "type: !{}, scopeLine: {}, spFlags: DISPFlagDefinition | "
                      "DISPFlagOptimized, unit: !{})",
                      quoted(kernel.name), main, main, first.line, type, first.line, unit_));
  scopes_[first.file] = function_;
  start_ = add(fmt::format("!DILocation(line: {}, column: 1, scope: !{})", first.line, function_));
}

unsigned DebugInfo::add(std::string content) {
  nodes_.push_back(std::move(content));
  return static_cast<unsigned>(nodes_.size() - 1);
}

unsigned DebugInfo::add_distinct(const std::string& rest) {
  return add(fmt::format("distinct !{{!{}{}}}", nodes_.size(), rest));
}

unsigned DebugInfo::file(const std::string& path) {
  const auto known = files_.find(path);
  if (known != files_.end()) return known->second;
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  return files_[path] =
             add(fmt::format("!DIFile(filename: {}, directory: {})", quoted(name), quoted(folder)));
}

std::string DebugInfo::function() const {
  return enabled_ ? fmt::format(" !dbg !{}", function_) : "";
}

std::string DebugInfo::start() const {
  return enabled_ ? fmt::format(", !dbg !{}", start_) : "";
}

std::string DebugInfo::at(ir::LocationId location) {
  if (!enabled_ || location >= kernel_.locations.size()) return "";
  const auto known = locations_.find(location);
  if (known != locations_.end()) return fmt::format(", !dbg !{}", known->second);
  const ir::Location& place = kernel_.locations[location];
  auto scope = scopes_.find(place.file);
  if (scope == scopes_.end()) {
    // Lines of another file, as those of a helper, are a block of the same function.
    const unsigned other = file(place.file);
    const unsigned block = add(fmt::format(
        "!DILexicalBlockFile(scope: !{}, file: !{}, discriminator: 0)", function_, other));
    scope = scopes_.emplace(place.file, block).first;
  }
  const unsigned made =
      add(fmt::format("!DILocation(line: {}, column: 1, scope: !{})", place.line, scope->second));
  locations_[location] = made;
  return fmt::format(", !dbg !{}", made);
}

std::string DebugInfo::text() const {
  std::string all;
  for (std::size_t i = 0; i < nodes_.size(); ++i) all += fmt::format("!{} = {}\n", i, nodes_[i]);
  if (!enabled_) return all;
  const std::size_t next = nodes_.size();
  all += fmt::format("!llvm.dbg.cu = !{{!{}}}\n!llvm.module.flags = !{{!{}, !{}}}\n", unit_, next,
                     next + 1);
  all += fmt::format("!{} = !{{i32 2, !\"Debug Info Version\", i32 3}}\n", next);
  all += fmt::format("!{} = !{{i32 7, !\"Dwarf Version\", i32 4}}\n", next + 1);
  return all;
}

}  // namespace salvo::codegen::llvm
