// Functions of floats for Metal, each within 2 ulp of the right value. Metal documents errors of 4 ulp and more for its own, and
// has no doubles to compute in. What is used here is exact there with fast math off: + - * / sqrt fma rint floor and casts.
//
// A line "//@ name: others" begins a function and names those that it calls. Programs get only what they call.

//@ tp_two_floats:
// A number as the unevaluated sum of two floats (T. J. Dekker, "A floating-point technique for extending the available
// precision", 1971).
struct tp_two_floats {
  float hi;
  float lo;
};

static inline tp_two_floats tp_two(float hi, float lo) {
  tp_two_floats r;
  r.hi = hi;
  r.lo = lo;
  return r;
}

// Exact if a is 0 or has no smaller exponent than b.
static inline tp_two_floats tp_quick_sum(float a, float b) {
  float s = a + b;
  return tp_two(s, b - (s - a));
}

static inline tp_two_floats tp_sum(float a, float b) {
  float s = a + b;
  float v = s - a;
  return tp_two(s, (a - (s - v)) + (b - v));
}

static inline tp_two_floats tp_product(float a, float b) {
  float p = a * b;
  return tp_two(p, fma(a, b, -p));
}

static inline tp_two_floats tp_multiply(tp_two_floats a, tp_two_floats b) {
  tp_two_floats p = tp_product(a.hi, b.hi);
  return tp_quick_sum(p.hi, p.lo + fma(a.hi, b.lo, a.lo * b.hi));
}

static inline tp_two_floats tp_quotient(tp_two_floats a, tp_two_floats b) {
  float q = a.hi / b.hi;
  float rest = fma(-q, b.hi, a.hi) + fma(-q, b.lo, a.lo);
  return tp_quick_sum(q, rest / b.hi);
}

//@ tp_power_of_two:
// v * 2^k; k is at least -300 and at most 300.
static inline float tp_power_of_two(float v, int k) {
  int first = k / 3;
  int last = k - 2 * first;
  float step = as_type<float>((first + 127) << 23);
  return v * step * step * as_type<float>((last + 127) << 23);
}

//@ tp_fmod:
// The remainder of the division that rounds to zero, exactly: by long division of the significands.
static inline float tp_fmod(float a, float b) {
  uint x = as_type<uint>(a) & 0x7fffffffu;
  uint y = as_type<uint>(b) & 0x7fffffffu;
  uint sign = as_type<uint>(a) & 0x80000000u;
  if (x >= 0x7f800000u || y == 0 || y > 0x7f800000u) {
    return NAN;
  }
  if (x < y) {
    return a;
  }
  int ex = (int)(x >> 23);
  int ey = (int)(y >> 23);
  ulong mx = ex == 0 ? x : ((x & 0x7fffffu) | 0x800000u);
  ulong my = ey == 0 ? y : ((y & 0x7fffffu) | 0x800000u);
  ex = ex == 0 ? 1 : ex;
  ey = ey == 0 ? 1 : ey;
  int shift = ex - ey;
  mx %= my;
  while (shift > 0) {
    int step = shift < 40 ? shift : 40;
    mx = (mx << step) % my;
    shift -= step;
  }
  uint m = (uint)mx;
  while (m != 0 && m < 0x800000u && ey > 1) {
    m <<= 1;
    ey--;
  }
  uint bits = m < 0x800000u ? m : ((uint)ey << 23) + (m - 0x800000u);
  return as_type<float>(sign | bits);
}

//@ tp_exp_reduced: tp_power_of_two
// e^(r + s) * 2^k for |r| <= 0.36 and a tiny s.
static inline float tp_exp_reduced(float r, float s, int k) {
  float q = 0x1.a035800000000p-13f;
  q = fma(q, r, 0x1.6d78ee0000000p-10f);
  q = fma(q, r, 0x1.11118c0000000p-7f);
  q = fma(q, r, 0x1.5554aa0000000p-5f);
  q = fma(q, r, 0x1.5555540000000p-3f);
  q = fma(q, r, 0.5f);
  return tp_power_of_two(1.0f + (r + fma(r * r, q, fma(s, r, s))), k);
}

