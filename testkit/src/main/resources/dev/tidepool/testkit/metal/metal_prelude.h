// Metal's language for the host's compiler: scalar and vector types, and what of the standard library
// kernels here may use. It includes nothing, so that no name of the host's C library is in the way.
//
// Functions that the language's specification gives an error of more than 0 ulp are off by up to that
// error, by an amount that depends on the argument. A program that needs more has to compute it itself.
//
// TIDEPOOL_FUNCTIONS is precise or fast: which namespace plain names stand for.
#pragma once

using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long;
using half = _Float16;
using size_t = unsigned long;
using ptrdiff_t = long;

#define NAN __builtin_nanf("")
#define INFINITY __builtin_inff()
#define HUGE_VALF __builtin_huge_valf()
#define MAXFLOAT 0x1.fffffep+127f
#define FLT_MAX 0x1.fffffep+127f
#define FLT_MIN 0x1p-126f
#define FLT_EPSILON 0x1p-23f
#define HALF_MAX half(65504)
#define CHAR_BIT 8
#define CHAR_MAX 127
#define CHAR_MIN (-128)
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295U
#define LONG_MAX 9223372036854775807L
#define LONG_MIN (-9223372036854775807L - 1)
#define ULONG_MAX 18446744073709551615UL
#define M_PI_F 3.14159265358979323846f
#define M_E_F 2.71828182845904523536f
#define __METAL_VERSION__ 300
#define __METAL__ 1

template <class To, class From>
constexpr To as_type(From from) {
  static_assert(sizeof(To) == sizeof(From), "as_type needs types of one size");
  return __builtin_bit_cast(To, from);
}

