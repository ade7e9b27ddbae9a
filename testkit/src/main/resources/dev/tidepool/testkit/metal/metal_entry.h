// How the simulated Metal calls a kernel: included before each source, after the prelude.
#pragma once

#include <type_traits>
#include <utility>

#include "metal_constants.h"
#include "metal_kernel_abi.h"

namespace tidepool_metal {

inline thread_local tidepool_place* here;

// A coroutine may come back to find another one's place.
inline void barrier() {
  tidepool_place* mine = here;
  mine->barrier();
  here = mine;
}

// The MTLDataType of a type.
template <class T>
constexpr unsigned data_type = MTLDataTypeStruct;
template <>
inline constexpr unsigned data_type<float> = MTLDataTypeFloat;
template <>
inline constexpr unsigned data_type<float2> = MTLDataTypeFloat2;
template <>
inline constexpr unsigned data_type<float3> = MTLDataTypeFloat3;
template <>
inline constexpr unsigned data_type<float4> = MTLDataTypeFloat4;
template <>
inline constexpr unsigned data_type<half> = MTLDataTypeHalf;
template <>
inline constexpr unsigned data_type<int> = MTLDataTypeInt;
template <>
inline constexpr unsigned data_type<int2> = MTLDataTypeInt2;
template <>
inline constexpr unsigned data_type<int3> = MTLDataTypeInt3;
template <>
inline constexpr unsigned data_type<int4> = MTLDataTypeInt4;
template <>
inline constexpr unsigned data_type<metal::atomic_int> = MTLDataTypeInt;
template <>
inline constexpr unsigned data_type<uint> = MTLDataTypeUInt;
template <>
inline constexpr unsigned data_type<uint2> = MTLDataTypeUInt2;
template <>
inline constexpr unsigned data_type<uint3> = MTLDataTypeUInt3;
template <>
inline constexpr unsigned data_type<uint4> = MTLDataTypeUInt4;
template <>
inline constexpr unsigned data_type<metal::atomic_uint> = MTLDataTypeUInt;
template <>
inline constexpr unsigned data_type<short> = MTLDataTypeShort;
template <>
inline constexpr unsigned data_type<ushort> = MTLDataTypeUShort;
template <>
inline constexpr unsigned data_type<char> = MTLDataTypeChar;
template <>
inline constexpr unsigned data_type<uchar> = MTLDataTypeUChar;
template <>
inline constexpr unsigned data_type<bool> = MTLDataTypeBool;
template <>
inline constexpr unsigned data_type<long> = MTLDataTypeLong;
template <>
inline constexpr unsigned data_type<ulong> = MTLDataTypeULong;

template <class T>
constexpr unsigned size_of() {
  if constexpr (std::is_void_v<T>) {
    return 1;
  } else {
    return sizeof(T);
  }
}

template <class T>
constexpr unsigned alignment_of() {
  if constexpr (std::is_void_v<T>) {
    return 1;
  } else {
    return alignof(T);
  }
}

template <class P>
constexpr tidepool_parameter parameter() {
  using Bare = std::remove_cv_t<std::remove_pointer_t<std::remove_reference_t<P>>>;
  return {size_of<Bare>(), alignment_of<Bare>(), data_type<Bare>, std::is_reference_v<P>};
}

inline unsigned index_in_group(const tidepool_place& place) {
  return (place.thread.z * place.block_size.y + place.thread.y) * place.block_size.x + place.thread.x;
}

// What a parameter that is no memory is given.
inline tidepool_index value_of(tidepool_binding_kind kind, const tidepool_place& p) {
  switch (kind) {
    case TIDEPOOL_THREAD_POSITION_IN_GRID:
      return {p.block.x * p.launched_size.x + p.thread.x, p.block.y * p.launched_size.y + p.thread.y,
              p.block.z * p.launched_size.z + p.thread.z};
    case TIDEPOOL_THREAD_POSITION_IN_THREADGROUP: return p.thread;
    case TIDEPOOL_THREAD_INDEX_IN_THREADGROUP: return {index_in_group(p), 0, 0};
    case TIDEPOOL_THREADGROUP_POSITION_IN_GRID: return p.block;
    case TIDEPOOL_THREADS_PER_THREADGROUP: return p.block_size;
    case TIDEPOOL_DISPATCH_THREADS_PER_THREADGROUP: return p.launched_size;
    case TIDEPOOL_THREADGROUPS_PER_GRID: return p.grid_size;
    case TIDEPOOL_THREADS_PER_GRID: return p.extent;
    case TIDEPOOL_THREAD_EXECUTION_WIDTH: return {TIDEPOOL_SIMD_WIDTH, 0, 0};
    case TIDEPOOL_SIMDGROUP_INDEX_IN_THREADGROUP: return {index_in_group(p) / TIDEPOOL_SIMD_WIDTH, 0, 0};
    case TIDEPOOL_THREAD_INDEX_IN_SIMDGROUP: return {index_in_group(p) % TIDEPOOL_SIMD_WIDTH, 0, 0};
    default: return {0, 0, 0};
  }
}

template <class P>
P argument(const tidepool_binding& binding, void* value, tidepool_place* place) {
  if constexpr (std::is_pointer_v<P> || std::is_reference_v<P>) {
    // The value of threadgroup memory is its offset.
    void* address = binding.kind == TIDEPOOL_THREADGROUP_MEMORY
                        ? static_cast<char*>(place->shared) + reinterpret_cast<unsigned long>(value)
                        : value;
    if constexpr (std::is_pointer_v<P>) {
      return static_cast<P>(address);
    } else {
      return *static_cast<std::remove_reference_t<P>*>(address);
    }
  } else {
    tidepool_index index = value_of(binding.kind, *place);
    if constexpr (std::is_integral_v<P>) {
      return static_cast<P>(index.x);
    } else {
      return P::of(index.x, index.y, index.z);
    }
  }
}

template <auto kernel, const tidepool_binding* bindings, class Type = decltype(kernel)>
struct Entry;

template <auto kernel, const tidepool_binding* bindings, class... Parameters>
struct Entry<kernel, bindings, void (*)(Parameters...)> {
  static constexpr unsigned sizes[] = {0};
  static constexpr tidepool_content contents[] = {kTidepoolNumber};  // nothing is moved here
  static constexpr tidepool_parameter types[] = {parameter<Parameters>()..., {}};