//@ tp_exp: tp_exp_reduced
static inline float tp_exp(float x) {
  if (x != x) {
    return x;
  }
  if (x > 89.0f) {
    return INFINITY;
  }
  if (x < -105.0f) {
    return 0.0f;
  }
  float k = rint(x * 0x1.715476p+0f);
  float t = fma(k, -0x1.63p-1f, x);
  float low = k * 0x1.bd0106p-13f;
  float r = t + low;
  return tp_exp_reduced(r, (t - r) + low, (int)k);
}

//@ tp_exp2: tp_exp_reduced
static inline float tp_exp2(float x) {
  if (x != x) {
    return x;
  }
  if (x >= 128.0f) {
    return INFINITY;
  }
  if (x < -151.0f) {
    return 0.0f;
  }
  float k = rint(x);
  float f = x - k;
  float r = f * 0x1.62e43p-1f;
  return tp_exp_reduced(r, fma(f, 0x1.62e43p-1f, -r) + f * -0x1.05c61p-29f, (int)k);
}

//@ tp_expm1: tp_exp tp_two_floats
static inline float tp_expm1(float x) {
  if (x != x || x == 0.0f) {
    return x;
  }
  if (x > 17.5f) {
    return tp_exp(x);
  }
  if (x < -17.5f) {
    return -1.0f;
  }
  float k = rint(x * 0x1.715476p+0f);
  float t = fma(k, -0x1.63p-1f, x);
  float low = k * 0x1.bd0106p-13f;
  float r = t + low;
  float s = (t - r) + low;
  float q = 0x1.a035800000000p-13f;
  q = fma(q, r, 0x1.6d78ee0000000p-10f);
  q = fma(q, r, 0x1.11118c0000000p-7f);
  q = fma(q, r, 0x1.5554aa0000000p-5f);
  q = fma(q, r, 0x1.5555540000000p-3f);
  q = fma(q, r, 0.5f);
  float scale = as_type<float>(((int)k + 127) << 23);
  float rest = fma(r * r, q, fma(s, r, s));
  if (k == 0.0f) {
    return r + rest;
  }
  tp_two_floats sum = tp_sum(scale - 1.0f, scale * r);
  return sum.hi + fma(scale, rest, sum.lo);
}

//@ tp_log_parts: tp_two_floats
// ln(1 + f) for -0.3 <= f <= 0.42, as a sum: 2 artanh(f / (2 + f)) as a series.
static inline tp_two_floats tp_log_parts(tp_two_floats f) {
  tp_two_floats d = tp_quick_sum(2.0f, f.hi);
  d = tp_quick_sum(d.hi, d.lo + f.lo);
  tp_two_floats s = tp_quotient(f, d);
  tp_two_floats z = tp_multiply(s, s);
  float q = 0x1.dfa6840000000p-3f;
  q = fma(q, z.hi, 0x1.2452680000000p-2f);
  q = fma(q, z.hi, 0x1.999a000000000p-2f);
  float tail = q * z.hi;
  tp_two_floats c = tp_quick_sum(0x1.555556p-1f, tail);
  c.lo += -0x1.555556p-26f;
  tp_two_floats u = tp_multiply(tp_multiply(s, z), c);
  tp_two_floats r = tp_quick_sum(2.0f * s.hi, u.hi);
  return tp_quick_sum(r.hi, r.lo + (2.0f * s.lo + u.lo));
}

//@ tp_split: tp_log_parts
// The exponent of a positive finite number, and the logarithm of the rest, which is between 0.7 and 1.42.
struct tp_split_log {
  int exponent;
  tp_two_floats log;
};

static inline tp_split_log tp_split(float x) {
  uint bits = as_type<uint>(x);
  int e = 0;
  if (bits < 0x800000u) {
    // Made normal by integers, since subnormals may be flushed.
    int zeros = (int)clz(bits) - 8;
    bits <<= zeros;
    e = 1 - zeros;
  } else {
    e = (int)(bits >> 23);
  }
  bits = (bits & 0x7fffffu) | 0x3f800000u;
  e -= 127;
  if (bits > 0x3fb504f3u) {
    bits -= 0x800000u;
    e++;
  }
  tp_split_log r;
  r.exponent = e;
  r.log = tp_log_parts(tp_two(as_type<float>(bits) - 1.0f, 0.0f));
  return r;
}

//@ tp_no_log:
// Whether a logarithm is not of a positive finite number; the result then.
static inline bool tp_has_no_log(float x) {
  uint bits = as_type<uint>(x);
  return bits == 0 || bits >= 0x7f800000u;
}