template <class T>
struct alignas(2 * sizeof(T)) tidepool_vector2 {
  T x, y;
  tidepool_vector2() = default;
  constexpr tidepool_vector2(T all) : x(all), y(all) {}
  constexpr tidepool_vector2(T x, T y) : x(x), y(y) {}
  template <class U>
  constexpr explicit tidepool_vector2(tidepool_vector2<U> other)
      : x(static_cast<T>(other.x)), y(static_cast<T>(other.y)) {}
  static constexpr tidepool_vector2 of(uint x, uint y, uint z) {
    (void)z;
    return {static_cast<T>(x), static_cast<T>(y)};
  }
  constexpr T& operator[](uint i) { return (&x)[i]; }
  constexpr T operator[](uint i) const { return (&x)[i]; }
  constexpr tidepool_vector2 operator-() const { return {static_cast<T>(-x), static_cast<T>(-y)}; }
  friend constexpr tidepool_vector2 operator+(tidepool_vector2 a, tidepool_vector2 b) {
    return {static_cast<T>(a.x + b.x), static_cast<T>(a.y + b.y)};
  }
  constexpr tidepool_vector2& operator+=(tidepool_vector2 b) { return *this = *this + b; }
  friend constexpr tidepool_vector2 operator-(tidepool_vector2 a, tidepool_vector2 b) {
    return {static_cast<T>(a.x - b.x), static_cast<T>(a.y - b.y)};
  }
  constexpr tidepool_vector2& operator-=(tidepool_vector2 b) { return *this = *this - b; }
  friend constexpr tidepool_vector2 operator*(tidepool_vector2 a, tidepool_vector2 b) {
    return {static_cast<T>(a.x * b.x), static_cast<T>(a.y * b.y)};
  }
  constexpr tidepool_vector2& operator*=(tidepool_vector2 b) { return *this = *this * b; }
  friend constexpr tidepool_vector2 operator/(tidepool_vector2 a, tidepool_vector2 b) {
    return {static_cast<T>(a.x / b.x), static_cast<T>(a.y / b.y)};
  }
  constexpr tidepool_vector2& operator/=(tidepool_vector2 b) { return *this = *this / b; }
};
template <class T>
struct alignas(4 * sizeof(T)) tidepool_vector3 {
  T x, y, z;
  tidepool_vector3() = default;
  constexpr tidepool_vector3(T all) : x(all), y(all), z(all) {}
  constexpr tidepool_vector3(T x, T y, T z) : x(x), y(y), z(z) {}
  template <class U>
  constexpr explicit tidepool_vector3(tidepool_vector3<U> other)
      : x(static_cast<T>(other.x)), y(static_cast<T>(other.y)), z(static_cast<T>(other.z)) {}
  static constexpr tidepool_vector3 of(uint x, uint y, uint z) {
    (void)z;
    return {static_cast<T>(x), static_cast<T>(y), static_cast<T>(z)};
  }
  constexpr T& operator[](uint i) { return (&x)[i]; }
  constexpr T operator[](uint i) const { return (&x)[i]; }
  constexpr tidepool_vector3 operator-() const {
    return {static_cast<T>(-x), static_cast<T>(-y), static_cast<T>(-z)};
  }
  friend constexpr tidepool_vector3 operator+(tidepool_vector3 a, tidepool_vector3 b) {
    return {static_cast<T>(a.x + b.x), static_cast<T>(a.y + b.y), static_cast<T>(a.z + b.z)};
  }
  constexpr tidepool_vector3& operator+=(tidepool_vector3 b) { return *this = *this + b; }
  friend constexpr tidepool_vector3 operator-(tidepool_vector3 a, tidepool_vector3 b) {
    return {static_cast<T>(a.x - b.x), static_cast<T>(a.y - b.y), static_cast<T>(a.z - b.z)};
  }
  constexpr tidepool_vector3& operator-=(tidepool_vector3 b) { return *this = *this - b; }
  friend constexpr tidepool_vector3 operator*(tidepool_vector3 a, tidepool_vector3 b) {
    return {static_cast<T>(a.x * b.x), static_cast<T>(a.y * b.y), static_cast<T>(a.z * b.z)};
  }
  constexpr tidepool_vector3& operator*=(tidepool_vector3 b) { return *this = *this * b; }
  friend constexpr tidepool_vector3 operator/(tidepool_vector3 a, tidepool_vector3 b) {
    return {static_cast<T>(a.x / b.x), static_cast<T>(a.y / b.y), static_cast<T>(a.z / b.z)};
  }
  constexpr tidepool_vector3& operator/=(tidepool_vector3 b) { return *this = *this / b; }
};
template <class T>
struct alignas(4 * sizeof(T)) tidepool_vector4 {
  T x, y, z, w;
  tidepool_vector4() = default;
  constexpr tidepool_vector4(T all) : x(all), y(all), z(all), w(all) {}
  constexpr tidepool_vector4(T x, T y, T z, T w) : x(x), y(y), z(z), w(w) {}
  template <class U>
  constexpr explicit tidepool_vector4(tidepool_vector4<U> other)
      : x(static_cast<T>(other.x)),
        y(static_cast<T>(other.y)),
        z(static_cast<T>(other.z)),
        w(static_cast<T>(other.w)) {}
  static constexpr tidepool_vector4 of(uint x, uint y, uint z) {
    (void)z;
    return {static_cast<T>(x), static_cast<T>(y), static_cast<T>(z), static_cast<T>(0)};
  }
  constexpr T& operator[](uint i) { return (&x)[i]; }
  constexpr T operator[](uint i) const { return (&x)[i]; }
  constexpr tidepool_vector4 operator-() const {
    return {static_cast<T>(-x), static_cast<T>(-y), static_cast<T>(-z), static_cast<T>(-w)};
  }
  friend constexpr tidepool_vector4 operator+(tidepool_vector4 a, tidepool_vector4 b) {
    return {static_cast<T>(a.x + b.x), static_cast<T>(a.y + b.y), static_cast<T>(a.z + b.z),
            static_cast<T>(a.w + b.w)};
  }
  constexpr tidepool_vector4& operator+=(tidepool_vector4 b) { return *this = *this + b; }
  friend constexpr tidepool_vector4 operator-(tidepool_vector4 a, tidepool_vector4 b) {
    return {static_cast<T>(a.x - b.x), static_cast<T>(a.y - b.y), static_cast<T>(a.z - b.z),
            static_cast<T>(a.w - b.w)};
  }
  constexpr tidepool_vector4& operator-=(tidepool_vector4 b) { return *this = *this - b; }
  friend constexpr tidepool_vector4 operator*(tidepool_vector4 a, tidepool_vector4 b) {
    return {static_cast<T>(a.x * b.x), static_cast<T>(a.y * b.y), static_cast<T>(a.z * b.z),
            static_cast<T>(a.w * b.w)};
  }
  constexpr tidepool_vector4& operator*=(tidepool_vector4 b) { return *this = *this * b; }
  friend constexpr tidepool_vector4 operator/(tidepool_vector4 a, tidepool_vector4 b) {
    return {static_cast<T>(a.x / b.x), static_cast<T>(a.y / b.y), static_cast<T>(a.z / b.z),
            static_cast<T>(a.w / b.w)};
  }
  constexpr tidepool_vector4& operator/=(tidepool_vector4 b) { return *this = *this / b; }
};
using float2 = tidepool_vector2<float>;
using float3 = tidepool_vector3<float>;
using float4 = tidepool_vector4<float>;
using half2 = tidepool_vector2<half>;
using half3 = tidepool_vector3<half>;
using half4 = tidepool_vector4<half>;
using char2 = tidepool_vector2<char>;
using char3 = tidepool_vector3<char>;
using char4 = tidepool_vector4<char>;
using uchar2 = tidepool_vector2<uchar>;
using uchar3 = tidepool_vector3<uchar>;
using uchar4 = tidepool_vector4<uchar>;
using short2 = tidepool_vector2<short>;
using short3 = tidepool_vector3<short>;
using short4 = tidepool_vector4<short>;
using ushort2 = tidepool_vector2<ushort>;
using ushort3 = tidepool_vector3<ushort>;
using ushort4 = tidepool_vector4<ushort>;
using int2 = tidepool_vector2<int>;
using int3 = tidepool_vector3<int>;
using int4 = tidepool_vector4<int>;
using uint2 = tidepool_vector2<uint>;
using uint3 = tidepool_vector3<uint>;
using uint4 = tidepool_vector4<uint>;
using long2 = tidepool_vector2<long>;
using long3 = tidepool_vector3<long>;
using long4 = tidepool_vector4<long>;
using ulong2 = tidepool_vector2<ulong>;
using ulong3 = tidepool_vector3<ulong>;
using ulong4 = tidepool_vector4<ulong>;

