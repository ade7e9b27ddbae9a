// cuMemcpyBatchAsync, which programs get by cuGetProcAddress alone.
#pragma once

#include <cstddef>

#include "driver_api.h"

namespace sim {

// CUmemcpyAttributes, which cuda.h has from 12.8 on.
struct CopyAttributes {
  unsigned source_order;
  CUmemLocation source_hint;
  CUmemLocation destination_hint;
  unsigned flags;
};

// CUmemcpySrcAccessOrder.
enum SourceOrder : unsigned { kStream = 1, kDuringCall = 2, kAny = 3 };

// CUmemcpyFlags: all that are known.
constexpr unsigned kPreferOverlap = 1;

#if defined TIDEPOOL_CUDA_HEADER && CUDA_VERSION >= 12080
static_assert(sizeof(CopyAttributes) == sizeof(CUmemcpyAttributes));
static_assert(offsetof(CopyAttributes, flags) == offsetof(CUmemcpyAttributes, flags));
static_assert(unsigned{kStream} == unsigned{CU_MEMCPY_SRC_ACCESS_ORDER_STREAM});
static_assert(unsigned{kDuringCall} == unsigned{CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL});
static_assert(unsigned{kAny} == unsigned{CU_MEMCPY_SRC_ACCESS_ORDER_ANY});
static_assert(kPreferOverlap == unsigned{CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE});
#endif

// Of CUDA 12.8.
CUresult cuMemcpyBatchAsync(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                            CopyAttributes* attrs, size_t* attrsIdxs, size_t numAttrs,
                            size_t* failIdx, CUstream hStream);

// Of CUDA 13.0.
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                               CopyAttributes* attrs, size_t* attrsIdxs, size_t numAttrs,
                               CUstream hStream);

}  // namespace sim
