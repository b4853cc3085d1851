// One kernel on its way to PTX: what its parts share. Of this folder alone.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/c_family/printer.hpp"
#include "codegen/ptx/emitter.hpp"
#include "codegen/ptx/loops.hpp"
#include "codegen/ptx/matrices.hpp"
#include "codegen/ptx/memory.hpp"
#include "codegen/ptx/warp.hpp"
#include "codegen/ptx/writer.hpp"
#include "passes/vector_access.hpp"

namespace salvo::codegen::ptx {

/// Walks a kernel once and writes its instructions. Head and parameters are in emitter.cpp, values
/// and addresses in emission_values.cpp, statements in emission_statements.cpp, loops in
/// emission_loops.cpp.
class Emission {
 public:
  /// `files`: what `.loc` counts, shared by the entries of a module.
  Emission(const ir::Kernel& kernel, const EmitOptions& options,
           const passes::VectorAccesses& vectors, std::vector<std::string>& files)
      : kernel_(kernel),
        options_(options),
        vectors_(vectors),
        files_(files),
        lengths_(c_family::reads_length(kernel)),
        arithmetic_(writer_, options.contraction),
        access_(writer_, arithmetic_),
        warp_(writer_, arithmetic_),
        matrices_(kernel, writer_, access_),
        values_(kernel.nodes.size()) {}

  /// The kernel function of this name.
  std::string function(const std::string& entry);
  /// What stands before the functions of a module: dynamic shared memory.
  const std::string& module_arrays() const noexcept { return module_arrays_; }

 private:
  /// What a span parameter is at one slot.
  struct Bound {
    std::string data;    // address of a span, value of a scalar
    std::string length;  // span, if read
  };
  struct Loop {
    std::string next;  // where Continue goes
    std::string end;   // where Break goes
  };
  /// Rounds of a loop that are written out one after the other.
  struct Rounds {
    Strides strides;
    std::int64_t number = 0;
    std::map<const ir::Node*, std::string> addresses;  // of the first round's accesses
  };
  /// An address that such a loop moves on from four rounds to the next.
  struct Pointer {
    std::string address;
    std::string_view type;
    std::int64_t bytes = 0;
  };

  // Before the body.

  void scan();
  void declare_parameter(const std::string& name, std::size_t size, std::uint32_t slots);
  void bind_parameters();
  /// The parameter at the place that `address(table, element size)` names.
  Bound read_parameter(std::size_t i,
                       const std::function<std::string(const std::string&, std::size_t)>& address);
  void bind_arrays();

  // Values.

  /// What holds a leaf within the block where it is first read and in those inside.
  std::string cached(const std::string& key, const std::function<std::string()>& make);
  /// A parameter where the node reads it.
  Bound bound(std::uint32_t parameter, ir::ValueId slot);
  std::string position(const ir::Node& node);
  std::string value(ir::ValueId id);
  ir::Scalar type_of(ir::ValueId id) const { return kernel_.node(id).type; }
  std::string word(ir::ValueId id) { return arithmetic_.low_word(type_of(id), value(id)); }

  /// An index as another one and the positive constant that is added to it. The address may be put
  /// together in the same way: were the sum to overflow, it would be negative.
  std::pair<ir::ValueId, std::int64_t> split(ir::ValueId index) const;
  /// Where the element at an index lies.
  std::string element_address(const ir::Node& node, ir::ValueId index);
  /// The leaf that a node touches, or what lies `bytes` further on.
  Place place(const ir::Node& node, std::int64_t bytes = 0);

  // Statements.

  void block(ir::BlockId id);
  void locate(const ir::Node& node);
  /// Whether a division needs no test for 0 and -1.
  bool divides_safely(const ir::Node& node) const;
  void pure(ir::ValueId id, const ir::Node& node);
  /// A load or a store, or all of those that are done at once with it.
  void access(ir::ValueId id, const ir::Node& node);
  void statement(ir::ValueId id);
  /// Instructions that leave an intrinsic's value in `{result}`; spans are global addresses.
  void user_code(ir::ValueId id, const ir::Node& node);
  void matrix(const ir::Node& node);
  void if_(const ir::Node& node);
  void switch_(const ir::Node& node);

  // Loops.

  /// The first thing in the block that a loop comes back to.
  void keep_rolled() { writer_.raw("\t.pragma \"nounroll\";\n"); }

  /// Makes a pure value of a loop's body before the loop.
  void make_before(ir::ValueId id, const Rounds& rounds);
  /// Makes the addresses of the first round's accesses before the loop, as far as constants lead
  /// from them to the other rounds' and from four rounds to the next.
  std::vector<Pointer> point_at_first_round(ir::BlockId body, Rounds& rounds);
  /// Runs four rounds at a time and leaves those that remain to the loop that follows.
  void in_fours(ir::ValueId id, const ir::Node& node, const std::string& index,
                const std::string& limit, const std::string& step);
  void for_(ir::ValueId id, const ir::Node& node);
  void while_(const ir::Node& node);

  const ir::Kernel& kernel_;
  const EmitOptions& options_;
  const passes::VectorAccesses& vectors_;
  std::vector<std::string>& files_;
  std::vector<bool> lengths_;
  Writer writer_;
  Arithmetic arithmetic_;
  MemoryAccess access_;
  WarpOperations warp_;
  Matrices matrices_;

  std::string parameters_;     // the entry's list
  std::string module_arrays_;  // dynamic shared memory
  std::string arrays_;         // shared and local arrays
  ir::LocationId location_ = ir::kNone;
  std::vector<bool> written_;       // by memory
  std::vector<bool> for_matrices_;  // by memory
  bool uses_warp_ = false;

  std::vector<Bound> bound_;            // by parameter; empty for a table
  std::vector<std::string> bases_;      // by memory: where an array begins
  std::vector<std::string> variables_;  // registers
  std::vector<std::string> values_;     // by node: its register once emitted
  std::vector<std::map<std::string, std::string>> scopes_{1};
  std::vector<Loop> loops_;
  std::optional<Rounds> rounds_;  // while such a loop is written
};

}  // namespace salvo::codegen::ptx
