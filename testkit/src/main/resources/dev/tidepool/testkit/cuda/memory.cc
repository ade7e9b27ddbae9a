#include "memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "context.h"
#include "ipc.h"
#include "pool.h"
#include "stream.h"

namespace sim {

size_t available(const Device& device) {
  return device.memory - std::min(device.memory, device.used.load());
}

namespace {

constexpr size_t kMostFreed = 16384;

// Where an address lies that is no live allocation's.
std::string describe(uintptr_t address) {
  const auto& freed = machine().freed;
  auto next = freed.upper_bound(address);
  char text[160];
  if (next != freed.begin()) {
    auto before = std::prev(next);
    if (address < before->first + before->second.first) {
      snprintf(text, sizeof text, "%#lx, which was %s", address, before->second.second.c_str());
      return text;
    }
  }
  snprintf(text, sizeof text, "%#lx, which the driver never gave", address);
  return text;
}

// Fresh memory is not zero: code that relies on zeros fails at both ends of a block.
void make_stale(uintptr_t address, size_t size) {
  size_t front = std::min(size, 4 * kPage);
  memset(bytes(address), kFresh, front);
  size_t back = std::min(size - front, kPage);
  memset(bytes(address + size - back), kFresh, back);
}

}  // namespace

CUresult obtain(Device& device, size_t size, uintptr_t& address, off_t& offset) {
  size_t rounded = up_to(size, kPage);
  if (rounded < size || rounded > std::min(available(device), device.largest_piece)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  address = reserve(rounded, kPage, 0);
  if (address == 0) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  offset = device.file_end;
  if (!map(address, rounded, device.file, offset, true, false)) {
    give_back(address);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  device.file_end += static_cast<off_t>(rounded);
  device.used += rounded;
  make_stale(address, size);
  return CUDA_SUCCESS;
}

void dispose(Device& device, uintptr_t address, size_t size, off_t offset) {
  size_t rounded = up_to(size, kPage);
  unmap(address, rounded);
  give_back(address);
  fallocate(device.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
            static_cast<off_t>(rounded));
  device.used -= rounded;
}

std::shared_ptr<Allocation> enter_live(Kind kind, uintptr_t address, size_t size, Device* device) {
  auto& freed = machine().freed;
  freed.erase(freed.lower_bound(address), freed.lower_bound(address + size));
  auto allocation = std::make_shared<Allocation>();
  allocation->kind = kind;
  allocation->address = address;
  allocation->size = size;
  allocation->device = device;
  bool of_device = kind == Kind::kPooled || kind == Kind::kMapped;  // and of no context
  Context* current = current_context();
  allocation->context =
      of_device || current == nullptr || current->device != device ? &device->context : current;
  allocation->id = machine().next_id++;
  machine().live[address] = allocation;
  return allocation;
}

void leave_live(const Allocation& allocation, const char* how) {
  machine().live.erase(allocation.address);
  if (contains(allocation.address)) {
    auto& freed = machine().freed;
    if (freed.size() == kMostFreed) {
      freed.erase(freed.begin());
    }
    freed[allocation.address] = {allocation.size,
                                 std::string(kind_name(allocation.kind)) + " of " +
                                     std::to_string(allocation.size) + " bytes, freed by " + how};
  }
}

std::shared_ptr<Allocation> find(uintptr_t address) {
  auto next = machine().live.upper_bound(address);
  if (next == machine().live.begin()) {
    return nullptr;
  }
  const std::shared_ptr<Allocation>& before = std::prev(next)->second;
  return address - before->address < before->size ? before : nullptr;
}

std::shared_ptr<Allocation> find_base(const char* call, uintptr_t address) {
  std::shared_ptr<Allocation> found = find(address);
  if (!found) {
    violation("%s of %s", call, describe(address).c_str());
  } else if (found->address != address) {
    violation("%s of %#lx, which lies %zu bytes inside %s of %zu bytes", call, address,
              address - found->address, kind_name(found->kind), found->size);
    found = nullptr;
  }
  return found;
}

CUresult device_range(const char* call, CUdeviceptr address, size_t size, std::vector<Use>& uses,
                      Device*& owner) {
  uintptr_t at = address;
  size_t left = size;
  while (left > 0) {
    std::shared_ptr<Allocation> under = find(at);
    if (!under) {
      if (at == address) {
        violation("%s touches %s", call, describe(at).c_str());
      } else {
        violation("%s touches %zu bytes at %#llx, %zu of them beyond the end of the memory there",
                  call, size, address, left);
      }
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (under->kind == Kind::kMapped && under->access.empty()) {
      violation("%s touches %#lx, which is mapped but no device may access it", call, at);
      return CUDA_ERROR_INVALID_VALUE;
    }
    owner = under->device;
    size_t here = std::min(left, under->address + under->size - at);
    bool goes_on = under->kind == Kind::kMapped;  // neighbouring mappings are one range
    if (here < left && !goes_on) {
      violation("%s touches %zu bytes at %#llx, %zu of them beyond the end of %s of %zu bytes", call,
                size, address, left - here, kind_name(under->kind), under->size);
      return CUDA_ERROR_INVALID_VALUE;
    }
    uses.emplace_back(std::move(under));
    at += here;
    left -= here;
  }
  return CUDA_SUCCESS;
}

CUresult host_range(const char* call, const void* address, size_t size, std::vector<Use>& uses,
                    bool& pageable) {
  auto at = reinterpret_cast<uintptr_t>(address);
  std::shared_ptr<Allocation> under = find(at);
  pageable = !under;
  if (!under && contains(at)) {
    violation("%s takes %s for host memory", call, describe(at).c_str());
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!under) {
    // Of a copy's range the driver knows all or nothing.
    auto next = machine().live.upper_bound(at);
    if (next != machine().live.end() && next->first - at < size) {
      violation("%s touches %zu bytes at %#lx, which become %s after %zu bytes", call, size, at,
                kind_name(next->second->kind), next->first - at);
      return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  }
  if (under->on_device() && under->kind != Kind::kManaged) {
    violation("%s takes %s at %#lx for host memory", call, kind_name(under->kind), at);
  }
  if (size > under->address + under->size - at) {
    violation("%s touches %zu bytes at %#lx, %zu of them beyond the end of %s of %zu bytes", call, size,
              at, size - (under->address + under->size - at), kind_name(under->kind), under->size);
    return CUDA_ERROR_INVALID_VALUE;
  }
  uses.emplace_back(std::move(under));
  return CUDA_SUCCESS;
}

void release(Allocation& allocation) {
  Device& device = *allocation.device;
  switch (allocation.kind) {
    case Kind::kDevice:
      if (allocation.exported && is_open_elsewhere(allocation)) {
        violation("device memory of %zu bytes is freed while others have it open", allocation.size);
      }
      dispose(device, allocation.address, allocation.size, allocation.offset);
      break;
    case Kind::kPooled:
      back_to_pool(allocation, 0);
      break;
    case Kind::kManaged:
      if (attribute(device, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS) == 0) {
        device.used -= up_to(allocation.size, kPage);
      }
      unmap(allocation.address, allocation.size);
      give_back(allocation.address);
      close(allocation.file);
      break;
    case Kind::kPinned:
      munmap(reinterpret_cast<void*>(allocation.address), allocation.size);
      machine().pinned -= allocation.size;
      break;
    case Kind::kRegistered:
      machine().pinned -= allocation.size;
      break;
    case Kind::kMapped:
      unmap(allocation.address, allocation.size);
      break;
    case Kind::kOpened:
      close_opened(allocation);
      break;
  }
}

namespace {

// Frees what begins there: at once, or when the work that wrongly still uses it has ended.
CUresult free_now(const char* call, uintptr_t address, std::initializer_list<Kind> kinds) {
  Context* busy = nullptr;
  {
    Locked locked;
    std::shared_ptr<Allocation> found = find_base(call, address);
    if (!found) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (std::find(kinds.begin(), kinds.end(), found->kind) == kinds.end()) {
      violation("%s of %s at %#lx", call, kind_name(found->kind), address);
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (int pending = found->pending) {
      violation("%s of %s at %#lx while %d commands still use it", call, kind_name(found->kind),
                address, pending);
      busy = found->context;
    }
  }
  if (busy != nullptr) {
    wait_for(busy);
  }
  Locked locked;
  std::shared_ptr<Allocation> found = find_base(call, address);  // another thread may have been here
  if (!found) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  leave_live(*found, call);
  release(*found);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace sim

using namespace sim;

EXPORT CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  ENTER_CONTEXT
  if (free == nullptr || total == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Locked locked;
  *total = context->device->memory;
  *free = available(*context->device);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytesize) {
  ENTER_CONTEXT
  if (dptr == nullptr || bytesize == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Locked locked;
  uintptr_t address;
  off_t offset;
  if (CUresult error = obtain(*context->device, bytesize, address, offset)) {
    return error;
  }
  enter_live(Kind::kDevice, address, bytesize, context->device)->offset = offset;
  *dptr = address;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr dptr) {
  ENTER_CONTEXT
  if (dptr == 0) {
    return CUDA_SUCCESS;
  }
  return free_now(__func__, dptr, {Kind::kDevice, Kind::kPooled, Kind::kManaged});
}

EXPORT CUresult cuMemHostAlloc(void** pp, size_t bytesize, unsigned int Flags) {
  ENTER_CONTEXT
  constexpr unsigned kKnown =
      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
  if (pp == nullptr || bytesize == 0 || (Flags & ~kKnown) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Locked locked;
  Machine& m = machine();
  if (bytesize > m.pinned_limit - std::min(m.pinned, m.pinned_limit)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  void* memory =
      mmap(nullptr, bytesize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  m.pinned += bytesize;
  enter_live(Kind::kPinned, reinterpret_cast<uintptr_t>(memory), bytesize, context->device)->flags =
      Flags;
  *pp = memory;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemFreeHost(void* p) {
  ENTER_CONTEXT
  return p == nullptr ? CUDA_SUCCESS
                      : free_now(__func__, reinterpret_cast<uintptr_t>(p), {Kind::kPinned});
}

EXPORT CUresult cuMemHostRegister_v2(void* p, size_t bytesize, unsigned int Flags) {
  ENTER_CONTEXT
  constexpr unsigned kKnown = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                              CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
  auto address = reinterpret_cast<uintptr_t>(p);
  if (p == nullptr || bytesize == 0 || (Flags & ~kKnown) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (attribute(*context->device, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED) == 0) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  uintptr_t first = address / kPage * kPage;
  std::vector<unsigned char> resident((up_to(address + bytesize, kPage) - first) / kPage);
  if (contains(address) ||
      mincore(reinterpret_cast<void*>(first), resident.size() * kPage, resident.data()) != 0) {
    violation("%s of %#lx, which is no host memory over %zu bytes", __func__, address, bytesize);
    return CUDA_ERROR_INVALID_VALUE;
  }
  Locked locked;
  Machine& m = machine();
  auto next = m.live.lower_bound(address);
  if (find(address) || (next != m.live.end() && next->first < address + bytesize)) {
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  }
  if (bytesize > m.pinned_limit - std::min(m.pinned, m.pinned_limit)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  m.pinned += bytesize;
  enter_live(Kind::kRegistered, address, bytesize, context->device)->flags = Flags;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemHostUnregister(void* p) {
  ENTER_CONTEXT
  {
    Locked locked;
    std::shared_ptr<Allocation> found = find(reinterpret_cast<uintptr_t>(p));
    if (!found || found->kind != Kind::kRegistered) {
      violation("%s of %p, which is not registered", __func__, p);
      return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    }
  }
  return free_now(__func__, reinterpret_cast<uintptr_t>(p), {Kind::kRegistered});
}

EXPORT CUresult cuMemHostGetFlags(unsigned int* pFlags, void* p) {
  ENTER_CONTEXT
  Locked locked;
  std::shared_ptr<Allocation> found = find(reinterpret_cast<uintptr_t>(p));
  if (pFlags == nullptr || !found || found->kind != Kind::kPinned) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pFlags = found->flags;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* pdptr, void* p, unsigned int Flags) {
  ENTER_CONTEXT
  if (pdptr == nullptr || Flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Locked locked;
  std::shared_ptr<Allocation> found = find(reinterpret_cast<uintptr_t>(p));
  if (!found || found->on_device()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pdptr = reinterpret_cast<uintptr_t>(p);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr ptr) {
  ENTER_CONTEXT
  Locked locked;
  std::shared_ptr<Allocation> found = find(ptr);
  if (data == nullptr || !found) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  bool host = !found->on_device() || found->kind == Kind::kManaged;
  switch (static_cast<int>(attribute)) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<CUcontext*>(data) = reinterpret_cast<CUcontext>(found->context);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(data) =
          found->on_device() ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<CUdeviceptr*>(data) = ptr;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!host) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      *static_cast<void**>(data) = reinterpret_cast<void*>(ptr);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      *static_cast<unsigned long long*>(data) = found->id;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<unsigned*>(data) = found->kind == Kind::kManaged;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(data) = found->device->ordinal;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      *static_cast<unsigned*>(data) = found->kind == Kind::kDevice;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr*>(data) = found->address;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<size_t*>(data) = found->size;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      *static_cast<unsigned*>(data) = found->kind != Kind::kMapped || !found->access.empty();
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      *static_cast<CUmemoryPool*>(data) = found->pool ? found->pool->handle : nullptr;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}
