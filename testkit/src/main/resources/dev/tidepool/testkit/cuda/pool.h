// Stream-ordered pools.
#pragma once

#include <list>

#include "machine.h"

namespace sim {

class Stream;

// Memory that a pool keeps between two allocations.
struct PoolBlock {
  uintptr_t address;
  size_t size;
  off_t offset;
  uint64_t freed_on;  // the stream that frees it; only that one may have it before the free is reached
  bool idle;          // the free was reached
  uint64_t lease;     // of the allocation that had it last
};

struct Pool {
  Device* device;
  CUmemoryPool handle;
  size_t most = SIZE_MAX;
  uint64_t threshold = 0;  // bytes kept at a synchronization
  uint64_t used = 0;
  uint64_t used_high = 0;
  uint64_t reserved = 0;
  uint64_t reserved_high = 0;
  std::map<int, int> switches;             // the attributes about reuse
  std::map<int, CUmemAccess_flags> access;  // of other devices
  std::list<PoolBlock> freed;
};

std::shared_ptr<Pool> make_pool(Device& device);

// What a synchronization does: idle memory beyond the threshold goes back. Takes the lock.
void trim_pools(Device& device);

// Puts an allocation's memory back, under the lock; `stream` 0 for at once.
void back_to_pool(const Allocation& allocation, uint64_t stream);

// Gives idle memory back until no more than that much is reserved, under the lock.
void trim(Pool& pool, uint64_t keep);

// Gives all freed memory back, under the lock and with no stream at work.
void drop(Pool& pool);

}  // namespace sim
