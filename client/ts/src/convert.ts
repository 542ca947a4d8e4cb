// Conversion of values between two forms of a field, the server's and the game's.

import { encodeText } from './bits.ts'
import type { Field, Text, TextField } from './fields.ts'

/** Converts a value. */
export type Convert<T = unknown> = (v: T) => T

const lossy = new TextDecoder('utf-8', { ignoreBOM: true })
const replacement = '\ufffd'
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

/** Reports whether field `to` holds every value of `from`, a field of the same family. */
export function isLossless(from: Field, to: Field): boolean {
  const isSingle = (f: Field): boolean => f.kind === 'float' && f.n === 32
  if (familyOf(from) !== 'integer') return !isSingle(to) || isSingle(from)
  const [least, most] = boundsOf(to)
  const [lowest, highest] = boundsOf(from)
  return lowest >= least && highest <= most
}

/** Returns the conversion to values of a field, from a field of the same family. */
export function converterTo(to: Field): Convert {
  if (familyOf(to) === 'integer') return to.n === 64 ? saturate64(to) : saturate32(to)
  if (to.kind === 'float' && to.n === 32) return (v) => (typeof v === 'number' ? single(v) : v)
  return (v) => v
}

function saturate32(to: Field): Convert {
  const [least, most] = boundsOf(to).map(Number) as [number, number]
  return (v) =>
    v === undefined || v === null ? undefined : Math.min(Math.max(Math.trunc(Number(v)) || 0, least), most)
}

function saturate64(to: Field): Convert {
  const [least, most] = boundsOf(to)
  return (v) => {
    if (v === undefined || v === null) return undefined
    const x = typeof v === 'bigint' ? v : Number(v)
    if (x <= least) return least
    if (x >= most) return most
    return typeof x === 'bigint' ? x : BigInt(Math.trunc(x) || 0)
  }
}

/** Rounds to float32. Finite numbers saturate, and do not become infinite. */
function single(v: number): number {
  return Number.isFinite(v) ? Math.fround(Math.min(Math.max(v, -maxFloat32), maxFloat32)) : v
}

/** Returns the conversion to values of a text field: longer texts are cut to the field's maximum of bytes, strings between two characters. */
export function textConverterTo(to: TextField): Convert<Text> {
  return (v) => {
    if (to.bytes) return (typeof v === 'string' ? encodeText(v) : v).slice(0, to.max)
    const s = typeof v === 'string' ? v : decodeLossy(v)
    const b = encodeText(s)
    if (b.length <= to.max) return s
    let n = to.max
    while (n > 0 && (b[n]! & 0xc0) === 0x80) n--
    return lossy.decode(b.subarray(0, n))
  }
}

/** Decodes UTF-8. Each run of invalid bytes becomes one U+FFFD, as in Go. */
function decodeLossy(b: Uint8Array): string {
  let s = ''
  let from = 0
  for (let at = 0; at <= b.length; at++) {
    // U+FFFD itself is valid, and ends a run.
    const is = b[at] === 0xef && b[at + 1] === 0xbf && b[at + 2] === 0xbd
    if (!is && at < b.length) continue
    s += lossy.decode(b.subarray(from, at)).replace(/\ufffd+/g, replacement) + (is ? replacement : '')
    from = at + 3
  }
  return s
}
