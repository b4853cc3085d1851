// The functions of subgroups for an OpenCL driver that has none, as LLVM assembly.
// SPDX-License-Identifier: MIT
#include "drivers/level_zero/warp_library.hpp"

#include <fmt/format.h>

namespace salvo::test::level_zero {
namespace {

/// A thread puts its value where all of its block can see it, and after a barrier takes another's.
/// {0} is the width, {1} its two's complement, {2} the last lane.
constexpr const char* kLanes = R"(
@lanes = internal addrspace(3) global [1024 x i64] undef, align 8
declare spir_func i64 @_Z12get_local_idj(i32)
declare spir_func i64 @_Z14get_local_sizej(i32)
declare spir_func void @_Z7barrierj(i32)

define internal spir_func i64 @thread() {{
  %x = call spir_func i64 @_Z12get_local_idj(i32 0)
  %y = call spir_func i64 @_Z12get_local_idj(i32 1)
  %z = call spir_func i64 @_Z12get_local_idj(i32 2)
  %width = call spir_func i64 @_Z14get_local_sizej(i32 0)
  %height = call spir_func i64 @_Z14get_local_sizej(i32 1)
  %rows = mul i64 %z, %height
  %row = add i64 %y, %rows
  %before = mul i64 %row, %width
  %thread = add i64 %x, %before
  ret i64 %thread
}}
define internal spir_func i64 @threads() {{
  %x = call spir_func i64 @_Z14get_local_sizej(i32 0)
  %y = call spir_func i64 @_Z14get_local_sizej(i32 1)
  %z = call spir_func i64 @_Z14get_local_sizej(i32 2)
  %xy = mul i64 %x, %y
  %xyz = mul i64 %xy, %z
  ret i64 %xyz
}}
define internal spir_func i64 @first() {{
  %thread = call spir_func i64 @thread()
  %first = and i64 %thread, {1}
  ret i64 %first
}}
define spir_func i32 @_Z22get_sub_group_local_idv() {{
  %thread = call spir_func i64 @thread()
  %lane = and i64 %thread, {2}
  %narrow = trunc i64 %lane to i32
  ret i32 %narrow
}}
define internal spir_func void @put(i64 %value) {{
  %thread = call spir_func i64 @thread()
  %at = getelementptr [1024 x i64], [1024 x i64] addrspace(3)* @lanes, i64 0, i64 %thread
  store i64 %value, i64 addrspace(3)* %at
  call spir_func void @_Z7barrierj(i32 1)
  ret void
}}
define internal spir_func i64 @take(i64 %value, i32 %lane) {{
  call spir_func void @put(i64 %value)
  %first = call spir_func i64 @first()
  %wide = zext i32 %lane to i64
  %within = and i64 %wide, {2}
  %from = add i64 %first, %within
  %at = getelementptr [1024 x i64], [1024 x i64] addrspace(3)* @lanes, i64 0, i64 %from
  %taken = load i64, i64 addrspace(3)* %at
  call spir_func void @_Z7barrierj(i32 1)
  ret i64 %taken
}}
define internal spir_func i64 @mask(i1 %mine) {{
entry:
  %bit = zext i1 %mine to i64
  call spir_func void @put(i64 %bit)
  %first = call spir_func i64 @first()
  %threads = call spir_func i64 @threads()
  br label %next
next:
  %lane = phi i64 [ 0, %entry ], [ %following, %next ]
  %sofar = phi i64 [ 0, %entry ], [ %all, %next ]
  %other = add i64 %first, %lane
  %there = icmp ult i64 %other, %threads
  %from = select i1 %there, i64 %other, i64 %first
  %at = getelementptr [1024 x i64], [1024 x i64] addrspace(3)* @lanes, i64 0, i64 %from
  %read = load i64, i64 addrspace(3)* %at
  %set = select i1 %there, i64 %read, i64 0
  %shifted = shl i64 %set, %lane
  %all = or i64 %sofar, %shifted
  %following = add i64 %lane, 1
  %done = icmp eq i64 %following, {0}
  br i1 %done, label %end, label %next
end:
  call spir_func void @_Z7barrierj(i32 1)
  ret i64 %all
}}
define spir_func i32 @_Z25sub_group_non_uniform_anyi(i32 %predicate) {{
  %mine = icmp ne i32 %predicate, 0
  %mask = call spir_func i64 @mask(i1 %mine)
  %any = icmp ne i64 %mask, 0
  %result = zext i1 %any to i32
  ret i32 %result
}}
define spir_func i32 @_Z25sub_group_non_uniform_alli(i32 %predicate) {{
  %not = icmp eq i32 %predicate, 0
  %mask = call spir_func i64 @mask(i1 %not)
  %all = icmp eq i64 %mask, 0
  %result = zext i1 %all to i32
  ret i32 %result
}}
define spir_func <4 x i32> @_Z16sub_group_balloti(i32 %predicate) {{
  %mine = icmp ne i32 %predicate, 0
  %mask = call spir_func i64 @mask(i1 %mine)
  %low = trunc i64 %mask to i32
  %shifted = lshr i64 %mask, 32
  %high = trunc i64 %shifted to i32
  %one = insertelement <4 x i32> zeroinitializer, i32 %low, i32 0
  %both = insertelement <4 x i32> %one, i32 %high, i32 1
  ret <4 x i32> %both
}}
)";

/// Of an integer type {0} as wide as the type {1}, whose letter in names is {2}.
constexpr const char* kShuffle = R"(
define spir_func {1} @_Z17sub_group_shuffle{2}j({1} %value, i32 %lane) {{
  %bits = bitcast {1} %value to {0}
  %wide = {3}
  %taken = call spir_func i64 @take(i64 %wide, i32 %lane)
  %narrow = {4}
  %result = bitcast {0} %narrow to {1}
  ret {1} %result
}}
)";

}  // namespace

std::string warp_library(std::uint32_t width) {
  const auto wide = std::int64_t{width};
  std::string text = fmt::format(kLanes, wide, -wide, wide - 1);
  struct Type {
    int bits;
    const char* name;
    const char* letter;
  };
  for (const Type& type : {Type{8, "i8", "c"}, Type{16, "i16", "s"}, Type{32, "i32", "i"},
                           Type{32, "float", "f"}, Type{64, "i64", "l"}, Type{64, "double", "d"}}) {
    const std::string integer = fmt::format("i{}", type.bits);
    const bool narrow = type.bits < 64;
    text +=
        fmt::format(kShuffle, integer, type.name, type.letter,
                    narrow ? fmt::format("zext {} %bits to i64", integer) : "or i64 %bits, 0",
                    narrow ? fmt::format("trunc i64 %taken to {}", integer) : "or i64 %taken, 0");
  }
  return text;
}

}  // namespace salvo::test::level_zero
