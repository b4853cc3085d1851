// What vectors and launches share: a counted handle to host and device copies of some bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace salvo::runtime {
class Storage;
}

namespace salvo::detail {

void retain(runtime::Storage* storage) noexcept;
void release(runtime::Storage* storage) noexcept;

/// Intrusive pointer to a Storage; copying counts.
class StoragePtr {
 public:
  StoragePtr() = default;
  explicit StoragePtr(runtime::Storage* adopted) noexcept : storage_(adopted) {}
  static StoragePtr share(runtime::Storage& storage) noexcept {
    retain(&storage);
    return StoragePtr(&storage);
  }
  StoragePtr(const StoragePtr& other) noexcept : storage_(other.storage_) {
    if (storage_) retain(storage_);
  }
  StoragePtr(StoragePtr&& other) noexcept : storage_(std::exchange(other.storage_, nullptr)) {}
  StoragePtr& operator=(StoragePtr other) noexcept {
    std::swap(storage_, other.storage_);
    return *this;
  }
  ~StoragePtr() {
    if (storage_) release(storage_);
  }
  runtime::Storage* get() const noexcept { return storage_; }
  runtime::Storage* operator->() const noexcept { return storage_; }
  runtime::Storage& operator*() const noexcept { return *storage_; }
  explicit operator bool() const noexcept { return storage_ != nullptr; }

 private:
  runtime::Storage* storage_ = nullptr;
};

StoragePtr make_storage(std::size_t bytes, std::size_t align);
/// Host bytes, current (R3). Issues what is held if the device's copy is newer (W16).
const std::byte* read_host(runtime::Storage& storage);
/// The same, about to be written: the host's copy becomes the newer one.
std::byte* write_host(runtime::Storage& storage);

/// One argument of a launch, as the call site packs it.
struct CallArgument {
  runtime::Storage* storage = nullptr;  // span; null for a scalar and for an empty vector
  std::uint64_t byte_offset = 0;
  std::uint64_t length = 0;
  std::uint64_t bits = 0;  // scalar
  /// Span: the launch stores every byte of the storage, so that nothing needs to be uploaded.
  bool overwritten = false;
};

/// One argument for code that the user brought: its kind is the caller's word.
struct SourceArgument {
  CallArgument value;
  bool is_span = false;
  std::size_t bytes = 0;  // of a scalar
};

[[noreturn]] void too_many_elements(std::size_t count, std::size_t element_bytes);
/// Bytes of an array. Throws Errc::out_of_memory where no memory could hold it.
inline std::size_t array_bytes(std::size_t count, std::size_t element_bytes) {
  if (count > std::numeric_limits<std::size_t>::max() / 2 / element_bytes) {
    too_many_elements(count, element_bytes);
  }
  return count * element_bytes;
}
[[noreturn]] void index_out_of_range(std::size_t index, std::size_t size);
[[noreturn]] void view_out_of_range(std::size_t first, std::size_t count, std::size_t size);

}  // namespace salvo::detail
