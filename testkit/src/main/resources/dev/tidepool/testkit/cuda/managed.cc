// Managed memory: one address for host and device. What was advised and prefetched is kept for each part
// and can be asked for; prefetches take the link's time. On a device without concurrent access the host
// cannot touch managed memory while kernels run (module.cc), and it has to fit the card.

#include <unistd.h>

#include "memory.h"
#include "stream.h"

namespace sim {
namespace {

bool same(const CUmemLocation& a, const CUmemLocation& b) {
  return a.type == b.type && (a.type != CU_MEM_LOCATION_TYPE_DEVICE || a.id == b.id);
}

// The location of an old-style device number: the host is CU_DEVICE_CPU.
CUmemLocation location_of(CUdevice device) {
  CUmemLocation location{};
  location.type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device == CU_DEVICE_CPU ? 0 : device;
  return location;
}

// The old-style number of a location.
int number_of(const CUmemLocation& location) {
  switch (static_cast<int>(location.type)) {
    case CU_MEM_LOCATION_TYPE_DEVICE: return location.id;
    case CU_MEM_LOCATION_TYPE_INVALID: return CU_DEVICE_INVALID;
    default: return CU_DEVICE_CPU;
  }
}

// Applies `change` to the pages of the range, splitting what was said of larger parts.
template <class Change>
void change_advice(Allocation& allocation, size_t from, size_t to, Change change) {
  auto& advice = allocation.advice;
  for (size_t edge : {from, to}) {
    auto before = std::prev(advice.upper_bound(edge));
    if (edge < up_to(allocation.size, kPage) && before->first != edge) {
      advice[edge] = before->second;
    }
  }
  for (auto part = advice.find(from); part != advice.end() && part->first < to; ++part) {
    change(part->second, std::min(to, std::next(part) == advice.end() ? to : std::next(part)->first) -
                             part->first);
  }
}

// The managed allocation around the range, and the range in whole pages of it.
CUresult managed_range(const char* call, CUdeviceptr address, size_t count,
                       std::shared_ptr<Allocation>& allocation, size_t& from, size_t& to) {
  allocation = find(address);
  if (count == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!allocation || allocation->kind != Kind::kManaged) {
    violation("%s of %#llx, which is not managed memory", call, address);
    return CUDA_ERROR_INVALID_VALUE;
  }
  size_t offset = address - allocation->address;
  if (count > allocation->size - offset) {
    violation("%s of %zu bytes at %#llx, beyond the end of managed memory of %zu bytes", call, count,
              address, allocation->size);
    return CUDA_ERROR_INVALID_VALUE;
  }
  from = offset / kPage * kPage;
  to = up_to(offset + count, kPage);
  return CUDA_SUCCESS;
}

// Checks that a location is the host or a device that can take managed memory at any time.
CUresult check_location(const CUmemLocation& location) {
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    return location.type == CU_MEM_LOCATION_TYPE_INVALID ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  }
  Device* of = device(location.id);
  return of != nullptr && attribute(*of, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS) != 0
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_DEVICE;
}

CUresult advise(const char* call, CUdeviceptr address, size_t count, CUmem_advise advice,
                CUmemLocation location) {
  Locked locked;
  std::shared_ptr<Allocation> allocation;
  size_t from;
  size_t to;
  if (CUresult error = managed_range(call, address, count, allocation, from, to)) {
    return error;
  }
  bool located = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
                 advice == CU_MEM_ADVISE_SET_ACCESSED_BY || advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
  if (located) {
    if (CUresult error = check_location(location)) {
      return error;
    }
  }
  if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  change_advice(*allocation, from, to, [&](Advice& part, size_t) {
    switch (advice) {
      case CU_MEM_ADVISE_SET_READ_MOSTLY: part.read_mostly = true; break;
      case CU_MEM_ADVISE_UNSET_READ_MOSTLY: part.read_mostly = false; break;
      case CU_MEM_ADVISE_SET_PREFERRED_LOCATION: part.preferred = location; break;
      case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: part.preferred = {}; break;
      case CU_MEM_ADVISE_SET_ACCESSED_BY: part.accessed_by.insert(number_of(location)); break;
      default: part.accessed_by.erase(number_of(location)); break;
    }
  });
  return CUDA_SUCCESS;
}

CUresult prefetch(const char* call, CUdeviceptr address, size_t count, CUmemLocation location,
                  CUstream handle) {
  std::shared_ptr<Stream> stream;
  if (CUresult error = stream_of(handle, call, stream)) {
    return error;
  }
  std::vector<Use> uses;
  size_t moving = 0;
  {
    Locked locked;
    std::shared_ptr<Allocation> allocation;
    size_t from;
    size_t to;
    if (CUresult error = managed_range(call, address, count, allocation, from, to)) {
      return error;
    }
    if (CUresult error = check_location(location)) {
      return error;
    }
    change_advice(*allocation, from, to, [&](Advice& part, size_t size) {
      moving += same(part.prefetched, location) ? 0 : size;
      part.prefetched = location;
    });
    uses.emplace_back(allocation);
  }
  Device& device = *stream->context->device;
  Link link = location.type == CU_MEM_LOCATION_TYPE_DEVICE ? kHostToDevice : kDeviceToHost;
  return stream->submit(
      {[&device, link, moving] { take_time(device, link, moving, Clock::now()); }, std::move(uses)});
}

}  // namespace

void let_host_at_managed(Device& device, bool allowed) {
  for (const auto& [address, allocation] : machine().live) {
    if (allocation->kind == Kind::kManaged && allocation->device == &device &&
        !allocation->to_host) {
      let_host(address, allocation->size, allowed);
    }
  }
}

}  // namespace sim