static inline float tp_no_log(float x) {
  uint bits = as_type<uint>(x);
  return (bits & 0x7fffffffu) == 0 ? -INFINITY : x != x || bits == 0x7f800000u ? x : NAN;
}

//@ tp_log: tp_split tp_no_log
static inline float tp_log(float x) {
  if (tp_has_no_log(x)) {
    return tp_no_log(x);
  }
  tp_split_log p = tp_split(x);
  float e = (float)p.exponent;
  if (p.exponent == 0) {
    return p.log.hi + p.log.lo;
  }
  tp_two_floats k = tp_product(e, 0x1.62e43p-1f);
  tp_two_floats s = tp_quick_sum(k.hi, p.log.hi);
  return s.hi + (s.lo + (p.log.lo + fma(e, -0x1.05c61p-29f, k.lo)));
}

//@ tp_log2: tp_split tp_no_log
static inline float tp_log2(float x) {
  if (tp_has_no_log(x)) {
    return tp_no_log(x);
  }
  tp_split_log p = tp_split(x);
  tp_two_floats m = tp_multiply(p.log, tp_two(0x1.715476p+0f, 0x1.4ae0cp-26f));
  tp_two_floats s = tp_sum((float)p.exponent, m.hi);
  return s.hi + (s.lo + m.lo);
}

//@ tp_log10: tp_split tp_no_log
static inline float tp_log10(float x) {
  if (tp_has_no_log(x)) {
    return tp_no_log(x);
  }
  tp_split_log p = tp_split(x);
  tp_two_floats m = tp_multiply(p.log, tp_two(0x1.bcb7b2p-2f, -0x1.5b235ep-27f));
  tp_two_floats e = tp_product((float)p.exponent, 0x1.344136p-2f);
  tp_two_floats s = tp_sum(e.hi, m.hi);
  return s.hi + (s.lo + (m.lo + fma((float)p.exponent, -0x1.ec10cp-27f, e.lo)));
}

//@ tp_log1p: tp_log_parts tp_log
static inline float tp_log1p(float x) {
  if (x == 0.0f || x != x) {
    return x;
  }
  if (x <= -1.0f) {
    return x == -1.0f ? -INFINITY : NAN;
  }
  if (x > 0x1p26f) {
    return tp_log(x);
  }
  if (fabs(x) < 0x1p-26f) {
    return x;
  }
  tp_two_floats u = tp_sum(1.0f, x);
  uint bits = as_type<uint>(u.hi);
  int e = (int)(bits >> 23) - 127;
  bits = (bits & 0x7fffffu) | 0x3f800000u;
  if (bits > 0x3fb504f3u) {
    bits -= 0x800000u;
    e++;
  }
  float scale = as_type<float>((127 - e) << 23);
  tp_two_floats l = tp_log_parts(tp_quick_sum(as_type<float>(bits) - 1.0f, u.lo * scale));
  tp_two_floats k = tp_product((float)e, 0x1.62e43p-1f);
  tp_two_floats s = tp_sum(k.hi, l.hi);
  return s.hi + (s.lo + (l.lo + fma((float)e, -0x1.05c61p-29f, k.lo)));
}

