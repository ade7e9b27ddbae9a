// CUDA C for the host's compiler: what a source of one's own may use, no more than that. Included before
// each source that the simulated compiler takes.
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kernel_abi.h"

namespace tidepool_sim {

inline thread_local tidepool_place* here;

// A coroutine may come back to find another one's place.
inline void barrier() {
  tidepool_place* mine = here;
  mine->barrier();
  here = mine;
}

template <class Parameter>
constexpr tidepool_content content = std::is_pointer_v<Parameter>      ? kTidepoolPointer
                                     : std::is_arithmetic_v<Parameter> ? kTidepoolNumber
                                                                       : kTidepoolStructure;

// What the driver has to know of a kernel, found from its type.
template <auto kernel, class Type = decltype(kernel)>
struct Entry;

template <auto kernel, class... Parameters>
struct Entry<kernel, void (*)(Parameters...)> {
  static constexpr unsigned sizes[] = {static_cast<unsigned>(sizeof(Parameters))..., 0};
  static constexpr tidepool_content contents[] = {content<Parameters>..., kTidepoolNumber};

  template <size_t... I>
  static void call(void** arguments, std::index_sequence<I...>) {
    (void)arguments;
    kernel(*static_cast<std::remove_cv_t<Parameters>*>(arguments[I])...);
  }

  static void thread(void** arguments, tidepool_place* place) {
    here = place;
    call(arguments, std::index_sequence_for<Parameters...>());
  }

  static void block(void** arguments, tidepool_place* place) {
    here = place;
    for (unsigned z = 0; z < place->block_size.z; z++) {
      for (unsigned y = 0; y < place->block_size.y; y++) {
        for (unsigned x = 0; x < place->block_size.x; x++) {
          place->thread = {x, y, z};
          call(arguments, std::index_sequence_for<Parameters...>());
        }
      }
    }
  }

  static constexpr tidepool_kernel of(const char* name, bool barriers) {
    return {name, sizeof...(Parameters), sizes, contents, barriers, thread, block};
  }
};

}  // namespace tidepool_sim

#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

struct alignas(16) uint4 {
  unsigned int x, y, z, w;
};
// The threads of a block share a host thread.
#define __shared__ static thread_local
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __CUDA_ARCH__ (10 * TIDEPOOL_ARCHITECTURE)

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};
#define threadIdx (tidepool_sim::here->thread)
#define blockIdx (tidepool_sim::here->block)
#define blockDim (tidepool_sim::here->block_size)
#define gridDim (tidepool_sim::here->grid_size)
constexpr int warpSize = 32;

