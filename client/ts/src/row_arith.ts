// Arithmetic of coded rows: CODEC.md, introduction.

export function clamp(v: number, least: number, most: number): number {
  return v < least ? least : v > most ? most : v
}

export function step4(v: number, a: number, b: number, c: number, d: number): number {
  return (a <= v ? 1 : 0) + (b <= v ? 1 : 0) + (c <= v ? 1 : 0) + (d <= v ? 1 : 0)
}

/** A logarithm in quarters. */
export function mag(v: number): number {
  if (v < 0x7fffffff) {
    const u = v + 1
    const n = 31 - Math.clz32(u)
    return 4 * n + (n >= 2 ? (u >> (n - 2)) & 3 : (u << (2 - n)) & 3)
  }
  const u = Math.min(v + 1, 2 ** 40)
  const high = Math.floor(u / 2 ** 16)
  const n = 31 - Math.clz32(high)
  return 4 * (n + 16) + ((high >> (n - 2)) & 3)
}

/** The short way from a to b in a ring. */
export function short(a: number, b: number, ring: number): number {
  const d = b - a
  if (2 * d > ring) return d - ring
  return 2 * d <= -ring ? d + ring : d
}

export function sum3(v: Float64Array): number {
  return Math.abs(v[0]!) + Math.abs(v[1]!) + Math.abs(v[2]!)
}

export function sum4(q: Float64Array): number {
  return sum3(q) + Math.abs(q[3]!)
}

/** The whole part of the square root. */
export function isqrt(v: number): number {
  if (v <= 0) return 0
  const n = Math.floor(Math.sqrt(v))
  return n * n > v ? n - 1 : n
}

/** A weighted sum of step 2 beyond 2^53. */
export function weigh(own: number, followed: number, mismatch: number, w: Int16Array, k: number): number {
  const sum = BigInt(own) * BigInt(w[k]!) + BigInt(followed) * BigInt(w[k + 1]!) + BigInt(mismatch) * BigInt(w[k + 2]!)
  return Number(BigInt.asIntN(64, sum + BigInt(w[k + 3]! * 2 ** 11 + 2 ** 15)) >> 16n)
}
