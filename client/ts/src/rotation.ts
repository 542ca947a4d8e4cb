// Rotations in fixed point: 2^14 stands for 1 (CODEC.md, section 4).

import { isqrt } from './row_arith.ts'

type Rotation = Float64Array

export function identity(q: Rotation): void {
  q[0] = q[1] = q[2] = 0
  q[3] = 2 ** 14
}

/** Negates x, y and z in place. */
export function conj(q: Rotation): void {
  q[0] = -q[0]!
  q[1] = -q[1]!
  q[2] = -q[2]!
}

export function subtract(q: Rotation, p: Rotation): void {
  for (let i = 0; i < 4; i++) q[i]! -= p[i]!
}

/** Negates q in place if it is far from p. */
export function near(q: Rotation, p: Rotation): void {
  if (q[0]! * p[0]! + q[1]! * p[1]! + q[2]! * p[2]! + q[3]! * p[3]! < 0) for (let i = 0; i < 4; i++) q[i] = -q[i]!
}

const round14 = (v: number): number => Math.floor((v + 2 ** 13) / 2 ** 14)

export function product(q: Rotation, p: Rotation, out: Rotation): void {
  out[0] = round14(q[3]! * p[0]! + q[0]! * p[3]! + q[1]! * p[2]! - q[2]! * p[1]!)
  out[1] = round14(q[3]! * p[1]! - q[0]! * p[2]! + q[1]! * p[3]! + q[2]! * p[0]!)
  out[2] = round14(q[3]! * p[2]! + q[0]! * p[1]! - q[1]! * p[0]! + q[2]! * p[3]!)
  out[3] = round14(q[3]! * p[3]! - q[0]! * p[0]! - q[1]! * p[1]! - q[2]! * p[2]!)
}

/** Scales v to length 1 in place; a v of length 0 becomes p. */
export function unit(v: Rotation, p: Rotation): void {
  const length = isqrt(v[0]! * v[0]! + v[1]! * v[1]! + v[2]! * v[2]! + v[3]! * v[3]!)
  if (length === 0) {
    v.set(p)
    return
  }
  const inverse = Math.floor(2 ** 38 / length)
  for (let i = 0; i < 4; i++) v[i] = Math.floor((v[i]! * inverse + 2 ** 23) / 2 ** 24)
}

const identityRotation = Float64Array.of(0, 0, 0, 2 ** 14)

const shift14 = (v: number): number => Math.floor(v / 2 ** 14)

/** Turns q by a ratio r in 1/65536; it may change q. */
export function power(q: Rotation, r: number, out: Rotation): void {
  if (q[3]! < 0) for (let i = 0; i < 4; i++) q[i] = -q[i]!
  const inverse = Math.floor(2 ** 28 / Math.max(q[3]!, 2048))
  let s = 0
  for (let i = 0; i < 3; i++) {
    out[i] = shift14(q[i]! * inverse)
    s += shift14(out[i]! * out[i]!)
  }
  s = Math.min(s, 2 ** 14)
  let k = 2 ** 14 - shift14(s * 5461) + shift14(shift14(s * s) * 3276)
  k = Math.min(Math.floor((k * r) / 2 ** 16), 2 ** 17)
  const a = Math.min(shift14(shift14(s * k) * k), 2 ** 14)
  k = shift14(k * (2 ** 14 + shift14(a * 5461) + shift14(shift14(a * a) * 2184)))
  for (let i = 0; i < 3; i++) out[i] = shift14(out[i]! * k)
  out[3] = 2 ** 14
  unit(out, identityRotation)
}

/** Applies q to v; the result is in 1/256. */
export function applyTo(q: Rotation, v: Float64Array, out: Float64Array): void {
  const x = q[0]!
  const y = q[1]!
  const z = q[2]!
  const w = q[3]!
  const half = (n: number): number => Math.floor(n / 2 ** 13)
  const a = v[0]!
  const b = v[1]!
  const c = v[2]!
  out[0] = Math.floor(((2 ** 14 - half(y * y + z * z)) * a + half(x * y - z * w) * b + half(x * z + y * w) * c) / 64)
  out[1] = Math.floor((half(x * y + z * w) * a + (2 ** 14 - half(x * x + z * z)) * b + half(y * z - x * w) * c) / 64)
  out[2] = Math.floor((half(x * z - y * w) * a + half(y * z + x * w) * b + (2 ** 14 - half(x * x + y * y)) * c) / 64)
}

/** Unpacks the value of a quat with components of n bits. */
export function unpack(value: number, n: number, q: Rotation): void {
  const N = 2 ** n - 1
  const largest = value & 3
  let rest = 2 ** 28
  let v = value >>> 2
  for (let i = 0; i < 4; i++) {
    if (i === largest) continue
    q[i] = Math.trunc(((2 * (v & N) - N) * 11585) / N)
    rest -= q[i]! * q[i]!
    v >>>= n
  }
  q[largest] = isqrt(rest)
}