inline void __syncthreads() { tidepool_sim::barrier(); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

#define TIDEPOOL_MIN_MAX(T)                                    \
  constexpr T min(T a, T b) { return b < a ? b : a; }          \
  constexpr T max(T a, T b) { return a < b ? b : a; }
TIDEPOOL_MIN_MAX(int)
TIDEPOOL_MIN_MAX(unsigned)
TIDEPOOL_MIN_MAX(long)
TIDEPOOL_MIN_MAX(unsigned long)
TIDEPOOL_MIN_MAX(long long)
TIDEPOOL_MIN_MAX(unsigned long long)
#undef TIDEPOOL_MIN_MAX
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

// The host's may be off by 3 units of the last place, CUDA's by 1.
template <class T>
inline auto tidepool_cbrt(T x) {
  if constexpr (std::is_same_v<T, float>) {
    return cbrtf(x);
  } else {
    return static_cast<double>(cbrtl(x));
  }
}
#define cbrt tidepool_cbrt

inline float rsqrtf(float x) { return 1 / sqrtf(x); }
inline double rsqrt(double x) { return 1 / sqrt(x); }
inline float exp10f(float x) { return powf(10, x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1 / a; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __dsqrt_rn(double a) { return sqrt(a); }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
// Through a volatile: never contracted to a fused multiply-add, whatever the options.
#define TIDEPOOL_ROUNDED(T, name, operation) \
  inline T name(T a, T b) {                  \
    volatile T result = a operation b;       \
    return result;                           \
  }
TIDEPOOL_ROUNDED(float, __fadd_rn, +)
TIDEPOOL_ROUNDED(float, __fsub_rn, -)
TIDEPOOL_ROUNDED(float, __fmul_rn, *)
TIDEPOOL_ROUNDED(double, __dadd_rn, +)
TIDEPOOL_ROUNDED(double, __dsub_rn, -)
TIDEPOOL_ROUNDED(double, __dmul_rn, *)
#undef TIDEPOOL_ROUNDED

template <class To, class From>
inline To tidepool_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "as many bits");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
inline int __float_as_int(float a) { return tidepool_bits<int>(a); }
inline unsigned __float_as_uint(float a) { return tidepool_bits<unsigned>(a); }
inline float __int_as_float(int a) { return tidepool_bits<float>(a); }
inline float __uint_as_float(unsigned a) { return tidepool_bits<float>(a); }
inline long long __double_as_longlong(double a) { return tidepool_bits<long long>(a); }
inline double __longlong_as_double(long long a) { return tidepool_bits<double>(a); }
inline int __clz(int a) { return a == 0 ? 32 : __builtin_clz(static_cast<unsigned>(a)); }
inline int __clzll(long long a) {
  return a == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(a));
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>((static_cast<__int128>(a) * b) >> 64);
}
inline int __popc(unsigned a) { return __builtin_popcount(a); }
inline int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
inline int __ffs(int a) { return __builtin_ffs(a); }

// Conversions to integers saturate, and a NaN is 0.
template <class To, class From>
inline To tidepool_saturated(From a) {
  constexpr int bits = static_cast<int>(8 * sizeof(To) - (std::is_signed_v<To> ? 1 : 0));
  if (a != a) {
    return 0;
  }
  if (a >= ldexp(From(1), bits)) {
    return static_cast<To>(~(std::is_signed_v<To> ? To(1) << bits : To(0)));
  }
  if (a <= (std::is_signed_v<To> ? -ldexp(From(1), bits) : From(0))) {
    return std::is_signed_v<To> ? static_cast<To>(static_cast<unsigned long long>(1) << bits) : To(0);
  }
  return static_cast<To>(a);
}
inline int __float2int_rz(float a) { return tidepool_saturated<int>(a); }
inline unsigned __float2uint_rz(float a) { return tidepool_saturated<unsigned>(a); }
inline long long __float2ll_rz(float a) { return tidepool_saturated<long long>(a); }
inline int __double2int_rz(double a) { return tidepool_saturated<int>(a); }
inline unsigned __double2uint_rz(double a) { return tidepool_saturated<unsigned>(a); }
inline long long __double2ll_rz(double a) { return tidepool_saturated<long long>(a); }
inline unsigned long long __double2ull_rz(double a) {
  return tidepool_saturated<unsigned long long>(a);
}

template <class T, class Change>
inline T tidepool_atomically(T* address, Change change) {
  T old;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  for (;;) {
    T next = change(old);
    if (__atomic_compare_exchange(address, &old, &next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      return old;
    }
  }
}
template <class T, class V>
inline T atomicAdd(T* address, V value) {
  return tidepool_atomically(address, [=](T old) { return static_cast<T>(old + static_cast<T>(value)); });
}
template <class T, class V>
inline T atomicMin(T* address, V value) {
  return tidepool_atomically(address, [=](T old) { return std::min(old, static_cast<T>(value)); });
}
template <class T, class V>
inline T atomicMax(T* address, V value) {
  return tidepool_atomically(address, [=](T old) { return std::max(old, static_cast<T>(value)); });
}
template <class T, class V>
inline T atomicExch(T* address, V value) {
  return tidepool_atomically(address, [=](T) { return static_cast<T>(value); });
}
template <class T, class V, class W>
inline T atomicCAS(T* address, V expected, W value) {
  return tidepool_atomically(
      address, [=](T old) { return old == static_cast<T>(expected) ? static_cast<T>(value) : old; });
}
