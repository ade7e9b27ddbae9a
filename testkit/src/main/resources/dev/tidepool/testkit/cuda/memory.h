// The registry of what the driver allocated, and where a range of addresses lies in it. All under the
// machine's lock.
#pragma once

#include "machine.h"

namespace sim {

// What an address was filled with before anyone wrote to it; the ends of an allocation show it.
constexpr unsigned char kFresh = 0xA5;

// Bytes of the device's memory that are left.
size_t available(const Device& device);

// Memory of a device, mapped; CUDA_ERROR_OUT_OF_MEMORY when the device lacks so much.
CUresult obtain(Device& device, size_t size, uintptr_t& address, off_t& offset);
void dispose(Device& device, uintptr_t address, size_t size, off_t offset);

std::shared_ptr<Allocation> enter_live(Kind kind, uintptr_t address, size_t size, Device* device);
void leave_live(const Allocation& allocation, const char* how);

// What the address lies in, or null.
std::shared_ptr<Allocation> find(uintptr_t address);

// What begins at the address; else null, and why not is a violation.
std::shared_ptr<Allocation> find_base(const char* call, uintptr_t address);

// The allocations under memory that the device is to reach; bad ranges are violations.
CUresult device_range(const char* call, CUdeviceptr address, size_t size, std::vector<Use>& uses,
                      Device*& owner);

// Those under memory of the host; pageable memory has none.
CUresult host_range(const char* call, const void* address, size_t size, std::vector<Use>& uses,
                    bool& pageable);

// Host access to all managed memory of the device, where it is not concurrent with kernels.
void let_host_at_managed(Device& device, bool allowed);

// Frees what is no longer live.
void release(Allocation& allocation);

}  // namespace sim
