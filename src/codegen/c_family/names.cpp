// Names that are legal and unique in a target's source.
// SPDX-License-Identifier: MIT
#include "codegen/c_family/names.hpp"

#include <algorithm>

namespace salvo::codegen::c_family {
namespace {

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return is_upper(c) || (c >= 'a' && c <= 'z');
}

/// Compilers predefine macros beyond any list; by convention their names look like this.
bool looks_like_macro(std::string_view name) {
  return name.size() > 1 && is_upper(name[0]) && std::all_of(name.begin(), name.end(), [](char c) {
           return is_upper(c) || is_digit(c) || c == '_';
         });
}

std::string legal(std::string_view wanted, const Names::Reserved& is_reserved) {
  std::string name;
  for (char c : wanted) {
    const char letter = is_letter(c) || is_digit(c) ? c : '_';
    // A double underscore is reserved in several of the targets.
    if (letter != '_' || (!name.empty() && name.back() != '_')) name += letter;
  }
  if (name.empty() || is_digit(name[0])) name.insert(0, "n");
  if (name.starts_with("salvo_")) name.insert(0, "n_");  // ours: see Helpers
  if (is_reserved(name) || looks_like_macro(name)) name += '_';
  return name;
}

}  // namespace

std::string Names::fresh(std::string_view wanted) {
  const std::string base = legal(wanted, is_reserved_);
  std::string name = base;
  while (!taken_.try_emplace(name, 1).second) {
    // The number that follows was tried last time too: a table of many slots stays linear.
    name = base + (base.back() == '_' ? "" : "_") + std::to_string(++taken_[base]);
  }
  return name;
}

}  // namespace salvo::codegen::c_family
