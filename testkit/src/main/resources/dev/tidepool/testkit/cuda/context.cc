// Primary contexts, what is current on a thread, and which contexts are peers.

#include "context.h"

#include "stream.h"

namespace sim {
namespace {

constexpr int kDeepest = 64;
thread_local Context* context_stack[kDeepest];
thread_local int context_depth = 0;

CUcontext handle(Context* context) { return reinterpret_cast<CUcontext>(context); }

// The context of that handle; the null context is success and null.
CUresult context_of(CUcontext handle, Context*& context) {
  context = reinterpret_cast<Context*>(handle);
  Locked locked;
  return context == nullptr || (is_context(context) && context->active) ? CUDA_SUCCESS
                                                                        : CUDA_ERROR_INVALID_CONTEXT;
}

}  // namespace

bool is_context(const Context* context) {
  for (const Device* device : machine().devices) {
    if (&device->context == context) {
      return true;
    }
  }
  return machine().contexts.count(const_cast<Context*>(context)) == 1;
}

Context* current_context() { return context_depth == 0 ? nullptr : context_stack[context_depth - 1]; }

}  // namespace sim

using namespace sim;

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev) {
  ENTER
  Locked locked;
  Device* of = device(dev);
  if (pctx == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (of == nullptr) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  int mode = attribute(*of, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
  if (mode == CU_COMPUTEMODE_PROHIBITED ||
      (mode == CU_COMPUTEMODE_EXCLUSIVE_PROCESS && of->taken)) {
    return CUDA_ERROR_DEVICE_UNAVAILABLE;
  }
  if (int lost = of->lost) {
    return static_cast<CUresult>(lost);
  }
  of->context.retained++;
  of->context.active = true;
  *pctx = handle(&of->context);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
  ENTER
  Device* of;
  {
    Locked locked;
    of = device(dev);
    if (of == nullptr) {
      return CUDA_ERROR_INVALID_DEVICE;
    }
    if (of->context.retained == 0) {
      violation("cuDevicePrimaryCtxRelease_v2: the context of device %d is not retained", dev);
      return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (--of->context.retained > 0) {
      return CUDA_SUCCESS;
    }
  }
  end_context(of->context);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxCreate_v2(CUcontext* pctx, unsigned int flags, CUdevice dev) {
  ENTER
  Locked locked;
  Device* of = device(dev);
  if (pctx == nullptr || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (of == nullptr) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  if (context_depth == kDeepest) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto* made = new Context;  // lives for ever: threads may keep it current
  made->device = of;
  made->active = true;
  machine().contexts.insert(made);
  context_stack[context_depth++] = made;
  *pctx = handle(made);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxDestroy_v2(CUcontext ctx) {
  ENTER
  auto* context = reinterpret_cast<Context*>(ctx);
  {
    Locked locked;
    if (machine().contexts.erase(context) == 0) {
      violation("%s: %p is no context that cuCtxCreate made, or a destroyed one", __func__,
                static_cast<void*>(ctx));
      return CUDA_ERROR_INVALID_CONTEXT;
    }
  }
  end_context(*context);
  if (current_context() == context) {
    context_depth--;
  }
  return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSetCurrent(CUcontext ctx) {
  ENTER
  Context* context;
  if (CUresult error = context_of(ctx, context)) {
    return error;
  }
  if (context_depth > 0) {
    context_depth--;
  }
  if (context != nullptr) {
    context_stack[context_depth++] = context;
  }
  return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetCurrent(CUcontext* pctx) {
  ENTER
  if (pctx == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pctx = handle(current_context());
  return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxPushCurrent_v2(CUcontext ctx) {
  ENTER
  Context* context;
  if (CUresult error = context_of(ctx, context)) {
    return error;
  }
  if (context == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (context_depth == kDeepest) {
    violation("cuCtxPushCurrent_v2: %d contexts are pushed and none popped", kDeepest);
    return CUDA_ERROR_INVALID_VALUE;
  }
  context_stack[context_depth++] = context;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxPopCurrent_v2(CUcontext* pctx) {
  ENTER
  if (context_depth == 0) {
    violation("%s: no context is current on this thread; one was pushed on another", __func__);
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  context_depth--;
  if (pctx != nullptr) {
    *pctx = handle(context_stack[context_depth]);
  }
  return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetDevice(CUdevice* device) {
  ENTER_CONTEXT
  if (device == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *device = context->device->ordinal;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSynchronize(void) {
  ENTER_CONTEXT
  return wait_for(context);
}

EXPORT CUresult cuCtxGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  ENTER_CONTEXT
  if (leastPriority != nullptr) {
    *leastPriority = kLeastPriority;
  }
  if (greatestPriority != nullptr) {
    *greatestPriority = kGreatestPriority;
  }
  return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags) {
  ENTER_CONTEXT
  Context* peer;
  if (CUresult error = context_of(peerContext, peer)) {
    return error;
  }
  if (Flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (peer == nullptr || peer == context) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  Locked locked;
  if (context->device->reachable.count(peer->device->ordinal) == 0) {
    return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  }
  return context->peers.insert(peer).second ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

EXPORT CUresult cuCtxDisablePeerAccess(CUcontext peerContext) {
  ENTER_CONTEXT
  Context* peer;
  if (CUresult error = context_of(peerContext, peer)) {
    return error;
  }
  Locked locked;
  return context->peers.erase(peer) == 1 ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}
