// Types of the Objective-C runtime, Foundation and Metal that messages carry.
#pragma once

#include <cstddef>
#include <cstdint>

#include "export.h"
#include "metal_constants.h"  // made from the table of constants

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
