# Writes OUTPUT, the definition of code_version(): VERSION and a digest of the sources under ROOT.
# SPDX-License-Identifier: MIT
file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/src/*.[ch]pp ${ROOT}/include/*.hpp)
list(SORT sources)
set(digests "")
foreach(source IN LISTS sources)
  file(SHA256 ${ROOT}/${source} digest)
  string(APPEND digests "${source} ${digest}\n")
endforeach()
string(SHA256 digest "${digests}")
file(WRITE ${OUTPUT} "// Written by cmake/CodeVersion.cmake.
#include \"runtime/code_version.hpp\"

namespace salvo::runtime {
std::string_view code_version() noexcept { return \"${VERSION} ${digest}\"; }
}  // namespace salvo::runtime
")
