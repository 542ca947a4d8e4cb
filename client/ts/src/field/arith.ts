// Scalar arithmetic of the field machine: as field/arith.go, to the bit. Arguments and results
// are float32s. A sum or product of two float32s in double precision, rounded by Math.fround,
// equals the float32 sum or product; JavaScript never fuses.
//
// No result depends on the bits of a NaN: engines may change them.

const double = new Float64Array(1)
const halves = new Uint32Array(double.buffer) // low half first: all engines are little-endian
const operands = new Float64Array(3) // of fmaTie
const single = new Float32Array(1)
const bits = new Uint32Array(single.buffer)

const { abs, floor, fround, imul, sqrt } = Math

/**
 * Returns a*b + c rounded once, IEEE 754's fusedMultiplyAdd for float32. The product is exact
 * in double precision, so only the sum is rounded twice. The second rounding is wrong only if
 * the double sum lies exactly between two float32s: it then ends in 28 zero bits.
 */
export function fma32(a: number, b: number, c: number): number {
  const s = a * b + c
  const r = fround(s)
  double[0] = s
  if ((halves[0]! & 0x0fffffff) !== 0 || r === s) return r
  operands[0] = a
  operands[1] = b
  operands[2] = c
  fmaTie()
  return double[0]
}

/**
 * Sets double[0] to fma32 of operands where the bits lost in the first rounding may decide. It
 * rounds an inexact sum to odd: one step towards the lost part (Boldo and Melquiond, 2008). It
 * uses module variables because arguments and a result would be allocated.
 */
function fmaTie(): void {
  const p = operands[0]! * operands[1]!
  const c = operands[2]!
  const s = p + c
  if (s - s !== 0) return // infinite or NaN
  const back = s - p
  const lost = p - (s - back) + (c - back) // s + lost is the exact sum (Knuth's TwoSum)
  if (lost > 0 === s > 0 && lost !== 0) {
    halves[0]!++ // the number ends in zeros: no carry
  } else if (lost !== 0 && halves[0]!-- === 0) {
    halves[1]!--
  }
  double[0] = fround(double[0]!)
}

/** min32 and max32 return b if the operands are equal or one is NaN, as x86 does. */
export function min32(a: number, b: number): number {
  return a < b ? a : b
}

export function max32(a: number, b: number): number {
  return a > b ? a : b
}

export function saturate32(a: number): number {
  return min32(max32(a, 0), 1)
}

const tiny = fround(1e-12)
const rsqrtHalf = fround(0.5023863)
const rsqrtFirst = fround(1.5016537)
const rsqrtSecond = fround(1.5023831)

/** Returns 1/sqrt(a) to a relative error below 9e-7. */
export function rsqrt32(a: number): number {
  const x = max32(a, tiny)
  const h = -fround(x * rsqrtHalf)
  single[0] = x
  bits[0] = 0x5f370000 - (bits[0]! >>> 1)
  let y = single[0]
  y = fround(y * fma32(h, fround(y * y), rsqrtFirst))
  return fround(y * fma32(h, fround(y * y), rsqrtSecond))
}

const toInteger = 12582912 // 1.5 * 2^23: adding it rounds to an integer
const sin4 = fround(39.53671)
const sin3 = fround(-76.54978)
const sin2 = fround(81.601006)
const sin1 = fround(-41.341656)
const sin0 = fround(6.283185)

/** Returns the sine of t turns; beyond 2^22 turns, some number from -1 to 1. */
export function sin32(t: number): number {
  const q = fround(t - fround(fround(t + toInteger) - toInteger))
  const v = max32(0, fround(0.25 - abs(fround(abs(q) - 0.25))))
  const w = fround(v * v)
  let p = fma32(sin4, w, sin3)
  p = fma32(p, w, sin2)
  p = fma32(p, w, sin1)
  p = fma32(p, w, sin0)
  p = fround(p * v)
  return q < 0 || (q === 0 && 1 / q < 0) ? -p : p
}

const exp5 = fround(0.0013264727)
const exp4 = fround(0.009671513)
const exp3 = fround(0.055507336)
const exp2 = fround(0.24022242)
// biome-ignore lint/suspicious/noApproximativeNumericConstant: a coefficient of the format's, not Math.LN2
const exp1 = fround(0.693147)

/** Returns 2^a. */
export function exp232(a: number): number {
  if (!(a >= -126)) return 0
  const x = min32(a, 128)
  const t = fround(x + toInteger)
  const f = fround(x - fround(t - toInteger))
  let p = fma32(exp5, f, exp4)
  p = fma32(p, f, exp3)
  p = fma32(p, f, exp2)
  p = fma32(p, f, exp1)
  p = fma32(p, f, 1)
  single[0] = t
  const n = bits[0]! << 23
  single[0] = p
  bits[0] = bits[0]! + n
  return single[0]
}

/** Hashes the bits of three numbers to a number in [0, 1). */
export function hash32(a: number, b: number, c: number): number {
  let h = imul(hashBits(a), 0x9e3779b1) + imul(hashBits(b), 0x85ebca77) + imul(hashBits(c), 0xc2b2ae3d)
  h = imul(h ^ (h >>> 16), 0x85ebca6b)
  h = imul(h ^ (h >>> 13), 0xc2b2ae35)
  return ((h ^ (h >>> 16)) >>> 8) * (1 / (1 << 24))
}

/** Gives both zeros one pattern, and every NaN the pattern of -infinity. */
function hashBits(a: number): number {
  single[0] = max32(a, -Infinity) + 0
  const u = bits[0]!
  return u ^ (u >>> 15)
}

/** For floor and sqrt, double precision rounded once gives the float32 result. */
export const floor32 = floor

export function sqrt32(a: number): number {
  return fround(sqrt(a))
}