  template <unsigned long... I>
  static void call(void** arguments, tidepool_place* place, std::index_sequence<I...>) {
    (void)arguments;
    kernel(argument<Parameters>(bindings[I], arguments[I], place)...);
  }

  static void thread(void** arguments, tidepool_place* place) {
    here = place;
    call(arguments, place, std::index_sequence_for<Parameters...>());
  }

  static void block(void** arguments, tidepool_place* place) {
    here = place;
    for (unsigned z = 0; z < place->block_size.z; z++) {
      for (unsigned y = 0; y < place->block_size.y; y++) {
        for (unsigned x = 0; x < place->block_size.x; x++) {
          place->thread = {x, y, z};
          call(arguments, place, std::index_sequence_for<Parameters...>());
        }
      }
    }
  }

  static constexpr tidepool_metal_kernel of(const char* name, bool barriers, unsigned most_threads,
                                            unsigned group_bytes) {
    return {{name, sizeof...(Parameters), sizes, contents, barriers, thread, block},
            bindings,
            types,
            most_threads,
            group_bytes};
  }
};

}  // namespace tidepool_metal

namespace metal {
enum class mem_flags : uint {
  mem_none = 0,
  mem_device = 1,
  mem_threadgroup = 2,
  mem_texture = 4,
};
constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(uint(a) | uint(b)); }
inline void threadgroup_barrier(mem_flags) { tidepool_metal::barrier(); }
inline void atomic_thread_fence(mem_flags, memory_order) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
}  // namespace metal

// Words of the language: address spaces, which the host's compiler does not have, and the mark of a kernel.
// Variables in threadgroup memory are marked otherwise before a source is compiled.
#define kernel
#define device
#define thread
#define threadgroup
#define constant const
#define TIDEPOOL_GROUP_VARIABLE static thread_local
