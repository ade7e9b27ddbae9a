// The driver's types: from its own header where that is present, so that no signature can drift
// (a definition that differs from its declaration there does not compile), else from ours.
#pragma once

#ifdef TIDEPOOL_CUDA_HEADER
// Declares every version of a function under the name that the library exports.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#if CUDA_VERSION < 12020
#error "cuda.h is older than 12.2: it lacks functions that are served here"
#endif
#else
#include "cuda_abi.h"
#endif

#include "export.h"