//@ tp_pow: tp_split tp_exp_reduced
// C's: 1 to any power and any number to the power of 0 are 1, and so is -1 to an infinite one.
static inline float tp_pow(float x, float y) {
  uint by = as_type<uint>(y) & 0x7fffffffu;
  uint bx = as_type<uint>(x) & 0x7fffffffu;
  if (by == 0 || as_type<uint>(x) == 0x3f800000u) {
    return 1.0f;
  }
  if (bx > 0x7f800000u || by > 0x7f800000u) {
    return NAN;
  }
  bool negative = (as_type<uint>(x) >> 31) != 0;
  bool below = (as_type<uint>(y) >> 31) != 0;
  if (by == 0x7f800000u) {
    return bx == 0x3f800000u ? 1.0f : (bx > 0x3f800000u) != below ? INFINITY : 0.0f;
  }
  // 0: y is no integer; 1: it is odd; 2: it is even.
  int integer = 2;
  if (by < 0x3f800000u) {
    integer = 0;
  } else if (by < 0x4b800000u) {
    int fraction = 150 - (int)(by >> 23);
    uint significand = (by & 0x7fffffu) | 0x800000u;
    integer = (significand & ((1u << fraction) - 1)) != 0 ? 0 : ((significand >> fraction) & 1) != 0 ? 1 : 2;
  }
  float sign = negative && integer == 1 ? -1.0f : 1.0f;
  if (bx == 0 || bx == 0x7f800000u) {
    return sign * ((bx == 0) == below ? INFINITY : 0.0f);
  }
  if (negative && integer == 0) {
    return NAN;
  }
  tp_split_log p = tp_split(as_type<float>(bx));
  tp_two_floats m = tp_multiply(p.log, tp_two(0x1.715476p+0f, 0x1.4ae0cp-26f));
  tp_two_floats s = tp_sum((float)p.exponent, m.hi);
  tp_two_floats l = tp_quick_sum(s.hi, s.lo + m.lo);
  float rough = l.hi * y;
  if (rough > 129.0f) {
    return sign * INFINITY;
  }
  if (rough < -152.0f) {
    return sign * 0.0f;
  }
  tp_two_floats t = tp_product(l.hi, y);
  float low = fma(l.lo, y, t.lo);
  float k = rint(t.hi);
  float f = (t.hi - k) + low;
  float rest = ((t.hi - k) - f) + low;
  float r = f * 0x1.62e43p-1f;
  float w = fma(f, 0x1.62e43p-1f, -r) + fma(rest, 0x1.62e43p-1f, f * -0x1.05c61p-29f);
  return sign * tp_exp_reduced(r, w, (int)k);
}

//@ tp_cbrt: tp_power_of_two
static inline float tp_cbrt(float x) {
  uint bits = as_type<uint>(x) & 0x7fffffffu;
  if (bits == 0 || bits >= 0x7f800000u) {
    return x;
  }
  int e = 0;
  if (bits < 0x800000u) {
    int zeros = (int)clz(bits) - 8;
    bits <<= zeros;
    e = 1 - zeros;
  } else {
    e = (int)(bits >> 23);
  }
  e -= 127;
  int third = (e + 300) / 3 - 100;
  float m = as_type<float>((bits & 0x7fffffu) | ((uint)(127 + e - 3 * third) << 23));
  float t = as_type<float>(as_type<uint>(m) / 3 + 0x2a5119f2u);
  for (int i = 0; i < 3; i++) {
    t = t - (t * t * t - m) / (3.0f * t * t);
  }
  float square = t * t;
  float rest = fma(square, t, -m) + fma(t, t, -square) * t;
  t = t - rest / (3.0f * square);
  return copysign(tp_power_of_two(t, third), x);
}

//@ tp_hypot: tp_two_floats tp_power_of_two
static inline float tp_hypot(float x, float y) {
  uint bx = as_type<uint>(x) & 0x7fffffffu;
  uint by = as_type<uint>(y) & 0x7fffffffu;
  if (bx == 0x7f800000u || by == 0x7f800000u) {
    return INFINITY;
  }
  if (bx > 0x7f800000u || by > 0x7f800000u) {
    return NAN;
  }
  float a = as_type<float>(bx > by ? bx : by);
  float b = as_type<float>(bx > by ? by : bx);
  int k = a > 0x1p60f ? -66 : a < 0x1p-40f ? 100 : 0;
  a = tp_power_of_two(a, k);
  b = tp_power_of_two(b, k);
  tp_two_floats p = tp_product(a, a);
  tp_two_floats q = tp_product(b, b);
  tp_two_floats s = tp_quick_sum(p.hi, q.hi);
  float low = s.lo + (p.lo + q.lo);
  float root = sqrt(s.hi);
  float rest = fma(-root, root, s.hi) + low;
  return tp_power_of_two(root == 0.0f ? 0.0f : root + rest / (2.0f * root), -k);
}

//@ tp_quadrant: tp_two_floats
// An angle of less than a quarter, and the number of quarters before it: by the method of M. Payne and R. Hanek, "Radian reduction for
// trigonometric functions", 1983, with 2/pi in 192 bits.
struct tp_angle {
  int quadrant;
  tp_two_floats rest;
};

constant uint tp_two_over_pi[7] = {
    0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u};

