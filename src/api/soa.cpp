// Launches on structures of arrays: the kernel's form that takes columns (K13).
// SPDX-License-Identifier: MIT
#include "salvo/soa.hpp"

#include "window/kernel_record.hpp"

namespace salvo::detail {

std::shared_ptr<KernelRecord> split_records(const std::shared_ptr<KernelRecord>& kernel,
                                            const std::vector<bool>& split) {
  return kernel->split_records(split);
}

}  // namespace salvo::detail
