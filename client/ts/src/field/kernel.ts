// Kernels: loops of one operation over n lanes. A source may be to itself; otherwise planes
// do not overlap. Storing into a Float32Array rounds like Math.fround.

import { exp232, fmaTie, hash32, rsqrt32, saturate32, sin32 } from './arith.ts'

export type Plane = Float32Array
export type Kernel = (to: Plane, a: Plane, b: Plane, c: Plane, d: Plane, n: number) => void

const double = new Float64Array(1)
const halves = new Uint32Array(double.buffer)

export function add(to: Plane, a: Plane, b: Plane, _c: Plane, _d: Plane, n: number): void {
  for (let i = 0; i < n; i++) to[i] = a[i] + b[i]
}

export function sub(to: Plane, a: Plane, b: Plane, _c: Plane, _d: Plane, n: number): void {
  for (let i = 0; i < n; i++) to[i] = a[i] - b[i]
}

export function mul(to: Plane, a: Plane, b: Plane, _c: Plane, _d: Plane, n: number): void {
  for (let i = 0; i < n; i++) to[i] = a[i] * b[i]
}

export function div(to: Plane, a: Plane, b: Plane, _c: Plane, _d: Plane, n: number): void {
  for (let i = 0; i < n; i++) to[i] = a[i] / b[i]
}

// mad and nmad are fma32 written out.

export function mad(to: Plane, a: Plane, b: Plane, c: Plane, _d: Plane, n: number): void {
  for (let i = 0; i < n; i++) {
    const s = a[i] * b[i] + c[i]
    double[0] = s
    to[i] = (halves[0] & 0x0fffffff) === 0 ? fmaTie(a[i], b[i], c[i]) : s
  }
}

export function nmad(to: Plane, a: Plane, b: Plane, c: Plane, _d: Plane, n: number): void {
  for (let i = 0; i < n; i++) {
    const s = -a[i] * b[i] + c[i]
    double[0] = s
    to[i] = (halves[0] & 0x0fffffff) === 0 ? fmaTie(-a[i], b[i], c[i]) : s
  }
}

export function minimum(to: Plane, a: Plane, b: Plane, _c: Plane, _d: Plane, n: number): void {
  for (let i = 0; i < n; i++) to[i] = a[i] < b[i] ? a[i] : b[i]
}

export function maximum(to: Plane, a: Plane, b: Plane, _c: Plane, _d: Plane, n: number): void {
  for (let i = 0; i < n; i++) to[i] = a[i] > b[i] ? a[i] : b[i]
}

export function absolute(to: Plane, a: Plane, _b: Plane, _c: Plane, _d: Plane, n: number): void {
  for (let i = 0; i < n; i++) to[i] = Math.abs(a[i])
}

export function negate(to: Plane, a: Plane, _b: Plane, _c: Plane, _d: Plane, n: number): void {
  for (let i = 0; i < n; i++) to[i] = -a[i]
}

export function floor(to: Plane, a: Plane, _b: Plane, _c: Plane, _d: Plane, n: number): void {
  for (let i = 0; i < n; i++) to[i] = Math.floor(a[i])
}

export function sqrt(to: Plane, a: Plane, _b: Plane, _c: Plane, _d: Plane, n: number): void {
  for (let i = 0; i < n; i++) to[i] = Math.sqrt(a[i])
}

export function rsqrt(to: Plane, a: Plane, _b: Plane, _c: Plane, _d: Plane, n: number): void {
  for (let i = 0; i < n; i++) to[i] = rsqrt32(a[i])
}

export function sin(to: Plane, a: Plane, _b: Plane, _c: Plane, _d: Plane, n: number): void {
  for (let i = 0; i < n; i++) to[i] = sin32(a[i])
}

export function saturate(to: Plane, a: Plane, _b: Plane, _c: Plane, _d: Plane, n: number): void {
  for (let i = 0; i < n; i++) to[i] = saturate32(a[i])
}

export function selectLT(to: Plane, a: Plane, b: Plane, c: Plane, d: Plane, n: number): void {
  for (let i = 0; i < n; i++) to[i] = a[i] < b[i] ? c[i] : d[i]
}

export function selectGE(to: Plane, a: Plane, b: Plane, c: Plane, d: Plane, n: number): void {
  for (let i = 0; i < n; i++) to[i] = a[i] >= b[i] ? c[i] : d[i]
}

export function exp2(to: Plane, a: Plane, _b: Plane, _c: Plane, _d: Plane, n: number): void {
  for (let i = 0; i < n; i++) to[i] = exp232(a[i])
}

export function hash(to: Plane, a: Plane, b: Plane, c: Plane, _d: Plane, n: number): void {
  for (let i = 0; i < n; i++) to[i] = hash32(a[i], b[i], c[i])
}

/** canonical replaces NaN by +0. */
export function canonical(out: Plane, n: number): void {
  for (let i = 0; i < n; i++) if (out[i] !== out[i]) out[i] = 0
}