static inline tp_angle tp_quadrant(float x) {
  tp_angle angle;
  angle.quadrant = 0;
  angle.rest = tp_two(x, 0.0f);
  if (fabs(x) < 0x1.921fb4p-1f) {
    return angle;
  }
  uint bits = as_type<uint>(x) & 0x7fffffffu;
  // x = m * 2^e with an integer m of 24 bits.
  int e = (int)(bits >> 23) - 150;
  ulong m = (bits & 0x7fffffu) | 0x800000u;
  // The bits of 2/pi whose product with x counts begin e bits behind its point; those before give whole turns.
  int first = e + 30;
  int word = first >> 5;
  int shift = first & 31;
  ulong w0 = tp_two_over_pi[word];
  ulong w1 = tp_two_over_pi[word + 1];
  ulong w2 = tp_two_over_pi[word + 2];
  ulong w3 = tp_two_over_pi[word + 3];
  if (shift != 0) {
    w0 = ((w0 << shift) | (w1 >> (32 - shift))) & 0xffffffffu;
    w1 = ((w1 << shift) | (w2 >> (32 - shift))) & 0xffffffffu;
    w2 = ((w2 << shift) | (w3 >> (32 - shift))) & 0xffffffffu;
  }
  ulong product = ((m * w0) << 32) + m * w1 + ((m * w2) >> 32);
  // Two bits of quarters, and 62 of what is left, as a number around 0.
  ulong quarters = (product + ((ulong)1 << 61)) >> 62;
  long left = (long)(product - (quarters << 62));
  bool minus = left < 0;
  ulong size = minus ? (ulong)0 - (ulong)left : (ulong)left;
  float hi = (float)(size >> 38) * 0x1p38f;
  float lo = (float)(size & (((ulong)1 << 38) - 1));
  tp_two_floats turn = tp_multiply(tp_quick_sum(hi * 0x1p-62f, lo * 0x1p-62f), tp_two(0x1.921fb6p+0f, -0x1.777a5cp-25f));
  bool negative = (as_type<uint>(x) >> 31) != 0;
  if (minus != negative) {
    turn = tp_two(-turn.hi, -turn.lo);
  }
  angle.quadrant = (int)(negative ? ((ulong)0 - quarters) & 3 : quarters & 3);
  angle.rest = turn;
  return angle;
}

//@ tp_sine_and_cosine: tp_quadrant
static inline tp_two_floats tp_sine_part(tp_two_floats r) {
  float z = r.hi * r.hi;
  float q = 0x1.6cd5e00000000p-19f;
  q = fma(q, z, -0x1.a00f940000000p-13f);
  q = fma(q, z, 0x1.1111080000000p-7f);
  q = fma(q, z, -0x1.5555560000000p-3f);
  return tp_quick_sum(r.hi, fma(z * r.hi, q, fma(-0.5f * z, r.lo, r.lo)));
}

static inline tp_two_floats tp_cosine_part(tp_two_floats r) {
  tp_two_floats z = tp_product(r.hi, r.hi);
  float q = 0x1.99ff3c0000000p-16f;
  q = fma(q, z.hi, -0x1.6c0c820000000p-10f);
  q = fma(q, z.hi, 0x1.55554a0000000p-5f);
  tp_two_floats c = tp_quick_sum(1.0f, -0.5f * z.hi);
  return tp_quick_sum(c.hi, c.lo + fma(z.hi * z.hi, q, fma(-0.5f, z.lo, -r.hi * r.lo)));
}

//@ tp_sin: tp_sine_and_cosine
static inline float tp_sin(float x) {
  if (!(fabs(x) < INFINITY)) {
    return NAN;
  }
  if (fabs(x) < 0x1p-12f) {
    return x;
  }
  tp_angle angle = tp_quadrant(x);
  tp_two_floats v = (angle.quadrant & 1) != 0 ? tp_cosine_part(angle.rest) : tp_sine_part(angle.rest);
  return (angle.quadrant & 2) != 0 ? -v.hi : v.hi;
}

//@ tp_cos: tp_sine_and_cosine
static inline float tp_cos(float x) {
  if (!(fabs(x) < INFINITY)) {
    return NAN;
  }
  tp_angle angle = tp_quadrant(x);
  tp_two_floats v = (angle.quadrant & 1) != 0 ? tp_sine_part(angle.rest) : tp_cosine_part(angle.rest);
  return ((angle.quadrant + 1) & 2) != 0 ? -v.hi : v.hi;
}

