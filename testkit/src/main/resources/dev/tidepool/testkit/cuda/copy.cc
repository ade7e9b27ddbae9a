// Copies and fills, all asynchronous. A copy from or to pageable memory is legal but slow, as with a real
// driver: the source is staged while the caller waits, the destination is waited for.

#include <cstring>

#include "context.h"
#include "memory.h"
#include "stream.h"

namespace sim {
namespace {

CUresult submit_copy(Stream& stream, Link link, uintptr_t destination, uintptr_t source, size_t size,
                     std::vector<Use> uses) {
  Device& device = *stream.context->device;
  return stream.submit({[&device, link, destination, source, size] {
                          Clock::time_point start = Clock::now();
                          memmove(bytes(destination), bytes(source), size);
                          take_time(device, link, size, start);
                        },
                        std::move(uses)});
}

// Whether a context knows memory of the host as locked: its own, and what was made portable.
bool is_locked_for(const Allocation& memory, const Context& context) {
  static_assert(CU_MEMHOSTALLOC_PORTABLE == CU_MEMHOSTREGISTER_PORTABLE);
  bool locked = memory.kind == Kind::kPinned || memory.kind == Kind::kRegistered;
  return !locked || memory.context == &context ||
         (memory.flags & CU_MEMHOSTALLOC_PORTABLE) != 0;
}

// A copy between a device and the host: on which stream, what it uses, and of which kind the host's
// memory is.
struct HostCopy {
  std::shared_ptr<Stream> stream;
  std::vector<Use> uses;
  bool pageable = false;

  CUresult check(const char* call, CUdeviceptr device, const void* host, size_t size,
                 CUstream handle) {
    CUresult error = stream_of(handle, call, stream);
    if (error || size == 0) {
      return error;
    }
    Device* owner = nullptr;
    {
      Locked locked;
      error = device_range(call, device, size, uses, owner);
      if (!error) {
        error = host_range(call, host, size, uses, pageable);
      }
    }
    if (!error && !pageable && !is_locked_for(*uses.back(), *stream->context)) {
      note("%s of %zu bytes at %p, which are locked for device %d alone", call, size, host,
           uses.back()->device->ordinal);
    }
    if (!error && pageable) {
      note("%s of %zu bytes of pageable memory at %p: the caller waits for it", call, size, host);
    }
    return error;
  }
};

template <class Value>
CUresult fill(const char* call, CUdeviceptr destination, Value value, size_t count, CUstream handle) {
  std::shared_ptr<Stream> stream;
  if (CUresult error = stream_of(handle, call, stream)) {
    return error;
  }
  if (destination % sizeof(Value) != 0) {
    violation("%s of %zu-byte values at %#llx, which is not aligned", call, sizeof(Value), destination);
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::vector<Use> uses;
  Device* owner = nullptr;
  {
    Locked locked;
    if (CUresult error = device_range(call, destination, count * sizeof(Value), uses, owner)) {
      return error;
    }
  }
  Device& device = *stream->context->device;
  return stream->submit({[&device, destination, value, count] {
                           Clock::time_point start = Clock::now();
                           std::fill_n(reinterpret_cast<Value*>(bytes(destination)), count, value);
                           take_time(device, kOnDevice, count * sizeof(Value), start);
                         },
                         std::move(uses)});
}

CUresult copy_on_device(const char* call, CUdeviceptr destination, CUdeviceptr source, size_t size,
                        CUstream handle, bool peers) {
  std::shared_ptr<Stream> stream;
  if (CUresult error = stream_of(handle, call, stream)) {
    return error;
  }
  if (size == 0) {
    return CUDA_SUCCESS;
  }
  std::vector<Use> uses;
  Device* to = nullptr;
  Device* from = nullptr;
  {
    Locked locked;
    if (CUresult error = device_range(call, destination, size, uses, to)) {
      return error;
    }
    if (CUresult error = device_range(call, source, size, uses, from)) {
      return error;
    }
    const Context& own = *stream->context;
    bool direct = has_peer(to->context, *from) || has_peer(from->context, *to) ||
                  has_peer(own, *from) || has_peer(own, *to);
    if (to != from && !peers && !direct) {
      note("%s from device %d to device %d, which are no peers: it goes through the host", call,
           from->ordinal, to->ordinal);
    }
  }
  Link link = to == from ? kOnDevice : kToPeer;
  return submit_copy(*stream, link, destination, source, size, std::move(uses));
}

}  // namespace
}  // namespace sim

using namespace sim;

EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount,
                                     CUstream hStream) {
  ENTER_CONTEXT
  HostCopy copy;
  if (CUresult error = copy.check(__func__, dstDevice, srcHost, ByteCount, hStream)) {
    return error;
  }
  if (ByteCount == 0) {
    return CUDA_SUCCESS;
  }
  if (!copy.pageable) {
    return submit_copy(*copy.stream, kHostToDevice, dstDevice, reinterpret_cast<uintptr_t>(srcHost),
                       ByteCount, std::move(copy.uses));
  }
  auto staged = std::make_shared<std::vector<char>>(
      static_cast<const char*>(srcHost), static_cast<const char*>(srcHost) + ByteCount);
  Device& device = *copy.stream->context->device;
  return copy.stream->submit({[&device, staged, dstDevice] {
                                Clock::time_point start = Clock::now();
                                memcpy(bytes(dstDevice), staged->data(), staged->size());
                                take_time(device, kHostToDevice, staged->size(), start);
                              },
                              std::move(copy.uses)});
}

EXPORT CUresult cuMemcpyDtoHAsync_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                                     CUstream hStream) {
  ENTER_CONTEXT
  HostCopy copy;
  if (CUresult error = copy.check(__func__, srcDevice, dstHost, ByteCount, hStream)) {
    return error;
  }
  if (ByteCount == 0) {
    return CUDA_SUCCESS;
  }
  CUresult result = submit_copy(*copy.stream, kDeviceToHost, reinterpret_cast<uintptr_t>(dstHost),
                                srcDevice, ByteCount, std::move(copy.uses));
  return result == CUDA_SUCCESS && copy.pageable ? copy.stream->wait() : result;
}

EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                                     CUstream hStream) {
  ENTER_CONTEXT
  return copy_on_device(__func__, dstDevice, srcDevice, ByteCount, hStream, false);
}

EXPORT CUresult cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                                  CUcontext srcContext, size_t ByteCount, CUstream hStream) {
  ENTER_CONTEXT
  {
    Locked locked;
    CUcontext contexts[2] = {dstContext, srcContext};
    CUdeviceptr addresses[2] = {dstDevice, srcDevice};
    for (int i = 0; i < 2; i++) {
      std::shared_ptr<Allocation> found = find(addresses[i]);
      auto* expected = reinterpret_cast<Context*>(contexts[i]);
      if (found && !(is_context(expected) && expected->device == found->device)) {
        violation("%s: the context given for %#llx is not that of device %d, where it lies", __func__,
                  addresses[i], found->device->ordinal);
        return CUDA_ERROR_INVALID_CONTEXT;
      }
    }
  }
  return copy_on_device(__func__, dstDevice, srcDevice, ByteCount, hStream, true);
}

EXPORT CUresult cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream) {
  ENTER_CONTEXT
  return fill(__func__, dstDevice, uc, N, hStream);
}

EXPORT CUresult cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N,
                                 CUstream hStream) {
  ENTER_CONTEXT
  return fill(__func__, dstDevice, us, N, hStream);
}

EXPORT CUresult cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream) {
  ENTER_CONTEXT
  return fill(__func__, dstDevice, ui, N, hStream);
}