using namespace sim;

EXPORT CUresult cuMemAllocManaged(CUdeviceptr* dptr, size_t bytesize, unsigned int flags) {
  ENTER_CONTEXT
  if (dptr == nullptr || bytesize == 0 ||
      (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Locked locked;
  Device& device = *context->device;
  if (attribute(device, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY) == 0) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  size_t size = up_to(bytesize, kPage);
  bool on_card = attribute(device, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS) == 0;
  if (on_card && size > available(device)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  int file = memory_file("tidepool-managed", size);
  uintptr_t address = file < 0 ? 0 : reserve(size, kPage, 0);
  if (address == 0 || !map(address, size, file, 0, true, true)) {
    close(file);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  device.used += on_card ? size : 0;
  std::shared_ptr<Allocation> made = enter_live(Kind::kManaged, address, bytesize, &device);
  made->file = file;
  made->flags = flags;
  made->to_host = flags == CU_MEM_ATTACH_HOST;
  made->advice[0] = {};
  *dptr = address;
  return CUDA_SUCCESS;
}

// What is attached to the host alone is the host's while kernels run.
EXPORT CUresult cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length,
                                       unsigned int flags) {
  ENTER_CONTEXT
  std::shared_ptr<Stream> stream;
  if (CUresult error = stream_of(hStream, __func__, stream)) {
    return error;
  }
  std::vector<Use> uses;
  std::shared_ptr<Allocation> allocation;
  {
    Locked locked;
    allocation = find(dptr);
    if (!allocation || allocation->kind != Kind::kManaged || allocation->address != dptr ||
        (length != 0 && length != allocation->size)) {
      violation("%s of %#llx, which is not the start of managed memory, or of a part of it", __func__,
                dptr);
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    uses.emplace_back(allocation);
  }
  return stream->submit(
      {[allocation, flags] {
         Locked locked;
         Device& device = *allocation->device;
         bool concurrent = attribute(device, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS) != 0;
         allocation->to_host = flags == CU_MEM_ATTACH_HOST;
         let_host(allocation->address, allocation->size,
                  concurrent || allocation->to_host || device.running_kernels == 0);
       },
       std::move(uses)});
}

EXPORT CUresult cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device) {
  ENTER_CONTEXT
  return advise(__func__, devPtr, count, advice, location_of(device));
}

EXPORT CUresult cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                               CUmemLocation location) {
  ENTER_CONTEXT
  return advise(__func__, devPtr, count, advice, location);
}

EXPORT CUresult cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice,
                                   CUstream hStream) {
  ENTER_CONTEXT
  return prefetch(__func__, devPtr, count, location_of(dstDevice), hStream);
}

EXPORT CUresult cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location,
                                      unsigned int flags, CUstream hStream) {
  ENTER_CONTEXT
  if (flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return prefetch(__func__, devPtr, count, location, hStream);
}

// A number that holds for the whole range, else `mixed`.
template <class Read>
static int common(const Allocation& allocation, size_t from, size_t to, int mixed, Read read) {
  auto part = std::prev(allocation.advice.upper_bound(from));
  int value = read(part->second);
  for (; part != allocation.advice.end() && part->first < to; ++part) {
    if (read(part->second) != value) {
      return mixed;
    }
  }
  return value;
}

EXPORT CUresult cuMemRangeGetAttribute(void* data, size_t dataSize, CUmem_range_attribute attribute,
                                       CUdeviceptr devPtr, size_t count) {
  ENTER_CONTEXT
  if (data == nullptr || dataSize < 4 || dataSize % 4 != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Locked locked;
  std::shared_ptr<Allocation> allocation;
  size_t from;
  size_t to;
  if (CUresult error = managed_range(__func__, devPtr, count, allocation, from, to)) {
    return error;
  }
  auto answer = [&](int mixed, auto read) {
    *static_cast<int*>(data) = common(*allocation, from, to, mixed, read);
    return CUDA_SUCCESS;
  };
  switch (static_cast<int>(attribute)) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
      return answer(0, [](const Advice& part) { return part.read_mostly ? 1 : 0; });
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
      return answer(CU_DEVICE_INVALID, [](const Advice& part) { return number_of(part.preferred); });
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
      return answer(CU_DEVICE_INVALID, [](const Advice& part) { return number_of(part.prefetched); });
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
      return answer(CU_MEM_LOCATION_TYPE_INVALID,
                    [](const Advice& part) { return static_cast<int>(part.preferred.type); });
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
      return answer(CU_DEVICE_INVALID, [](const Advice& part) { return part.preferred.id; });
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
      return answer(CU_MEM_LOCATION_TYPE_INVALID,
                    [](const Advice& part) { return static_cast<int>(part.prefetched.type); });
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
      return answer(CU_DEVICE_INVALID, [](const Advice& part) { return part.prefetched.id; });
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY: {
      // The devices that were advised for the whole range, then CU_DEVICE_INVALID.
      auto part = std::prev(allocation->advice.upper_bound(from));
      std::set<int> all = part->second.accessed_by;
      for (; part != allocation->advice.end() && part->first < to; ++part) {
        for (auto one = all.begin(); one != all.end();) {
          one = part->second.accessed_by.count(*one) ? std::next(one) : all.erase(one);
        }
      }
      auto one = all.begin();
      for (size_t i = 0; i < dataSize / 4; i++) {
        static_cast<int*>(data)[i] = one == all.end() ? CU_DEVICE_INVALID : *one++;
      }
      return CUDA_SUCCESS;
    }
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}