//@ tp_tan: tp_sine_and_cosine
static inline float tp_tan(float x) {
  if (!(fabs(x) < INFINITY)) {
    return NAN;
  }
  if (fabs(x) < 0x1p-12f) {
    return x;
  }
  tp_angle angle = tp_quadrant(x);
  tp_two_floats s = tp_sine_part(angle.rest);
  tp_two_floats c = tp_cosine_part(angle.rest);
  return (angle.quadrant & 1) != 0 ? -tp_quotient(c, s).hi : tp_quotient(s, c).hi;
}

//@ tp_atan_part: tp_two_floats
// atan(t.hi + t.lo) for |t.hi| <= 1.
static inline tp_two_floats tp_atan_part(tp_two_floats t) {
  float z = t.hi * t.hi;
  float q = -0x1.d615e00000000p-10f;
  q = fma(q, z, 0x1.6597be0000000p-7f);
  q = fma(q, z, -0x1.fec3b80000000p-6f);
  q = fma(q, z, 0x1.dac3040000000p-5f);
  q = fma(q, z, -0x1.58328e0000000p-4f);
  q = fma(q, z, 0x1.c0994e0000000p-4f);
  q = fma(q, z, -0x1.2421a40000000p-3f);
  q = fma(q, z, 0x1.9991fc0000000p-3f);
  q = fma(q, z, -0x1.55553e0000000p-2f);
  return tp_quick_sum(t.hi, fma(z * t.hi, q, t.lo / (1.0f + z)));
}

//@ tp_atan: tp_atan_part
static inline float tp_atan(float x) {
  float a = fabs(x);
  if (x != x || a < 0x1p-12f) {
    return x;
  }
  float r = 0.0f;
  if (a > 0x1p26f) {
    r = 0x1.921fb6p+0f;
  } else if (a > 1.0f) {
    float t = 1.0f / a;
    tp_two_floats v = tp_atan_part(tp_two(t, fma(-t, a, 1.0f) / a));
    tp_two_floats s = tp_quick_sum(0x1.921fb6p+0f, -v.hi);
    r = s.hi + (s.lo - (v.lo + 0x1.777a5cp-25f));
  } else {
    r = tp_atan_part(tp_two(a, 0.0f)).hi;
  }
  return copysign(r, x);
}

//@ tp_atan2: tp_atan_part
static inline float tp_atan2(float y, float x) {
  if (x != x || y != y) {
    return NAN;
  }
  uint bx = as_type<uint>(x) & 0x7fffffffu;
  uint by = as_type<uint>(y) & 0x7fffffffu;
  bool left = (as_type<uint>(x) >> 31) != 0;
  tp_two_floats v = tp_two(0.0f, 0.0f);
  bool steep = by > bx;
  float a = as_type<float>(steep ? by : bx);
  float b = as_type<float>(steep ? bx : by);
  if (bx == by && bx == 0x7f800000u) {
    v = tp_two(0x1.921fb6p-1f, 0.0f);
  } else if (b != 0.0f && a < INFINITY) {
    float t = b / a;
    if (t < 0x1p-14f) {
      v = tp_two(t, 0.0f);
    } else {
      float scale = a > 0x1p60f ? 0x1p-64f : a < 0x1p-60f ? 0x1p64f : 1.0f;
      a *= scale;
      v = tp_atan_part(tp_two(t, fma(-t, a, b * scale) / a));
    }
  }
  float base = steep ? 0x1.921fb6p+0f : left ? 0x1.921fb6p+1f : 0.0f;
  float more = steep ? -0x1.777a5cp-25f : left ? -0x1.777a5cp-24f : 0.0f;
  if (steep != left) {
    v = tp_two(-v.hi, -v.lo);
  }
  if (base == 0.0f) {
    return copysign(v.hi, y);
  }
  tp_two_floats s = tp_quick_sum(base, v.hi);
  return copysign(s.hi + (s.lo + (v.lo + more)), y);
}

//@ tp_asin_part: tp_two_floats
// asin(t.hi + t.lo) for 0 <= t.hi <= 0.5.
static inline tp_two_floats tp_asin_part(tp_two_floats t) {
  float z = t.hi * t.hi;
  float q = 0x1.59f35e0000000p-5f;
  q = fma(q, z, 0x1.8b87300000000p-6f);
  q = fma(q, z, 0x1.748ef40000000p-5f);
  q = fma(q, z, 0x1.3301360000000p-4f);
  q = fma(q, z, 0x1.5555ca0000000p-3f);
  return tp_quick_sum(t.hi, fma(z * t.hi, q, t.lo));
}

