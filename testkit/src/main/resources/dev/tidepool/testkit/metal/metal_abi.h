// Types of the Objective-C runtime, Foundation and Metal that messages carry, and Metal's constants.
#pragma once

#include <cstddef>
#include <cstdint>

#include "export.h"

using id = struct objc_object*;
using Class = struct objc_class*;
using SEL = struct objc_selector*;
using IMP = void (*)();
using NSUInteger = unsigned long;
using NSInteger = long;

struct MTLSize {
  NSUInteger width, height, depth;
};
struct NSRange {
  NSUInteger location, length;
};
struct MTLSizeAndAlign {
  NSUInteger size, align;
};
struct NSOperatingSystemVersion {
  NSInteger major, minor, patch;
};

enum MTLStorageMode : NSUInteger { kStorageShared, kStorageManaged, kStoragePrivate, kStorageMemoryless };

enum MTLCommandBufferStatus : NSUInteger {
  kStatusNotEnqueued,
  kStatusEnqueued,
  kStatusCommitted,
  kStatusScheduled,
  kStatusCompleted,
  kStatusError,
};

enum MTLCommandBufferError : int {
  kErrorNone = 0,
  kErrorInternal = 1,
  kErrorTimeout = 2,
  kErrorPageFault = 3,
  kErrorAccessRevoked = 4,
  kErrorNotPermitted = 7,
  kErrorOutOfMemory = 8,
  kErrorInvalidResource = 9,
  kErrorDeviceRemoved = 11,
  kErrorStackOverflow = 12,
};

enum MTLLibraryError : NSInteger {
  kLibraryUnsupported = 1,
  kLibraryInternal = 2,
  kLibraryCompileFailure = 3,
};

enum MTLPipelineOption : NSUInteger { kOptionBindingInfo = 1, kOptionBufferTypeInfo = 2 };

enum MTLMathMode : NSInteger { kMathSafe, kMathRelaxed, kMathFast };
enum MTLMathFloatingPointFunctions : NSInteger { kFunctionsFast, kFunctionsPrecise };

constexpr NSUInteger kFunctionTypeKernel = 3;
constexpr NSUInteger kUTF8 = 4;
constexpr NSUInteger kLanguageVersion3_0 = 3 << 16;
constexpr NSUInteger kPurgeableNonVolatile = 2;
