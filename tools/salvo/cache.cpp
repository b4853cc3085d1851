// `salvo cache`: the compiled kernels that are kept on disk.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <salvo/runtime.hpp>
#include <string>
#include <utility>

#include "commands.hpp"
#include "input_error.hpp"
#include "print_json.hpp"
#include "table.hpp"

namespace salvo::tool {
namespace {

nlohmann::json json_of(const DiskCacheReport& cache) {
  return {{"enabled", cache.enabled},         {"folder", cache.folder},
          {"entries", cache.entries},         {"bytes", cache.bytes},
          {"limit_bytes", cache.limit_bytes}, {"hits", cache.lifetime.hits},
          {"misses", cache.lifetime.misses},  {"rejected", cache.lifetime.rejected},
          {"stored", cache.lifetime.stored},  {"unwritable", cache.lifetime.unwritable},
          {"evicted", cache.lifetime.evicted}};
}

std::string mebibytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

void print(const DiskCacheReport& cache) {
  Table table({{"disk cache"}, {cache.enabled ? "on" : "off"}});
  table.add_row({"folder", cache.folder});
  table.add_row({"entries", fmt::to_string(cache.entries)});
  table.add_row({"size", mebibytes(cache.bytes) + " of " + mebibytes(cache.limit_bytes)});
  table.add_row({"hits", fmt::to_string(cache.lifetime.hits)});
  table.add_row({"misses", fmt::to_string(cache.lifetime.misses)});
  table.add_row({"rejected", fmt::to_string(cache.lifetime.rejected)});
  table.add_row({"stored", fmt::to_string(cache.lifetime.stored)});
  table.add_row({"unwritable", fmt::to_string(cache.lifetime.unwritable)});
  table.add_row({"evicted", fmt::to_string(cache.lifetime.evicted)});
  fmt::print("{}", table.text());
}

}  // namespace

int cache(const CacheOptions& options) {
  // No backend is needed to look at files.
  RuntimeOptions without_backends;
  without_backends.built_in_backends = false;
  Runtime runtime(std::move(without_backends));
  if (runtime.disk_cache().folder.empty()) {
    throw InputError("no cache folder: SALVO_CACHE_DIR, XDG_CACHE_HOME and HOME are all unset");
  }
  if (options.clear) runtime.clear_disk_cache();
  const DiskCacheReport report = runtime.disk_cache();
  if (options.json) {
    print_json(json_of(report));
  } else if (options.path) {
    fmt::print("{}\n", report.folder);
  } else if (!options.clear) {
    print(report);
  }
  return kSuccess;
}

}  // namespace salvo::tool