// asin(sqrt((1 - a) / 2)) for 0.5 <= a <= 1.
static inline tp_two_floats tp_asin_of_half(float a) {
  float h = 0.5f - 0.5f * a;
  float s = sqrt(h);
  return tp_asin_part(tp_two(s, s == 0.0f ? 0.0f : fma(-s, s, h) / (2.0f * s)));
}

//@ tp_asin: tp_asin_part
static inline float tp_asin(float x) {
  float a = fabs(x);
  if (!(a <= 1.0f)) {
    return NAN;
  }
  if (a < 0x1p-12f) {
    return x;
  }
  if (a <= 0.5f) {
    return copysign(tp_asin_part(tp_two(a, 0.0f)).hi, x);
  }
  tp_two_floats v = tp_asin_of_half(a);
  tp_two_floats s = tp_quick_sum(0x1.921fb6p+0f, -2.0f * v.hi);
  return copysign(s.hi + (s.lo - fma(2.0f, v.lo, 0x1.777a5cp-25f)), x);
}

//@ tp_acos: tp_asin_part
static inline float tp_acos(float x) {
  float a = fabs(x);
  if (!(a <= 1.0f)) {
    return NAN;
  }
  if (a <= 0.5f) {
    tp_two_floats v = tp_asin_part(tp_two(a, 0.0f));
    v = x < 0.0f ? v : tp_two(-v.hi, -v.lo);
    tp_two_floats s = tp_quick_sum(0x1.921fb6p+0f, v.hi);
    return s.hi + (s.lo + (v.lo - 0x1.777a5cp-25f));
  }
  tp_two_floats v = tp_asin_of_half(a);
  if (x > 0.0f) {
    return 2.0f * v.hi;
  }
  tp_two_floats s = tp_quick_sum(0x1.921fb6p+1f, -2.0f * v.hi);
  return s.hi + (s.lo - fma(2.0f, v.lo, 0x1.777a5cp-24f));
}

//@ tp_exp_halves: tp_exp_reduced
// Half of e^x for x between 0 and 90.
static inline float tp_half_exp(float x) {
  float k = rint(x * 0x1.715476p+0f);
  float t = fma(k, -0x1.63p-1f, x);
  float low = k * 0x1.bd0106p-13f;
  float r = t + low;
  return tp_exp_reduced(r, (t - r) + low, (int)k - 1);
}

//@ tp_sinh: tp_exp_halves
static inline float tp_sinh(float x) {
  float a = fabs(x);
  if (x != x || a < 0x1p-12f) {
    return x;
  }
  if (a <= 1.0f) {
    float z = x * x;
    float q = 0x1.7a28b40000000p-19f;
    q = fma(q, z, 0x1.9ffe020000000p-13f);
    q = fma(q, z, 0x1.1111360000000p-7f);
    q = fma(q, z, 0x1.5555560000000p-3f);
    return fma(z * x, q, x);
  }
  if (a > 90.0f) {
    return copysign(INFINITY, x);
  }
  float e = tp_half_exp(a);
  return copysign(e - 0.25f / e, x);
}

//@ tp_cosh: tp_exp_halves
static inline float tp_cosh(float x) {
  float a = fabs(x);
  if (x != x) {
    return x;
  }
  if (a > 90.0f) {
    return INFINITY;
  }
  float e = tp_half_exp(a);
  return e + 0.25f / e;
}

//@ tp_tanh: tp_exp_halves
static inline float tp_tanh(float x) {
  float a = fabs(x);
  if (x != x || a < 0x1p-12f) {
    return x;
  }
  if (a <= 0.6f) {
    float z = x * x;
    float q = 0x1.23d9800000000p-9f;
    q = fma(q, z, -0x1.0ebe1a0000000p-7f);
    q = fma(q, z, 0x1.64111e0000000p-6f);
    q = fma(q, z, -0x1.b9f9da0000000p-5f);
    q = fma(q, z, 0x1.11109a0000000p-3f);
    q = fma(q, z, -0x1.5555540000000p-2f);
    return fma(z * x, q, x);
  }
  if (a > 10.0f) {
    return copysign(1.0f, x);
  }
  return copysign(1.0f - 1.0f / (tp_half_exp(2.0f * a) + 0.5f), x);
}
