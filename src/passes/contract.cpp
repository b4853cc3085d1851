// Decides once which multiplies and adds are fused, so that every device computes the same (W50).
// SPDX-License-Identifier: MIT
#include "passes/contract.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "passes/clone.hpp"
#include "passes/simplify.hpp"

namespace salvo::passes {
namespace {

using ir::BlockId;
using ir::kNone;
using ir::kNoValue;
using ir::Node;
using ir::Op;
using ir::Scalar;
using ir::ValueId;

/// The inverse of a power of two, where both are normal numbers.
template <class Bits, int kMantissa, Bits kMaxExponent>
std::optional<std::uint64_t> inverse_power(std::uint64_t literal) {
  const Bits bits = static_cast<Bits>(literal);
  const Bits exponent = (bits >> kMantissa) & kMaxExponent;
  const Bits mantissa = bits & ((Bits{1} << kMantissa) - 1);
  // 2^(e - bias) has the inverse exponent 2 * bias - e, and kMaxExponent is 2 * bias + 1.
  if (mantissa != 0 || exponent == 0 || exponent >= kMaxExponent - 1) return std::nullopt;
  const Bits sign = bits & (Bits{1} << (sizeof(Bits) * 8 - 1));
  return sign | ((kMaxExponent - 1 - exponent) << kMantissa);
}

std::optional<std::uint64_t> inverse_power(const Node& constant) {
  if (constant.op != Op::Constant) return std::nullopt;
  if (constant.type == Scalar::F32) {
    return inverse_power<std::uint32_t, 23, 0xff>(constant.literal);
  }
  if (constant.type == Scalar::F64) {
    return inverse_power<std::uint64_t, 52, 0x7ff>(constant.literal);
  }
  return std::nullopt;
}

/// Divisions by powers of two as multiplications.
ir::Kernel multiply_by_inverses(const ir::Kernel& kernel) {
  return copy(kernel, [&](Cloner& cloner, ValueId, const Node& node) {
    if (node.op != Op::Div || !is_float(node.type)) return kNoValue;
    const auto inverse = inverse_power(kernel.node(node.operands[1]));
    if (!inverse) return kNoValue;
    ir::Builder& builder = cloner.builder();
    const ValueId factor = builder.constant(node.type, *inverse);
    return builder.op(Op::Mul, {cloner.value(node.operands[0]), factor});
  });
}

class Contraction {
 public:
  explicit Contraction(const ir::Kernel& kernel)
      : kernel_(kernel), home_(kernel.nodes.size(), kNone), uses_(kernel.nodes.size()),
        same_(kernel.nodes.size(), kNoValue), fused_(kernel.nodes.size()),
        gone_(kernel.nodes.size(), false) {}

  ir::Kernel run() {
    walk(kernel_.body);
    // By uses, then by position: the list is in order of position.
    std::ranges::stable_sort(products_, {}, [&](ValueId id) { return uses_[id].size(); });
    for (ValueId product : products_) claim(product);
    return rewrite();
  }

 private:
  /// How an addition uses a product: where the other operand is, and the signs of both.
  struct Use {
    ValueId sum = kNoValue;
    bool negated = false;  // by negations on the way
  };
  struct Fused {
    ValueId product = kNoValue;
    ValueId other = kNoValue;
    bool negate_product = false;
    bool negate_other = false;
  };

  // Products of the same two factors, in either order, count as the first that dominates them.
  void walk(BlockId block) {
    std::vector<std::tuple<ValueId, ValueId>> known;
    for (ValueId id : kernel_.block(block).nodes) {
      const Node& node = kernel_.node(id);
      home_[id] = block;
      same_[id] = id;
      if (node.op == Op::Mul && is_float(node.type)) {
        const auto factors = std::minmax(same_[node.operands[0]], same_[node.operands[1]]);
        const auto [first, inserted] = product_of_.try_emplace({factors.first, factors.second}, id);
        if (inserted) {
          products_.push_back(id);
          known.emplace_back(factors.first, factors.second);
        } else {
          same_[id] = first->second;
        }
      }
      // The condition of a While is computed by its own first block.
      if (node.op == Op::While) {
        for (BlockId inner : node.blocks) walk(inner);
        use(id);
      } else {
        use(id);
        for (BlockId inner : node.blocks) walk(inner);
      }
    }
    for (const auto& factors : known) product_of_.erase(factors);
  }

