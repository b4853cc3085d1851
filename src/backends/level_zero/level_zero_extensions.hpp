// Which extensions a driver has, asked once in a process (P1).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "backends/level_zero/level_zero_api.hpp"

namespace salvo::backends::level_zero {

/// A driver's list, as far as this backend cares: names become bits when the list is read.
struct Extensions {
  std::size_t count = 0;
  bool kernel_max_group_size = false;
};

/// Asks the driver: two calls. Throws Errc::backend_unavailable if either fails.
Extensions read_extensions(const Api& api, ze::Driver driver);

/// Keeps each driver's list. A failed query is not kept. Thread-safe: threads that meet a driver at
/// once make one query.
class ExtensionMemo {
 public:
  std::shared_ptr<const Extensions> of(const Api& api, ze::Driver driver);
  /// For when the driver library is initialised, and at no other time. Who holds an entry keeps it.
  void clear();

 private:
  std::mutex mutex_;
  std::map<ze::Driver, std::shared_ptr<const Extensions>> known_;
};

}  // namespace salvo::backends::level_zero
