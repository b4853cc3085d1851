// Collects PTX instructions and hands out virtual registers.
// SPDX-License-Identifier: MIT
#include "codegen/ptx/writer.hpp"

#include <string_view>

namespace salvo::codegen::ptx {
namespace {

struct BankText {
  std::string_view prefix;
  std::string_view type;
};
constexpr std::array<BankText, 6> kBanks{{{"%p", ".pred"},
                                          {"%h", ".b16"},
                                          {"%r", ".b32"},
                                          {"%rd", ".b64"},
                                          {"%f", ".f32"},
                                          {"%fd", ".f64"}}};

}  // namespace

Bank bank_of(ir::Scalar type) noexcept {
  switch (type) {
    case ir::Scalar::Bool:
      return Bank::predicate;
    case ir::Scalar::F32:
      return Bank::f32;
    case ir::Scalar::F64:
      return Bank::f64;
    case ir::Scalar::I64:
    case ir::Scalar::U64:
      return Bank::b64;
    default:
      return Bank::b32;
  }
}

std::string Writer::fresh(Bank bank) {
  const auto index = static_cast<std::size_t>(bank);
  return fmt::format("{}{}", kBanks[index].prefix, counts_[index]++);
}

std::string Writer::registers() const {
  std::string text;
  for (std::size_t i = 0; i < kBanks.size(); ++i) {
    if (counts_[i] == 0) continue;
    text += fmt::format("\t.reg {} {}<{}>;\n", kBanks[i].type, kBanks[i].prefix, counts_[i]);
  }
  return text;
}

}  // namespace salvo::codegen::ptx