  void use(ValueId id) {
    if (same_[id] != id) return;  // stands for another product
    for (ValueId operand : kernel_.node(id).inputs()) {
      // The operand of a ForIndex names its loop.
      if (kernel_.node(id).op != Op::ForIndex) uses_[same_[operand]].push_back(id);
    }
  }

  /// Whether every use of `value` is a sum that can take it; collects them.
  bool collect(ValueId value, BlockId block, bool negated, std::vector<Use>& found,
               std::vector<ValueId>& negations) const {
    for (ValueId user : uses_[value]) {
      const Node& node = kernel_.node(user);
      if (home_[user] != block) return false;
      if (node.op == Op::Neg) {
        negations.push_back(user);
        if (!collect(user, block, !negated, found, negations)) return false;
        continue;
      }
      if (node.op != Op::Add && node.op != Op::Sub) return false;
      if (fused_[user]) return false;
      // A sum of the product with itself, or with its negation, is listed twice.
      if (std::ranges::find(found, user, &Use::sum) != found.end()) return false;
      found.push_back({user, negated});
    }
    return true;
  }

  void claim(ValueId product) {
    std::vector<Use> sums;
    std::vector<ValueId> negations;
    if (!collect(product, home_[product], false, sums, negations) || sums.empty()) return;
    for (const Use& use : sums) {
      const Node& sum = kernel_.node(use.sum);
      const auto is_product = [&](ValueId operand) {
        return same_[operand] == product ||
               std::ranges::find(negations, operand) != negations.end();
      };
      Fused fused;
      fused.product = product;
      const bool first = is_product(sum.operands[0]);
      fused.other = sum.operands[first ? 1 : 0];
      fused.negate_product = use.negated != (sum.op == Op::Sub && !first);
      fused.negate_other = sum.op == Op::Sub && first;
      fused_[use.sum] = fused;
    }
    gone_[product] = true;
    for (ValueId negation : negations) gone_[negation] = true;
  }

  ir::Kernel rewrite() const {
    return copy(kernel_, [this](Cloner& cloner, ValueId id, const Node&) -> ValueId {
      if (gone_[id] || (same_[id] != id && gone_[same_[id]])) return Cloner::kReplacedStatement;
      if (same_[id] != id) return cloner.value(same_[id]);
      if (!fused_[id]) return kNoValue;
      const Fused& fused = *fused_[id];
      const Node& product = kernel_.node(fused.product);
      ValueId a = cloner.value(product.operands[0]);
      ValueId b = cloner.value(product.operands[1]);
      ValueId c = cloner.value(fused.other);
      if (fused.negate_product) {
        // A constant factor takes the sign at no cost.
        ValueId& factor = kernel_.node(product.operands[1]).op == Op::Constant ? b : a;
        factor = negated(cloner.builder(), factor);
      }
      if (fused.negate_other) c = negated(cloner.builder(), c);
      return cloner.builder().op(Op::Fma, {a, b, c});
    });
  }

  static ValueId negated(ir::Builder& builder, ValueId value) {
    const Node& node = builder.kernel().node(value);
    if (node.op == Op::Neg) return node.operands[0];
    if (node.op != Op::Constant) return builder.op(Op::Neg, {value});
    const std::uint64_t sign = node.type == Scalar::F32 ? 0x8000'0000 : 0x8000'0000'0000'0000;
    return builder.constant(node.type, node.literal ^ sign);
  }

  const ir::Kernel& kernel_;
  std::vector<BlockId> home_;                 // by node
  std::vector<std::vector<ValueId>> uses_;    // by node: one entry per operand that names it
  std::vector<ValueId> same_;                 // the product that a node repeats, or itself
  std::map<std::tuple<ValueId, ValueId>, ValueId> product_of_;  // those that dominate the walk
  std::vector<ValueId> products_;
  std::vector<std::optional<Fused>> fused_;   // sums
  std::vector<bool> gone_;                    // products and negations that nothing needs
};

}  // namespace

ir::Kernel contract(const ir::Kernel& kernel) {
  // Repeated products become one before they are judged, repeated negations after.
  return simplify(Contraction(simplify(multiply_by_inverses(kernel))).run());
}

}  // namespace salvo::passes