// Moves a result by up to so many units in the last place, as the argument's bits have it.
inline float tidepool_off(float exact, int ulps, float argument) {
  uint bits = as_type<uint>(exact);
  uint exponent = bits >> 23 & 0xFF;
  if (exponent < 2 || exponent > 253) {
    return exact;
  }
  uint mixed = (as_type<uint>(argument) ^ 0x9E3779B9U) * 0x85EBCA6BU;
  int move = static_cast<int>((mixed >> 8) % static_cast<uint>(2 * ulps + 1)) - ulps;
  return as_type<float>(bits + static_cast<uint>(move));
}

namespace metal {

constexpr int tidepool_fast_ulps = 512;

#define TIDEPOOL_EXACT(name, function)               \
  namespace precise {                                \
  inline float name(float x) { return function(x); } \
  }                                                  \
  namespace fast {                                   \
  inline float name(float x) { return function(x); } \
  }                                                  \
  inline float name(float x) { return function(x); } \
  inline half name(half x) { return static_cast<half>(function(static_cast<float>(x))); }
TIDEPOOL_EXACT(fabs, __builtin_fabsf)
TIDEPOOL_EXACT(abs, __builtin_fabsf)
TIDEPOOL_EXACT(ceil, __builtin_ceilf)
TIDEPOOL_EXACT(floor, __builtin_floorf)
TIDEPOOL_EXACT(rint, __builtin_rintf)
TIDEPOOL_EXACT(round, __builtin_roundf)
TIDEPOOL_EXACT(trunc, __builtin_truncf)
inline float tidepool_rsqrt(float x) {
  return static_cast<float>(1 / __builtin_sqrt(static_cast<double>(x)));
}
inline float tidepool_fract(float x) { return __builtin_fminf(x - __builtin_floorf(x), 0x1.fffffep-1f); }
TIDEPOOL_EXACT(fract, tidepool_fract)
#undef TIDEPOOL_EXACT

// Exact where functions are precise; the fast ones are not.
#define TIDEPOOL_ROOT(name, function)                                                     \
  namespace precise {                                                                     \
  inline float name(float x) { return function(x); }                                      \
  }                                                                                       \
  namespace fast {                                                                        \
  inline float name(float x) { return tidepool_off(function(x), tidepool_fast_ulps, x); } \
  }                                                                                       \
  inline float name(float x) { return TIDEPOOL_FUNCTIONS::name(x); }                      \
  inline half name(half x) { return static_cast<half>(function(static_cast<float>(x))); }
TIDEPOOL_ROOT(sqrt, __builtin_sqrtf)
TIDEPOOL_ROOT(rsqrt, tidepool_rsqrt)
#undef TIDEPOOL_ROOT

// Within so many units in the last place, the precise ones; the fast ones are worse.
#define TIDEPOOL_WITHIN(name, function, ulps)                                                         \
  namespace precise {                                                                                 \
  inline float name(float x) {                                                                        \
    return tidepool_off(static_cast<float>(function(static_cast<double>(x))), ulps, x);               \
  }                                                                                                   \
  }                                                                                                   \
  namespace fast {                                                                                    \
  inline float name(float x) {                                                                        \
    return tidepool_off(static_cast<float>(function(static_cast<double>(x))), tidepool_fast_ulps, x); \
  }                                                                                                   \
  }                                                                                                   \
  inline float name(float x) { return TIDEPOOL_FUNCTIONS::name(x); }                                  \
  inline half name(half x) { return static_cast<half>(precise::name(static_cast<float>(x))); }
inline double tidepool_pi_times(double x) { return x * 3.14159265358979323846; }
inline double tidepool_sinpi(double x) {
  double rest = __builtin_fmod(x, 2);
  return rest == 0 || rest == 1 || rest == -1 ? 0 * x : __builtin_sin(tidepool_pi_times(rest));
}
inline double tidepool_cospi(double x) {
  double rest = __builtin_fabs(__builtin_fmod(x, 2));
  return rest == 0.5 || rest == 1.5 ? 0 : __builtin_cos(tidepool_pi_times(rest));
}
inline double tidepool_tanpi(double x) { return tidepool_sinpi(x) / tidepool_cospi(x); }
TIDEPOOL_WITHIN(acos, __builtin_acos, 4)
TIDEPOOL_WITHIN(acosh, __builtin_acosh, 4)
TIDEPOOL_WITHIN(asin, __builtin_asin, 4)
TIDEPOOL_WITHIN(asinh, __builtin_asinh, 4)
TIDEPOOL_WITHIN(atan, __builtin_atan, 5)
TIDEPOOL_WITHIN(atanh, __builtin_atanh, 5)
TIDEPOOL_WITHIN(cos, __builtin_cos, 4)
TIDEPOOL_WITHIN(cosh, __builtin_cosh, 4)
TIDEPOOL_WITHIN(exp, __builtin_exp, 4)
TIDEPOOL_WITHIN(exp2, __builtin_exp2, 4)
TIDEPOOL_WITHIN(exp10, __builtin_exp10, 4)
TIDEPOOL_WITHIN(log, __builtin_log, 4)
TIDEPOOL_WITHIN(log2, __builtin_log2, 4)
TIDEPOOL_WITHIN(log10, __builtin_log10, 4)
TIDEPOOL_WITHIN(sin, __builtin_sin, 4)
TIDEPOOL_WITHIN(sinh, __builtin_sinh, 4)
TIDEPOOL_WITHIN(tan, __builtin_tan, 6)
TIDEPOOL_WITHIN(tanh, __builtin_tanh, 5)
TIDEPOOL_WITHIN(sinpi, tidepool_sinpi, 4)
TIDEPOOL_WITHIN(cospi, tidepool_cospi, 4)
TIDEPOOL_WITHIN(tanpi, tidepool_tanpi, 6)
#undef TIDEPOOL_WITHIN
#define TIDEPOOL_WITHIN(name, function, ulps)                                                               \
  namespace precise {                                                                                       \
  inline float name(float x, float y) {                                                                     \
    return tidepool_off(static_cast<float>(function(static_cast<double>(x), static_cast<double>(y))), ulps, \
                        x + y);                                                                             \
  }                                                                                                         \
  }                                                                                                         \
  namespace fast {                                                                                          \
  inline float name(float x, float y) {                                                                     \
    return tidepool_off(static_cast<float>(function(static_cast<double>(x), static_cast<double>(y))),       \
                        tidepool_fast_ulps, x + y);                                                         \
  }                                                                                                         \
  }                                                                                                         \
  inline float name(float x, float y) { return TIDEPOOL_FUNCTIONS::name(x, y); }
TIDEPOOL_WITHIN(atan2, __builtin_atan2, 6)
TIDEPOOL_WITHIN(pow, __builtin_pow, 16)
TIDEPOOL_WITHIN(powr, __builtin_pow, 16)
#undef TIDEPOOL_WITHIN

inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline half fma(half a, half b, half c) {
  return static_cast<half>(static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c));
}
inline float fmod(float x, float y) { return __builtin_fmodf(x, y); }
inline float fmin(float a, float b) { return __builtin_fminf(a, b); }
inline float fmax(float a, float b) { return __builtin_fmaxf(a, b); }
inline float min(float a, float b) { return __builtin_fminf(a, b); }
inline float max(float a, float b) { return __builtin_fmaxf(a, b); }
inline half min(half a, half b) { return b < a ? b : a; }
inline half max(half a, half b) { return a < b ? b : a; }
inline float fdim(float a, float b) { return __builtin_fdimf(a, b); }
inline float copysign(float a, float b) { return __builtin_copysignf(a, b); }
inline float ldexp(float x, int n) { return __builtin_ldexpf(x, n); }
inline float frexp(float x, int& exponent) { return __builtin_frexpf(x, &exponent); }
inline float modf(float x, float& whole) { return __builtin_modff(x, &whole); }
inline int ilogb(float x) { return __builtin_ilogbf(x); }
inline float nextafter(float a, float b) { return __builtin_nextafterf(a, b); }
inline float clamp(float x, float least, float most) {
  return __builtin_fminf(__builtin_fmaxf(x, least), most);
}
inline float saturate(float x) { return clamp(x, 0.0f, 1.0f); }
inline float mix(float a, float b, float t) { return a + (b - a) * t; }
inline float sign(float x) { return x > 0 ? 1.0f : x < 0 ? -1.0f : x == 0 ? x : 0.0f; }
inline float step(float edge, float x) { return x < edge ? 0.0f : 1.0f; }
inline float smoothstep(float a, float b, float x) {
  float t = saturate((x - a) / (b - a));
  return t * t * (3 - 2 * t);
}

