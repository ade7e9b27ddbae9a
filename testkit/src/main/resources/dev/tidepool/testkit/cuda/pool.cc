#include "pool.h"

#include "memory.h"
#include "stream.h"

namespace sim {

std::shared_ptr<Pool> make_pool(Device& device) {
  auto pool = std::make_shared<Pool>();
  pool->device = &device;
  pool->handle = new_handle<CUmemoryPool>();
  for (int reuse = CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES;
       reuse <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES; reuse++) {
    pool->switches[reuse] = 1;
  }
  machine().pools[pool->handle] = pool;
  return pool;
}

void trim(Pool& pool, uint64_t keep) {
  for (auto block = pool.freed.begin(); block != pool.freed.end() && pool.reserved > keep;) {
    if (block->idle) {
      dispose(*pool.device, block->address, block->size, block->offset);
      pool.reserved -= block->size;
      block = pool.freed.erase(block);
    } else {
      ++block;
    }
  }
}

void drop(Pool& pool) {
  for (PoolBlock& block : pool.freed) {
    block.idle = true;
  }
  trim(pool, 0);
}

void trim_pools(Device& device) {
  Locked locked;
  for (const auto& [handle, pool] : machine().pools) {
    if (pool->device == &device) {
      trim(*pool, pool->threshold);
    }
  }
}

void back_to_pool(const Allocation& allocation, uint64_t stream) {
  Pool& pool = *allocation.pool;
  size_t size = up_to(allocation.size, kPage);
  pool.used -= size;
  pool.freed.push_back({allocation.address, size, allocation.offset, stream, stream == 0, allocation.id});
  if (machine().pools.count(pool.handle) == 0) {
    trim(pool, 0);  // destroyed: what comes back leaves at once
  }
}

namespace {

// The stream came to a free: the next request may have the memory.
void reach_free(Pool& pool, uint64_t lease) {
  for (PoolBlock& block : pool.freed) {
    if (block.lease == lease) {
      block.idle = true;
      break;
    }
  }
  if (machine().pools.count(pool.handle) == 0) {
    trim(pool, 0);
  }
}

CUresult pool_of(CUmemoryPool handle, const char* call, std::shared_ptr<Pool>& pool) {
  auto found = machine().pools.find(handle);
  if (found == machine().pools.end()) {
    violation("%s: %p is no memory pool, or a destroyed one", call, static_cast<void*>(handle));
    return CUDA_ERROR_INVALID_VALUE;
  }
  pool = found->second;
  return CUDA_SUCCESS;
}

CUresult take_block(Pool& pool, size_t size, uint64_t stream, PoolBlock& taken) {
  for (auto block = pool.freed.begin(); block != pool.freed.end(); ++block) {
    if (block->size == size && (block->idle || block->freed_on == stream)) {
      taken = *block;
      pool.freed.erase(block);
      return CUDA_SUCCESS;
    }
  }
  if (pool.reserved + size > pool.most) {
    trim(pool, pool.most - std::min(pool.most, size));
  }
  if (pool.reserved + size > pool.most) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  taken = {0, size, 0, 0, true, 0};
  CUresult result = obtain(*pool.device, size, taken.address, taken.offset);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    trim(pool, 0);
    result = obtain(*pool.device, size, taken.address, taken.offset);
  }
  if (result == CUDA_SUCCESS) {
    pool.reserved += size;
    pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
  }
  return result;
}

// The pool that allocations without one come from, under the lock.
std::shared_ptr<Pool> current_pool(const Device& device) {
  return device.current_pool ? device.current_pool : device.default_pool;
}

// `handle` null for the current pool of the stream's device.
CUresult allocate(const char* call, CUdeviceptr* dptr, size_t size, CUmemoryPool handle,
                  CUstream stream_handle) {
  std::shared_ptr<Stream> stream;
  if (CUresult error = stream_of(stream_handle, call, stream)) {
    return error;
  }
  if (dptr == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (size == 0) {
    *dptr = 0;
    return CUDA_SUCCESS;
  }
  std::shared_ptr<Allocation> allocation;
  {
    Locked locked;
    std::shared_ptr<Pool> pool = current_pool(*stream->context->device);
    if (handle != nullptr) {
      if (CUresult error = pool_of(handle, call, pool)) {
        return error;
      }
    }
    if (attribute(*pool->device, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) == 0) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    PoolBlock block;
    if (CUresult error = take_block(*pool, up_to(size, kPage), stream->id, block)) {
      return error;
    }
    allocation = enter_live(Kind::kPooled, block.address, size, pool->device);
    allocation->offset = block.offset;
    allocation->pool = pool;
    allocation->ready = false;
    pool->used += block.size;
    pool->used_high = std::max(pool->used_high, pool->used);
    *dptr = allocation->address;
  }
  return stream->submit({[allocation] { allocation->ready = true; }, {}});
}

// The device of a question about its pools.
CUresult device_with_pools(const CUmemoryPool* answer, CUdevice ordinal, Device*& of) {
  of = device(ordinal);
  if (answer == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (of == nullptr) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  return attribute(*of, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) == 0 ? CUDA_ERROR_NOT_SUPPORTED
                                                                        : CUDA_SUCCESS;
}

}  // namespace
}  // namespace sim

using namespace sim;

EXPORT CUresult cuMemAllocAsync(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
  ENTER_CONTEXT
  return allocate(__func__, dptr, bytesize, nullptr, hStream);
}

EXPORT CUresult cuMemAllocFromPoolAsync(CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool,
                                        CUstream hStream) {
  ENTER_CONTEXT
  if (pool == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return allocate(__func__, dptr, bytesize, pool, hStream);
}

EXPORT CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
  ENTER_CONTEXT
  std::shared_ptr<Stream> stream;
  if (CUresult error = stream_of(hStream, __func__, stream)) {
    return error;
  }
  if (dptr == 0) {
    return CUDA_SUCCESS;
  }
  std::shared_ptr<Allocation> allocation;
  {
    Locked locked;
    allocation = find_base(__func__, dptr);
    if (!allocation) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (allocation->kind != Kind::kPooled) {
      violation("%s of %s at %#llx", __func__, kind_name(allocation->kind), dptr);
      return CUDA_ERROR_INVALID_VALUE;
    }
    leave_live(*allocation, __func__);
    back_to_pool(*allocation, stream->id);
  }
  return stream->submit({{}, {}, [allocation, id = stream->id](CUresult) {
                           // What this stream did with it is done; so anything pending is another's.
                           // That memory is not given to anyone: what comes is bad enough.
                           if (int pending = allocation->pending) {
                             violation(
                                 "cuMemFreeAsync on stream %lu of %#lx while %d commands of other "
                                 "streams still use it",
                                 id, allocation->address, pending);
                           } else {
                             Locked locked;
                             reach_free(*allocation->pool, allocation->id);
                           }
                         }});
}

EXPORT CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool_out, CUdevice dev) {
  ENTER
  Locked locked;
  Device* of;
  if (CUresult error = device_with_pools(pool_out, dev, of)) {
    return error;
  }
  *pool_out = of->default_pool->handle;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice dev) {
  ENTER
  Locked locked;
  Device* of;
  if (CUresult error = device_with_pools(pool, dev, of)) {
    return error;
  }
  *pool = current_pool(*of)->handle;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
  ENTER
  Locked locked;
  Device* of;
  if (CUresult error = device_with_pools(&pool, dev, of)) {
    return error;
  }
  std::shared_ptr<Pool> found;
  if (CUresult error = pool_of(pool, __func__, found)) {
    return error;
  }
  if (found->device != of) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  of->current_pool = found;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* poolProps) {
  ENTER
  if (pool == nullptr || poolProps == nullptr ||
      poolProps->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
      poolProps->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (unsigned char reserved : poolProps->reserved) {
    if (reserved != 0) {
      violation("%s: the reserved bytes of the properties are not zero", __func__);
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  Locked locked;
  Device* of = device(poolProps->location.id);
  if (of == nullptr) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  if (attribute(*of, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) == 0 ||
      poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  std::shared_ptr<Pool> made = make_pool(*of);
  if (poolProps->maxSize != 0) {
    made->most = poolProps->maxSize;
  }
  *pool = made->handle;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  ENTER
  Locked locked;
  std::shared_ptr<Pool> found;
  if (CUresult error = pool_of(pool, __func__, found)) {
    return error;
  }
  if (found == found->device->default_pool) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  machine().pools.erase(pool);
  if (found->device->current_pool == found) {
    found->device->current_pool.reset();
  }
  trim(*found, 0);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep) {
  ENTER
  Locked locked;
  std::shared_ptr<Pool> found;
  if (CUresult error = pool_of(pool, __func__, found)) {
    return error;
  }
  trim(*found, minBytesToKeep);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  ENTER
  Locked locked;
  std::shared_ptr<Pool> found;
  if (CUresult error = pool_of(pool, __func__, found)) {
    return error;
  }
  if (value == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  switch (static_cast<int>(attr)) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      found->switches[attr] = *static_cast<int*>(value);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      found->threshold = *static_cast<uint64_t*>(value);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      if (*static_cast<uint64_t*>(value) != 0) {
        return CUDA_ERROR_INVALID_VALUE;  // a high-water mark can only be reset
      }
      (attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH ? found->used_high : found->reserved_high) =
          attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH ? found->used : found->reserved;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

EXPORT CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  ENTER
  Locked locked;
  std::shared_ptr<Pool> found;
  if (CUresult error = pool_of(pool, __func__, found)) {
    return error;
  }
  if (value == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto* number = static_cast<uint64_t*>(value);
  switch (static_cast<int>(attr)) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      *static_cast<int*>(value) = found->switches[attr];
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      *number = found->threshold;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      *number = found->reserved;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      *number = found->reserved_high;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      *number = found->used;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      *number = found->used_high;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

EXPORT CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
  ENTER
  Locked locked;
  std::shared_ptr<Pool> found;
  if (CUresult error = pool_of(pool, __func__, found)) {
    return error;
  }
  for (size_t i = 0; i < count; i++) {
    int ordinal = map[i].location.id;
    if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (ordinal == found->device->ordinal) {
      if (map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
        return CUDA_ERROR_INVALID_VALUE;  // its own device always has access
      }
    } else if (Device* of = device(ordinal);
               of == nullptr || of->reachable.count(found->device->ordinal) == 0) {
      return CUDA_ERROR_INVALID_DEVICE;
    } else {
      found->access[ordinal] = map[i].flags;
    }
  }
  return CUDA_SUCCESS;
}
