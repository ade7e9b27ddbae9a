// Virtual memory management: addresses, memory and access are three things.

#include "virtual_memory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "memory.h"

namespace sim {

constexpr size_t kGranularity = size_t{2} << 20;

// The last handle and the last mapping are gone; under the machine's lock.
Physical::~Physical() {
  close(file);
  device->used -= own ? size : 0;
}

namespace {

CUresult check(const CUmemAllocationProp* prop, Device*& of) {
  if (prop == nullptr || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
      prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE || prop->win32HandleMetaData != nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  of = device(prop->location.id);
  if (of == nullptr) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  bool exportable = prop->requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  if (!exportable && prop->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return attribute(*of, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) == 0 ||
                 (exportable &&
                  attribute(*of, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED) == 0)
             ? CUDA_ERROR_NOT_SUPPORTED
             : CUDA_SUCCESS;
}

CUresult physical_of(CUmemGenericAllocationHandle handle, const char* call,
                     std::shared_ptr<Physical>& physical) {
  auto found = machine().physicals.find(handle);
  if (found == machine().physicals.end()) {
    violation("%s: %#llx is no physical memory, or released", call, handle);
    return CUDA_ERROR_INVALID_VALUE;
  }
  physical = found->second;
  return CUDA_SUCCESS;
}

CUmemGenericAllocationHandle enter(const std::shared_ptr<Physical>& physical) {
  auto handle = reinterpret_cast<CUmemGenericAllocationHandle>(new_handle<void*>());
  machine().physicals[handle] = physical;
  return handle;
}

// The mappings that make up exactly that range.
CUresult mappings(const char* call, uintptr_t address, size_t size,
                  std::vector<std::shared_ptr<Allocation>>& found) {
  uintptr_t at = address;
  while (at < address + size) {
    std::shared_ptr<Allocation> next = find(at);
    if (!next || next->kind != Kind::kMapped || next->address != at ||
        next->size > address + size - at) {
      violation("%s of %zu bytes at %#lx, which are not whole mappings", call, size, address);
      return CUDA_ERROR_INVALID_VALUE;
    }
    at += next->size;
    found.push_back(std::move(next));
  }
  return found.empty() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace
}  // namespace sim

using namespace sim;

EXPORT CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                              CUmemAllocationGranularity_flags option) {
  ENTER
  Locked locked;
  Device* of;
  if (granularity == nullptr || option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (CUresult error = check(prop, of)) {
    return error;
  }
  *granularity = kGranularity;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t alignment, CUdeviceptr addr,
                                    unsigned long long flags) {
  ENTER
  if (ptr == nullptr || size == 0 || size % kGranularity != 0 || flags != 0 ||
      (alignment & (alignment - 1)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Locked locked;
  uintptr_t address = reserve(size, std::max(alignment, kGranularity), addr);
  if (address == 0) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  machine().reservations[address] = size;
  *ptr = address;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size) {
  ENTER
  Locked locked;
  auto found = machine().reservations.find(ptr);
  if (found == machine().reservations.end() || found->second != size) {
    violation("%s of %zu addresses at %#llx, which were not reserved so", __func__, size, ptr);
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto mapped = machine().live.lower_bound(ptr);
  if (mapped != machine().live.end() && mapped->first < ptr + size) {
    violation("%s of %zu addresses at %#llx, where memory is still mapped", __func__, size, ptr);
    return CUDA_ERROR_INVALID_VALUE;
  }
  machine().reservations.erase(found);
  give_back(ptr);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                            const CUmemAllocationProp* prop, unsigned long long flags) {
  ENTER
  Locked locked;
  Device* of;
  if (handle == nullptr || size == 0 || size % kGranularity != 0 || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (CUresult error = check(prop, of)) {
    return error;
  }
  if (size > std::min(available(*of), of->largest_piece)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  int file = memory_file(("tidepool-physical-" + std::to_string(of->ordinal)).c_str(), size);
  if (file < 0) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  auto made = std::make_shared<Physical>(of, file, size, true);
  made->handle_types = prop->requestedHandleTypes;
  of->used += size;
  *handle = enter(made);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  ENTER
  Locked locked;
  std::shared_ptr<Physical> physical;
  if (CUresult error = physical_of(handle, __func__, physical)) {
    return error;
  }
  machine().physicals.erase(handle);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                         CUmemGenericAllocationHandle handle, unsigned long long flags) {
  ENTER
  Locked locked;
  std::shared_ptr<Physical> physical;
  if (CUresult error = physical_of(handle, __func__, physical)) {
    return error;
  }
  if (size == 0 || ptr % kGranularity != 0 || size % kGranularity != 0 || flags != 0 || offset != 0 ||
      size > physical->size) {
    return CUDA_ERROR_INVALID_VALUE;  // offsets other than 0 are reserved for later drivers
  }
  auto reserved = machine().reservations.upper_bound(ptr);
  if (reserved == machine().reservations.begin() ||
      std::prev(reserved)->first + std::prev(reserved)->second < ptr + size) {
    violation("%s of %zu bytes at %#llx, which are not reserved", __func__, size, ptr);
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto next = machine().live.lower_bound(ptr);
  if (find(ptr) || (next != machine().live.end() && next->first < ptr + size)) {
    violation("%s of %zu bytes at %#llx, where memory is mapped already", __func__, size, ptr);
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!map(ptr, size, physical->file, 0, false, false)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  std::shared_ptr<Allocation> mapped = enter_live(Kind::kMapped, ptr, size, physical->device);
  mapped->physical = physical;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
  ENTER
  Locked locked;
  std::vector<std::shared_ptr<Allocation>> found;
  if (CUresult error = mappings(__func__, ptr, size, found)) {
    return error;
  }
  for (const auto& mapped : found) {
    if (int pending = mapped->pending) {
      violation("%s of %#lx while %d commands still use it", __func__, mapped->address, pending);
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  for (const auto& mapped : found) {
    leave_live(*mapped, __func__);
    release(*mapped);
  }
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc,
                               size_t count) {
  ENTER
  Locked locked;
  std::vector<std::shared_ptr<Allocation>> found;
  if (desc == nullptr || count == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (CUresult error = mappings(__func__, ptr, size, found)) {
    return error;
  }
  for (size_t i = 0; i < count; i++) {
    Device* of = device(desc[i].location.id);
    if (desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || of == nullptr) {
      return CUDA_ERROR_INVALID_DEVICE;
    }
    for (const auto& mapped : found) {
      if (of != mapped->device && of->reachable.count(mapped->device->ordinal) == 0) {
        return CUDA_ERROR_INVALID_DEVICE;
      }
    }
  }
  for (const auto& mapped : found) {
    for (size_t i = 0; i < count; i++) {
      if (desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) {
        mapped->access.erase(desc[i].location.id);
      } else {
        mapped->access[desc[i].location.id] = desc[i].flags;
      }
    }
    bool write = false;
    for (const auto& [ordinal, flags] : mapped->access) {
      write |= flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    }
    let_device(mapped->address, mapped->size, !mapped->access.empty(), write);
  }
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemExportToShareableHandle(void* shareableHandle,
                                             CUmemGenericAllocationHandle handle,
                                             CUmemAllocationHandleType handleType,
                                             unsigned long long flags) {
  ENTER
  Locked locked;
  std::shared_ptr<Physical> physical;
  if (CUresult error = physical_of(handle, __func__, physical)) {
    return error;
  }
  if (shareableHandle == nullptr || flags != 0 ||
      handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (physical->handle_types != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    violation("%s: the memory was not created with that type of handle", __func__);
    return CUDA_ERROR_INVALID_VALUE;
  }
  int file = fcntl(physical->file, F_DUPFD_CLOEXEC, 0);
  if (file < 0) {
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  *static_cast<int*>(shareableHandle) = file;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* osHandle,
                                               CUmemAllocationHandleType shHandleType) {
  ENTER
  auto given = static_cast<int>(reinterpret_cast<intptr_t>(osHandle));
  if (handle == nullptr || shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // A memfd of ours is known by its name, which tells the device too.
  char name[64] = {};
  int ordinal = -1;
  struct stat status;
  ssize_t length =
      readlink(("/proc/self/fd/" + std::to_string(given)).c_str(), name, sizeof name - 1);
  if (length < 0 || sscanf(name, "/memfd:tidepool-physical-%d", &ordinal) != 1 ||
      fstat(given, &status) != 0) {
    violation("%s of file descriptor %d, which is no exported memory", __func__, given);
    return CUDA_ERROR_INVALID_VALUE;
  }
  Locked locked;
  Device* of = device(ordinal);
  int file = of == nullptr ? -1 : fcntl(given, F_DUPFD_CLOEXEC, 0);
  if (file < 0) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  auto imported = std::make_shared<Physical>(of, file, static_cast<size_t>(status.st_size), false);
  imported->handle_types = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  *handle = enter(imported);
  return CUDA_SUCCESS;
}
