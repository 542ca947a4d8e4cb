// Conversion of values between two forms of a field, the server's and the game's.

import type { Field, TextField } from './fields.ts'
import { saturate64 } from './values.ts'

/** Converts a value. */
export type Convert = (v: unknown) => unknown

const maxFloat32 = (2 - 2 ** -23) * 2 ** 127

/** A set of field kinds whose values convert into each other. */
export type Family = 'bool' | 'integer' | 'float' | 'ref' | 'quat' | 'text'

/** Returns the family of a field. */
export function familyOf(f: Field | TextField): Family {
  if (!('kind' in f)) return 'text'
  switch (f.kind) {
    case 'uint':
    case 'int':
    case 'enum':
      return 'integer'
    case 'range':
    case 'angle':
      return 'float'
  }
  return f.kind
}

/** Returns the least and the largest number of an integer field. */
function boundsOf(f: Field): readonly [least: bigint, most: bigint] {
  const half = 2n ** BigInt(f.n - 1)
  if (f.kind === 'int') return [-half, half - 1n]
  return [0n, f.n === 64 ? 2n * half - 1n : BigInt(f.largest)]
}

const isSingle = (f: Field): boolean => f.kind === 'float' && f.n === 32

/**
 * Reports whether two numbers are equal up to the rounding of a few ticks to float32, if one of two forms of a field
 * is float32.
 */
export function areRoundedAlike(f: Field, own: Field, a: unknown, b: unknown): boolean {
  if (isSingle(f) === isSingle(own)) return false
  const [x, y] = [single(Number(a)), single(Number(b))]
  const turns = f.kind === 'angle' ? Math.round((x - y) / (2 * Math.PI)) : 0
  const off = Math.abs(x - y - 2 * Math.PI * turns)
  return off < Infinity && off <= Math.max(Math.abs(x), Math.abs(y)) * 2 ** -22
}

/** Reports whether field `to` holds every value of `from`, a field of the same family. */
export function isLossless(from: Field, to: Field): boolean {
  if (familyOf(from) !== 'integer') return !isSingle(to) || isSingle(from)
  const [least, most] = boundsOf(to)
  const [lowest, highest] = boundsOf(from)
  return lowest >= least && highest <= most
}

/** Returns the conversion to values of a field, from a field of the same family. */
export function converterTo(to: Field): Convert {
  if (familyOf(to) === 'integer')
    return to.n === 64 ? (v) => (v === undefined || v === null ? undefined : saturate64(to, v)) : saturate32(to)
  if (to.kind === 'float' && to.n === 32) return (v) => (typeof v === 'number' ? single(v) : v)
  return (v) => v
}

function saturate32(to: Field): Convert {
  const [least, most] = boundsOf(to).map(Number) as [number, number]
  return (v) =>
    v === undefined || v === null ? undefined : Math.min(Math.max(Math.trunc(Number(v)) || 0, least), most)
}

/** Rounds to float32. Finite numbers saturate, and do not become infinite. */
function single(v: number): number {
  return Number.isFinite(v) ? Math.fround(Math.min(Math.max(v, -maxFloat32), maxFloat32)) : v
}
