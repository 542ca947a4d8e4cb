import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fma32 } from '../src/field/arith.ts'
import { blockPoints, Machine } from '../src/field/machine.ts'
import { Program, VerifyError } from '../src/field/program.ts'
import { bitsOf, floatOf, readLines, unhex } from './hex.ts'

// A line of field/testdata/vectors.jsonl: see field/testdata/README.md.
interface Vector {
  Name: string
  Program: string
  Time: string
  Params?: string
  Numbers: 'bits' | 'grid' | 'hard' | 'ties'
  Seed: number
  Points: number
  Sum: string
  First: string[]
  Changes?: boolean
}

const hardNumbers = [
  0, 0x80000000, 1, 0x807fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345,
  0x3f800000, 0xbf800000, 0x4b400000, 0x42fe0000, 0x2b8cbccc,
]
const tieExponents = [-12, -12, -12, -12, -11, -13, -25, -36, -37, -24, -48, -65, -90, -138, -149, 20]

function* numbers(v: Vector): Generator<number> {
  for (let w = v.Seed; ; ) {
    w ^= w << 13
    w ^= w >>> 17
    w ^= w << 5
    if (v.Numbers === 'bits') {
      yield floatOf(w)
    } else if (v.Numbers === 'ties') {
      yield (4096 + (w & 4095)) * 2 ** tieExponents[(w >>> 12) & 15]! * (w < 0 ? -1 : 1)
    } else if (v.Numbers === 'hard' && (w & 3) !== 0) {
      yield floatOf(hardNumbers[(w >>> 8) & 15]!)
    } else {
      yield (w >> 8) / 65536
    }
  }
}

/** The 64-bit FNV-1a hash of words. */
class Fnv {
  private high = 0xcbf29ce4
  private low = 0x84222325

  word(u: number): void {
    for (let i = 0; i < 32; i += 8) {
      const low = (this.low ^ ((u >>> i) & 255)) >>> 0
      const product = low * 0x1b3
      this.high = (Math.imul(this.high, 0x1b3) + (low << 8) + Math.floor(product / 2 ** 32)) >>> 0
      this.low = product >>> 0
    }
  }

  toString(): string {
    return [this.high, this.low].map((x) => x.toString(16).padStart(8, '0')).join('')
  }
}

/** Returns the double with the given bits in hexadecimal. */
function doubleOf(bits: string): number {
  return new DataView(Uint8Array.from(bits.match(/../g)!, (x) => parseInt(x, 16)).buffer).getFloat64(0)
}

function evaluate(v: Vector): { sum: string; first: string[]; changes: boolean } {
  const m = new Machine()
  const p = new Program(unhex(v.Program))
  const params =
    v.Params === undefined ? p.defaults : Float32Array.from(v.Params.match(/.{8}/g)!, (x) => floatOf(parseInt(x, 16)))
  const stream = numbers(v)
  const sum = new Fnv()
  const first: string[] = []
  for (let at = 0; at < v.Points; at += blockPoints) {
    const n = Math.min(blockPoints, v.Points - at)
    for (let i = 0; i < n; i++) for (const plane of m.position) plane[i] = stream.next().value
    for (const plane of m.out) plane.fill(-0)
    m.run(p, doubleOf(v.Time), params, n)
    for (let i = 0; i < n; i++) {
      for (const plane of m.out) sum.word(bitsOf(plane[i]!))
      if (at + i < 3) first.push(m.out.map((plane) => bitsOf(plane[i]!).toString(16).padStart(8, '0')).join(''))
    }
  }
  return { sum: sum.toString(), first, changes: p.changesWithTime(params) }
}

const vectors = readLines<Vector>('field/testdata/vectors.jsonl')

test('every vector of the field machine', () => {
  let points = 0
  for (const v of vectors) {
    const got = evaluate(v)
    assert.deepEqual(got.first, v.First, `${v.Name}, ${v.Numbers}`)
    assert.equal(got.sum, v.Sum, `${v.Name}, ${v.Numbers}`)
    assert.equal(got.changes, v.Changes ?? false, `${v.Name}, ${v.Numbers}`)
    points += v.Points
  }
  assert.ok(points >= 100_000)
})

test('vectors fail without rounding to odd, or with a product that is rounded', () => {
  const mad = vectors.find((v) => v.Name === 'mad' && v.Numbers === 'ties')!
  const { fround } = Math
  let ties = 0
  let fused = 0
  const stream = numbers(mad)
  for (let i = 0; i < mad.Points; i++) {
    const a = fround(stream.next().value)
    const b = fround(stream.next().value)
    const c = fround(stream.next().value)
    const exact = fma32(a, b, c)
    if (exact !== fround(a * b + c)) ties++
    if (exact !== fround(fround(a * b) + c)) fused++
  }
  assert.ok(ties > 50 && fused > 50, `${ties} ties, ${fused} products`)
})

test('fma32 at the edges', () => {
  const f = (a: number, b: number, c: number, want: number) =>
    assert.ok(Object.is(fma32(a, b, c), want), `${a} ${b} ${c}: ${fma32(a, b, c)}`)
  f(Infinity, 0, 1, NaN)
  f(Infinity, 1, -Infinity, NaN)
  f(3e38, 2, -Infinity, -Infinity)
  f(-0, 1, -0, -0)
  f(-1, 0, 0, 0)
  f(1, 1, -1, 0)
  f(2 ** -100, 2 ** -100, -0, 0)
  f(-(2 ** -75), 2 ** -75, 2 ** -149, 0) // a tie of subnormals
  f(2 ** -75, 2 ** -75, 2 ** -149, 2 ** -148)
  f(2 ** -75, 2 ** -75 * (1 - 2 ** -20), 2 ** -149, 2 ** -149)
  f(2 ** -75, 2 ** -74, -(2 ** -149), 0)
  f(1 + 2 ** -12, 1 + 2 ** -12, 2 ** -80, 1 + 2 ** -11 + 2 ** -23)
  f(1 + 2 ** -12, 1 + 2 ** -12, -(2 ** -80), 1 + 2 ** -11)
})

// A line of field/testdata/rejected.jsonl.
interface Rejection {
  Base?: string
  At?: number
  Byte?: number
  Cut?: number
  Error: string
}

test('every rejection, for the same reason', () => {
  let base = new Uint8Array()
  let last = base
  for (const r of readLines<Rejection>('field/testdata/rejected.jsonl')) {
    if (r.Base !== undefined) {
      base = unhex(r.Base)
      last = base
    } else if (r.Cut !== undefined) {
      last = base.subarray(0, r.Cut)
    } else {
      last = base.slice()
      last[r.At ?? 0] = r.Byte ?? 0
    }
    let error = ''
    try {
      new Program(last)
    } catch (e) {
      assert.ok(e instanceof VerifyError, `${e}`)
      error = e.message
    }
    const named = r.Error.indexOf('"\\') // Go escapes names differently
    if (named < 0) assert.equal(error, r.Error, JSON.stringify(r))
    else assert.equal(error.slice(0, named), r.Error.slice(0, named), JSON.stringify(r))
  }
  assert.throws(() => new Program(new Uint8Array(1 << 15)), /at most .* are allowed/)
})