inline bool isnan(float x) { return __builtin_isnan(x); }
inline bool isinf(float x) { return __builtin_isinf(x); }
inline bool isfinite(float x) { return __builtin_isfinite(x); }
inline bool isnormal(float x) { return __builtin_isnormal(x); }
inline bool isnan(half x) { return __builtin_isnan(static_cast<float>(x)); }
inline bool isinf(half x) { return __builtin_isinf(static_cast<float>(x)); }
inline bool isfinite(half x) { return __builtin_isfinite(static_cast<float>(x)); }
inline bool signbit(float x) { return as_type<uint>(x) >> 31 != 0; }
template <class T>
constexpr T select(T a, T b, bool second) {
  return second ? b : a;
}

#define TIDEPOOL_INTEGERS(T, U)                                                                              \
  constexpr T min(T a, T b) { return b < a ? b : a; }                                                        \
  constexpr T max(T a, T b) { return a < b ? b : a; }                                                        \
  constexpr T clamp(T x, T least, T most) { return min(max(x, least), most); }                               \
  constexpr U absdiff(T a, T b) {                                                                            \
    return a < b ? static_cast<U>(b) - static_cast<U>(a) : static_cast<U>(a) - static_cast<U>(b);            \
  }                                                                                                          \
  constexpr T popcount(T x) { return static_cast<T>(__builtin_popcountl(static_cast<U>(x))); }               \
  constexpr T clz(T x) {                                                                                     \
    return x == 0                                                                                            \
               ? 8 * sizeof(T)                                                                               \
               : static_cast<T>(__builtin_clzl(static_cast<U>(x)) - (64 - 8 * static_cast<int>(sizeof(T)))); \
  }                                                                                                          \
  constexpr T ctz(T x) {                                                                                     \
    return x == 0 ? 8 * sizeof(T) : static_cast<T>(__builtin_ctzl(static_cast<U>(x)));                       \
  }                                                                                                          \
  constexpr T mulhi(T a, T b) {                                                                              \
    return static_cast<T>((static_cast<__int128>(a) * static_cast<__int128>(b)) >> (8 * sizeof(T)));         \
  }                                                                                                          \
  constexpr T rotate(T x, T by) {                                                                            \
    constexpr U bits = 8 * sizeof(T);                                                                        \
    U left = static_cast<U>(by) % bits;                                                                      \
    return static_cast<T>(                                                                                   \
        left == 0 ? static_cast<U>(x)                                                                        \
                  : static_cast<U>(static_cast<U>(x) << left | static_cast<U>(x) >> (bits - left)));         \
  }
