// Coded rows: CODEC.md. Comments name its sections.
//
// Doubles represent all results exactly, with one exception: components with a parent line
// whose position has N above 2^21 use BigInt where products grow too large.

import type { BitReader } from './bits.ts'
import { unpack } from './rotation.ts'
import { clamp, mag, short, step4 } from './row_arith.ts'
import { Part, type Past, type Unit } from './row_parts.ts'
import { RowPrediction } from './row_prediction.ts'
import type { Schema } from './schema.ts'
import type { Code, TableSet, Tables } from './tables.ts'

const escapeSymbol = 42

/** Counts the rows read with a component, and the bits of that component. */
export interface Received {
  rows: number
  bits: number
}

/** Reads rows of one schema with one set of tables. It belongs to one reader. */
export class Codec {
  readonly schema: Schema
  /** Counts by component. */
  readonly received: readonly Received[]
  readonly #parts: readonly [readonly Part[], readonly Part[]] // for other clients, for the owner
  readonly #digits = new Uint8Array(64)

  // The component being read.
  #r!: BitReader
  #past!: Past
  #ratio = 0
  #set!: TableSet
  readonly #prediction = new RowPrediction()
  readonly #base = new Float64Array(4) // rotation of the base
  #missed = 0
  #missedTurn = 0

  constructor(schema: Schema, tables: Tables) {
    this.schema = schema
    this.received = schema.components.map(() => ({ rows: 0, bits: 0 }))
    this.#parts = [
      schema.components.map((c) => new Part(c, false, tables)),
      schema.components.map((c) => new Part(c, true, tables)),
    ]
  }

  /** Reads the mask of a full row. */
  readMask(r: BitReader): number {
    return r.long(this.schema.components.length)
  }

  /** Reads a row in full (PROTOCOL.md, section 7) into out, from at on. Absent values are 0. */
  readFull(r: BitReader, mask: number, owned: boolean, out: Uint32Array, at: number): void {
    out.fill(0, at, at + this.schema.values)
    for (const part of this.#parts[owned ? 1 : 0]) {
      if (((mask >>> part.component) & 1) === 0) continue
      const from = r.taken
      for (const f of part.fields) f.read(r, out, at + f.index)
      this.#count(part.component, r.taken - from)
    }
  }

  /** Reads a coded row into out, from at on. The reader's check tells whether the row was malformed. */
  read(r: BitReader, mask: number, owned: boolean, past: Past, out: Uint32Array, at: number): void {
    this.#r = r
    this.#past = past
    this.#ratio = past.ratio()
    const parts = this.#parts[owned ? 1 : 0]
    for (let i = 0, n = this.schema.values; i < n; i++) out[at + i] = past.values[past.base + i]!
    for (let i = 0; i < parts.length; i++) {
      if (((mask >>> i) & 1) === 0) continue
      const from = r.taken
      this.#readPart(parts[i]!, out, at)
      this.#count(i, r.taken - from)
    }
  }

  #count(component: number, bits: number): void {
    const c = this.received[component]!
    c.rows++
    c.bits += bits
  }

  #readPart(p: Part, out: Uint32Array, at: number): void {
    this.#set = p.set
    this.#missed = this.#missedTurn = 0
    this.#prediction.predict(p, this.#past, this.#ratio)
    const { units, groups } = p
    const digits = this.#digits
    const flag = p.flag >= 0 ? this.#past.values[this.#past.base + p.flag]! : 0
    const { margin, moves } = this.#prediction
    const context = 2 * (margin + 4 * (moves === 0 ? 0 : 1 + step4(moves - 1, 2, 8, 32, 128))) + flag
    digits.fill(0, 0, units.length)
    for (let g = 0; g < groups.length; g++) {
      const group = groups[g]!
      let symbol = this.#symbol(group.heads[context]!)
      for (let j = group.last - 1; j >= group.first; j--) {
        const radix = units[j]!.radix
        digits[j] = symbol % radix
        symbol = (symbol / radix) | 0
      }
    }
    for (let j = 0; j < units.length; j++) {
      const u = units[j]!
      if (digits[j] !== 0 || u.radix === 1) this.#readUnit(p, u, digits[j]!, out, at + u.index)
    }
  }

  #symbol(code: Code): number {
    const entry = code.entry(this.#r.peek())
    this.#r.skip(entry & 15)
    return entry >> 4
  }

  #readUnit(p: Part, u: Unit, digit: number, out: Uint32Array, at: number): void {
    switch (u.letter) {
      case 'b':
        out[at] = 1 - out[at]!
        break
      case 'p':
        for (let i = 0; i < 3; i++) {
          this.#prediction.feature[7] = mag(Math.floor(Math.abs(this.#prediction.own[i]!) / 256))
          this.#prediction.feature[8] = mag(Math.floor(Math.abs(this.#prediction.mismatch[i]!) / 256))
          out[at + i] = this.#residual(u, i, this.#prediction.expected[i]!, ((digit - 1) >> i) & 1)
        }
        break
      case 'q':
        out[at] = this.#readRotation(p, u, digit)
        break
      case 'v':
      case 'n':
        for (let i = 0; i < u.fields; i++) out[at + i] = this.#readNumber(u, u.index + i)
        break
      default:
        u.field.read(this.#r, out, at)
    }
  }

  // Section 6.

  #readRotation(p: Part, u: Unit, digit: number): number {
    let q = this.#prediction.facing
    let g = this.#prediction.largest
    if (u !== p.rotation) {
      q = this.#base
      const value = this.#past.values[this.#past.base + u.index]!
      unpack(value, u.n, q)
      g = value & 3
    }
    const h = (g + digit - 1) & 3
    const sign = q[h]! < 0 ? -1 : 1
    let value = h
    let lane = 3
    let place = 4
    for (let i = 0; i < 4; i++) {
      if (i === h) continue
      const expected = clamp(Math.trunc((sign * q[i]! * u.largest + u.ring * 11585) / 23170), 0, u.largest)
      value += this.#residual(u, lane, expected, 0) * place
      place *= u.ring
      lane++
    }
    return value
  }

  #readNumber(u: Unit, index: number): number {
    const past = this.#past
    const base = past.values[past.base + index]!
    let expected = base
    let move = 0
    if (past.older >= 0)
      move = Math.floor((short(past.values[past.older + index]!, base, u.ring) * this.#ratio) / 2 ** 16)
    if (u.linear) {
      expected += move
      expected = u.clamps ? clamp(expected, 0, u.largest) : expected - Math.floor(expected / u.ring) * u.ring
    }
    this.#prediction.feature[1] = mag(Math.abs(move))
    return this.#residual(u, u.linear ? 6 : 7, expected, 0)
  }

  #residual(u: Unit, lane: number, expected: number, negative: number): number {
    const r = this.#r
    const f = this.#prediction.feature
    const w = this.#set.scales
    const k = ((lane * 4 + this.#prediction.attached) * 5 + this.#prediction.speed) * 12
    // Unrolled: this sum is a third of the time of a row.
    const total =
      128 +
      w[k]! * f[0]! +
      w[k + 1]! * f[1]! +
      w[k + 2]! * f[2]! +
      w[k + 3]! * f[3]! +
      w[k + 4]! * f[4]! +
      w[k + 5]! * f[5]! +
      w[k + 6]! * f[6]! +
      w[k + 7]! * f[7]! +
      w[k + 8]! * f[8]! +
      w[k + 9]! * f[9]! +
      w[k + 10]! * f[10]! +
      w[k + 11]! * f[11]!
    const symbol = this.#symbol(this.#set.residuals[lane * 32 + clamp(total >> 8, 0, 31)]!)
    let d = symbol
    let v = 0
    if (symbol === escapeSymbol) {
      v = r.long(u.n)
      if (v > u.largest) r.refuse(`${u.field.path} is ${v}, at most ${u.largest}`)
      d = short(expected, v, u.ring)
    } else {
      if (symbol >= 8) {
        const power = ((symbol - 8) >> 1) + 2
        d = ((2 + (symbol & 1)) << power) + r.bits(power)
      }
      if (lane < 2) {
        if (negative === 1) d = -1 - d
      } else if (d !== 0 && r.bits(1) === 1) d = -d
      if (2 * Math.abs(d) > u.ring) r.refuse(`${u.field.path}: a residual of ${d}`)
      v = expected + d
      if (v < 0) v += u.ring
      else if (v >= u.ring) v -= u.ring
    }
    if (lane >= 3 && lane <= 5) {
      this.#missedTurn += Math.abs(d)
      f[5] = mag(this.#missedTurn)
    } else {
      this.#missed += Math.abs(d)
      f[3] = mag(this.#missed)
    }
    return v
  }
}