TIDEPOOL_INTEGERS(char, uchar)
TIDEPOOL_INTEGERS(uchar, uchar)
TIDEPOOL_INTEGERS(short, ushort)
TIDEPOOL_INTEGERS(ushort, ushort)
TIDEPOOL_INTEGERS(int, uint)
TIDEPOOL_INTEGERS(uint, uint)
TIDEPOOL_INTEGERS(long, ulong)
TIDEPOOL_INTEGERS(ulong, ulong)
#undef TIDEPOOL_INTEGERS
inline char abs(char x) { return static_cast<char>(x < 0 ? -x : x); }
inline short abs(short x) { return static_cast<short>(x < 0 ? -x : x); }
inline int abs(int x) { return x < 0 ? -x : x; }
inline long abs(long x) { return x < 0 ? -x : x; }

inline float dot(float2 a, float2 b) { return a.x * b.x + a.y * b.y; }
inline float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

// Only relaxed order, which all versions of the language have.
enum memory_order { memory_order_relaxed };

template <class T>
struct atomic {
  T value;
};
using atomic_int = atomic<int>;
using atomic_uint = atomic<uint>;
using atomic_bool = atomic<bool>;

template <class T>
inline T atomic_load_explicit(const volatile atomic<T>* object, memory_order) {
  T value;
  __atomic_load(&object->value, &value, __ATOMIC_RELAXED);
  return value;
}
template <class T, class V>
inline void atomic_store_explicit(volatile atomic<T>* object, V desired, memory_order) {
  T value = static_cast<T>(desired);
  __atomic_store(&object->value, &value, __ATOMIC_RELAXED);
}
template <class T, class V>
inline T atomic_exchange_explicit(volatile atomic<T>* object, V desired, memory_order) {
  T value = static_cast<T>(desired);
  T old;
  __atomic_exchange(&object->value, &value, &old, __ATOMIC_RELAXED);
  return old;
}
template <class T, class V>
inline bool atomic_compare_exchange_weak_explicit(volatile atomic<T>* object, T* expected, V desired,
                                                  memory_order, memory_order) {
  T value = static_cast<T>(desired);
  return __atomic_compare_exchange(&object->value, expected, &value, true, __ATOMIC_RELAXED,
                                   __ATOMIC_RELAXED);
}
template <class T, class Change>
inline T tidepool_atomically(volatile atomic<T>* object, Change change) {
  T old;
  __atomic_load(&object->value, &old, __ATOMIC_RELAXED);
  for (;;) {
    T next = change(old);
    if (__atomic_compare_exchange(&object->value, &old, &next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      return old;
    }
  }
}
#define TIDEPOOL_ATOMIC(name, expression)                                                \
  template <class T, class V>                                                            \
  inline T name(volatile atomic<T>* object, V operand, memory_order) {                   \
    T b = static_cast<T>(operand);                                                       \
    return tidepool_atomically(object, [=](T a) { return static_cast<T>(expression); }); \
  }
TIDEPOOL_ATOMIC(atomic_fetch_add_explicit, a + b)
TIDEPOOL_ATOMIC(atomic_fetch_sub_explicit, a - b)
TIDEPOOL_ATOMIC(atomic_fetch_and_explicit, a& b)
TIDEPOOL_ATOMIC(atomic_fetch_or_explicit, a | b)
TIDEPOOL_ATOMIC(atomic_fetch_xor_explicit, a ^ b)
TIDEPOOL_ATOMIC(atomic_fetch_min_explicit, b < a ? b : a)
TIDEPOOL_ATOMIC(atomic_fetch_max_explicit, a < b ? b : a)
#undef TIDEPOOL_ATOMIC

}  // namespace metal
