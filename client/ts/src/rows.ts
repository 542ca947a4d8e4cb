// Coded rows: CODEC.md, whose sections the comments name.
//
// Results are integers that doubles represent exactly, but for components with a parent
// line whose position has N above 2^21: those use BigInt where products grow too large.

import type { BitReader } from './bits.ts'
import type { Component, Field, Schema } from './schema.ts'
import type { Code, TableSet, Tables, ZoneBounds } from './tables.ts'
import { groupsOf, unitsOf } from './units.ts'

/** maxDoubleN is the largest N of a position that is predicted in doubles with an anchor. */
export const maxDoubleN = 2 ** 21

const escapeSymbol = 42
const maxRatio = 32 * 2 ** 16

/** Past is what a coded row is relative to (section 3). States are in arrays, from indexes on. */
export class Past {
  age = 0
  gap = 0
  values!: Uint32Array // of base and older
  base = 0
  older = -1 // -1: none
  /** anchor is the component that the anchor is for, -1 without one. */
  anchor = -1
  anchorNow!: Uint32Array
  now = 0
  anchorPast!: Uint32Array
  anchorBase = 0
  anchorOlder = -1

  /** ratio is r of section 3. */
  ratio(): number {
    return this.older < 0 ? 0 : Math.min(Math.floor((this.age * 2 ** 16) / this.gap), maxRatio)
  }
}

/** Unit is a unit of a component (section 2). */
class Unit {
  readonly letter: string
  readonly field: Field
  readonly index: number // of the first value
  readonly fields: number
  readonly radix: number
  readonly n: number
  readonly largest: number
  readonly ring: number
  readonly linear: boolean
  readonly clamps: boolean // predictions, in place of a ring

  constructor(letter: string, f: Field, fields: number, radix: number) {
    this.letter = letter.toLowerCase()
    this.field = f
    this.index = f.index
    this.fields = fields
    this.radix = radix
    this.n = f.n
    this.largest = f.kind === 'quat' ? 2 ** f.n - 1 : f.largest
    this.ring = this.largest + 1
    this.linear = f.linear
    this.clamps = f.kind === 'range'
  }
}

interface Group {
  readonly first: number
  readonly last: number
  readonly heads: readonly Code[]
}

/** Part is a component as one receiver gets it. */
class Part {
  readonly component: number
  readonly units: readonly Unit[]
  readonly groups: readonly Group[]
  readonly position: Unit | undefined
  readonly rotation: Unit | undefined
  readonly flag: number // index of its value, -1: none
  readonly set: TableSet
  readonly zones: ZoneBounds | undefined
  readonly wide: boolean
  /** fields are all that the receiver gets. */
  readonly fields: readonly Field[]

  constructor(c: Component, owned: boolean, tables: Tables) {
    const units = unitsOf(c, owned)
    const shape = units.map((u) => u.letter).join('')
    this.component = c.index
    this.units = units.map((u) => new Unit(u.letter, c.fields[u.at], u.fields, u.radix))
    let first = 0
    this.groups = groupsOf(units.map((u) => u.radix)).map((last, g) => {
      const symbols = this.units.slice(first, last).reduce((product, u) => product * u.radix, 1)
      const group = { first, last, heads: tables.headsOf(shape, g, symbols) }
      first = last
      return group
    })
    this.position = this.units.find((u) => u.letter === 'p')
    this.rotation = this.units.find((u) => u.letter === 'q')
    this.flag = this.units.find((u) => u.letter === 'b')?.index ?? -1
    this.set = tables.setOf(shape)
    this.zones = this.position && tables.zonesOf(shape)
    this.wide = c.parent !== '' && this.position !== undefined && this.position.largest > maxDoubleN
    this.fields = c.fields.filter((f) => owned || !f.owner)
  }
}

/** Received counts the rows with a component that were read, and their bits of that component. */
export interface Received {
  rows: number
  bits: number
}

/** Codec reads rows of one schema with one set of tables. It belongs to one reader. */
export class Codec {
  readonly schema: Schema
  /** received is by component. */
  readonly received: readonly Received[]
  readonly #parts: readonly [readonly Part[], readonly Part[]] // of others, of owners
  readonly #digits = new Uint8Array(64)

  // The component being read.
  #r!: BitReader
  #past!: Past
  #ratio = 0
  #set!: TableSet
  #zone = 3
  #attached = 3
  #speed = 0
  #moves = 0
  #margin = 3
  #largest = 0 // component of facing
  #missed = 0
  #missedTurn = 0
  readonly #feature = new Int32Array(12)
  readonly #own = new Float64Array(3)
  readonly #followed = new Float64Array(3)
  readonly #mismatch = new Float64Array(3)
  readonly #expected = new Float64Array(3)
  readonly #facing = new Float64Array(4)
  readonly #onward = new Float64Array(4)
  readonly #before = new Float64Array(4)

  // Scratch for rotations and vectors.
  readonly #q0 = new Float64Array(4)
  readonly #q1 = new Float64Array(4)
  readonly #q2 = new Float64Array(4)
  readonly #q3 = new Float64Array(4)
  readonly #turn = new Float64Array(4)
  readonly #ride = new Float64Array(4)
  readonly #twist = new Float64Array(4)
  readonly #v0 = new Float64Array(3)
  readonly #v1 = new Float64Array(3)

  constructor(schema: Schema, tables: Tables) {
    this.schema = schema
    this.received = schema.components.map(() => ({ rows: 0, bits: 0 }))
    this.#parts = [
      schema.components.map((c) => new Part(c, false, tables)),
      schema.components.map((c) => new Part(c, true, tables)),
    ]
  }

  /** readMask reads the mask of a full row. */
  readMask(r: BitReader): number {
    return r.long(this.schema.components.length)
  }

  /** readFull reads a row in full (PROTOCOL.md, section 7) into out, from at on. Absent values are 0. */
  readFull(r: BitReader, mask: number, owned: boolean, out: Uint32Array, at: number): void {
    out.fill(0, at, at + this.schema.values)
    for (const part of this.#parts[owned ? 1 : 0]) {
      if (((mask >>> part.component) & 1) === 0) continue
      const from = r.taken
      for (const f of part.fields) f.read(r, out, at + f.index)
      this.#count(part.component, r.taken - from)
    }
  }

  /** read reads a coded row into out, from at on. The reader's check says whether it was malformed. */
  read(r: BitReader, mask: number, owned: boolean, past: Past, out: Uint32Array, at: number): void {
    this.#r = r
    this.#past = past
    this.#ratio = past.ratio()
    const parts = this.#parts[owned ? 1 : 0]
    for (let i = 0, n = this.schema.values; i < n; i++) out[at + i] = past.values[past.base + i]
    for (let i = 0; i < parts.length; i++) {
      if (((mask >>> i) & 1) === 0) continue
      const from = r.taken
      this.#readPart(parts[i], out, at)
      this.#count(i, r.taken - from)
    }
  }

  #count(component: number, bits: number): void {
    const c = this.received[component]
    c.rows++
    c.bits += bits
  }

  #readPart(p: Part, out: Uint32Array, at: number): void {
    this.#set = p.set
    this.#predict(p)
    const { units, groups } = p
    const digits = this.#digits
    const flag = p.flag >= 0 ? this.#past.values[this.#past.base + p.flag] : 0
    const context = 2 * (this.#margin + 4 * (this.#moves === 0 ? 0 : 1 + step4(this.#moves - 1, 2, 8, 32, 128))) + flag
    digits.fill(0, 0, units.length)
    for (let g = 0; g < groups.length; g++) {
      const group = groups[g]
      let symbol = this.#symbol(group.heads[context])
      for (let j = group.last - 1; j >= group.first; j--) {
        const radix = units[j].radix
        digits[j] = symbol % radix
        symbol = (symbol / radix) | 0
      }
    }
    for (let j = 0; j < units.length; j++) {
      const u = units[j]
      if (digits[j] !== 0 || u.radix === 1) this.#readUnit(p, u, digits[j], out, at + u.index)
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
        out[at] = 1 - out[at]
        break
      case 'p':
        for (let i = 0; i < 3; i++) {
          this.#feature[7] = mag(Math.floor(Math.abs(this.#own[i]) / 256))
          this.#feature[8] = mag(Math.floor(Math.abs(this.#mismatch[i]) / 256))
          out[at + i] = this.#residual(u, i, this.#expected[i], ((digit - 1) >> i) & 1)
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

  // Section 5.

  #predict(p: Part): void {
    const feature = this.#feature
    const past = this.#past
    this.#attached = this.#zone = this.#margin = 3
    this.#speed = this.#moves = this.#missed = this.#missedTurn = 0
    feature.fill(0)
    feature[0] = 16
    const anchored = past.anchor === p.component
    if (anchored) this.#predictParent(p)
    if (p.position) this.#predictPosition(p, p.position, anchored)
    if (p.rotation) this.#predictRotation(p.rotation, anchored)
  }

  /** predictParent computes onward and before (section 4). */
  #predictParent(p: Part): void {
    const past = this.#past
    const onward = this.#onward
    const before = this.#before
    const q0 = this.#q0
    const q1 = this.#q1
    identity(onward)
    identity(before)
    const u = p.rotation
    if (!u) return
    unpack(past.anchorNow[past.now + u.index], u.n, q0)
    unpack(past.anchorPast[past.anchorBase + u.index], u.n, q1)
    conj(q1)
    product(q0, q1, onward)
    if (past.older < 0) return
    conj(q1)
    unpack(past.anchorPast[past.anchorOlder + u.index], u.n, q0)
    conj(q0)
    product(q1, q0, before)
  }

  /** predictPosition is step 2. */
  #predictPosition(p: Part, u: Unit, anchored: boolean): void {
    const past = this.#past
    const own = this.#own
    const followed = this.#followed
    const mismatch = this.#mismatch
    const feature = this.#feature
    const ratio = this.#ratio
    const values = past.values
    const base = past.base + u.index
    const older = past.older + u.index
    for (let i = 0; i < 3; i++) {
      own[i] = past.older < 0 ? 0 : Math.floor(((values[base + i] - values[older + i]) * ratio) / 256)
      followed[i] = mismatch[i] = 0
    }
    const s = sum3(own)
    if (anchored) this.#follow(p, u, s)
    feature[1] = mag(Math.floor(s / 256))
    if (p.zones) {
      const v = values[base + p.zones.axis]
      this.#zone = (p.zones.first <= v ? 1 : 0) + (p.zones.second <= v ? 1 : 0)
      feature[10] = mag(Math.max(v - p.zones.first, 0))
    }
    const moved = Math.floor(s / 256)
    this.#speed = step4(moved, 8, 40, 160, 500)
    const w = this.#set.weights
    let k = (this.#zone * 20 + this.#attached * 5 + this.#speed) * 15
    for (let i = 0; i < 3; i++, k += 4) {
      const weighted =
        p.wide && anchored
          ? weigh(own[i], followed[i], mismatch[i], w, k)
          : Math.floor(
              (own[i] * w[k] + followed[i] * w[k + 1] + mismatch[i] * w[k + 2] + w[k + 3] * 2 ** 11 + 2 ** 15) /
                2 ** 16,
            )
      this.#expected[i] = clamp(values[base + i] + weighted, 0, u.largest)
    }
    this.#moves = moved
  }

  /** follow computes followed, mismatch and attached. */
  #follow(p: Part, u: Unit, s: number): void {
    const past = this.#past
    const own = this.#own
    const followed = this.#followed
    const mismatch = this.#mismatch
    const feature = this.#feature
    const ratio = this.#ratio
    const v0 = this.#v0
    const v1 = this.#v1
    const { values, anchorNow, anchorPast } = past
    const base = past.base + u.index
    const now = past.now + u.index
    const was = past.anchorBase + u.index
    for (let i = 0; i < 3; i++) v0[i] = values[base + i] - anchorPast[was + i]
    applyTo(this.#onward, v0, v1)
    for (let i = 0; i < 3; i++) followed[i] = (anchorNow[now + i] - values[base + i]) * 256 + v1[i]
    if (past.older >= 0) {
      const older = past.older + u.index
      const wasOlder = past.anchorOlder + u.index
      for (let i = 0; i < 3; i++) v1[i] = values[older + i] - anchorPast[wasOlder + i]
      applyTo(this.#before, v1, mismatch)
      for (let i = 0; i < 3; i++) {
        const d = v0[i] * 256 - mismatch[i]
        mismatch[i] = p.wide
          ? Number(BigInt.asIntN(64, BigInt(d) * BigInt(ratio)) >> 16n)
          : Math.floor((d * ratio) / 2 ** 16)
      }
      const m = sum3(mismatch)
      const part = (percent: number): number => Math.floor((s * percent) / 100)
      this.#attached = m < part(15) + 768 ? 0 : m < part(40) + 1536 ? 1 : m < part(80) ? 2 : 3
      feature[2] = mag(Math.floor(m / 256))
    }
    for (let i = 0; i < 3; i++) v1[i] = followed[i] - own[i]
    feature[6] = mag(Math.floor(sum3(v1) / 256))
  }

  /** predictRotation is step 3. */
  #predictRotation(u: Unit, anchored: boolean): void {
    const past = this.#past
    const facing = this.#facing
    const feature = this.#feature
    const q = this.#q0
    unpack(past.values[past.base + u.index], u.n, q)
    let turns = 0
    if (u.linear) {
      turns = this.#predictTurn(u, q, anchored)
      const w = this.#set.weights
      const k = (this.#zone * 20 + this.#attached * 5 + step4(turns, 100, 500, 2000, 5000)) * 15 + 12
      for (let i = 0; i < 4; i++) {
        facing[i] =
          q[i] + Math.floor((this.#turn[i] * w[k] + this.#ride[i] * w[k + 1] + this.#twist[i] * w[k + 2] + 128) / 256)
      }
      unit(facing, q)
    } else facing.set(q)
    feature[4] = mag(Math.floor(turns / 8))
    this.#moves += Math.floor(turns / 16)
    this.#findLargest()
  }

  /** predictTurn computes turn, ride and twist, and returns turns. */
  #predictTurn(u: Unit, q: Float64Array, anchored: boolean): number {
    const past = this.#past
    const feature = this.#feature
    const ratio = this.#ratio
    const turn = this.#turn
    const ride = this.#ride
    const twist = this.#twist
    const q1 = this.#q1
    const q2 = this.#q2
    const q3 = this.#q3
    const p = q1
    ride.fill(0)
    twist.fill(0)
    turn.fill(0)
    if (past.older >= 0) {
      unpack(past.values[past.older + u.index], u.n, p)
      conj(p)
      product(q, p, q2)
      conj(p)
      power(q2, ratio, q3)
      product(q3, q, turn)
      near(turn, q)
      subtract(turn, q)
    } else p.set(q)
    if (anchored) {
      product(this.#onward, q, ride)
      near(ride, q)
      subtract(ride, q)
      if (past.older >= 0) {
        product(this.#before, p, q2)
        near(q2, q)
        for (let i = 0; i < 4; i++) twist[i] = Math.floor(((q[i] - q2[i]) * ratio) / 2 ** 16)
      }
      feature[9] = mag(Math.floor(sum4(twist) / 8))
      let apart = 0
      for (let i = 0; i < 4; i++) apart += Math.abs(turn[i] - ride[i])
      feature[11] = mag(Math.floor(apart / 8))
    }
    return sum4(turn)
  }

  /** findLargest finds the largest component of facing, and the margin. */
  #findLargest(): void {
    let largest = 0
    let most = -1
    let second = -1
    for (let i = 0; i < 4; i++) {
      const v = Math.abs(this.#facing[i])
      if (v > most) {
        second = most
        most = v
        largest = i
      } else if (v > second) second = v
    }
    this.#largest = largest
    const d = most - second
    this.#margin = (d >= 100 ? 1 : 0) + (d >= 400 ? 1 : 0) + (d >= 1600 ? 1 : 0)
  }

  // Section 6.

  #readRotation(p: Part, u: Unit, digit: number): number {
    let q = this.#facing
    let g = this.#largest
    if (u !== p.rotation) {
      q = this.#q1
      const value = this.#past.values[this.#past.base + u.index]
      unpack(value, u.n, q)
      g = value & 3
    }
    const h = (g + digit - 1) & 3
    const sign = q[h] < 0 ? -1 : 1
    let value = h
    let lane = 3
    let place = 4
    for (let i = 0; i < 4; i++) {
      if (i === h) continue
      const expected = clamp(Math.trunc((sign * q[i] * u.largest + u.ring * 11585) / 23170), 0, u.largest)
      value += this.#residual(u, lane, expected, 0) * place
      place *= u.ring
      lane++
    }
    return value
  }

  #readNumber(u: Unit, index: number): number {
    const past = this.#past
    const base = past.values[past.base + index]
    let expected = base
    let move = 0
    if (past.older >= 0)
      move = Math.floor((short(past.values[past.older + index], base, u.ring) * this.#ratio) / 2 ** 16)
    if (u.linear) {
      expected += move
      expected = u.clamps ? clamp(expected, 0, u.largest) : expected - Math.floor(expected / u.ring) * u.ring
    }
    this.#feature[1] = mag(Math.abs(move))
    return this.#residual(u, u.linear ? 6 : 7, expected, 0)
  }

  #residual(u: Unit, lane: number, expected: number, negative: number): number {
    const r = this.#r
    const f = this.#feature
    const w = this.#set.scales
    const k = ((lane * 4 + this.#attached) * 5 + this.#speed) * 12
    // Not a loop: this is a third of the time of a row.
    const total =
      128 +
      w[k] * f[0] +
      w[k + 1] * f[1] +
      w[k + 2] * f[2] +
      w[k + 3] * f[3] +
      w[k + 4] * f[4] +
      w[k + 5] * f[5] +
      w[k + 6] * f[6] +
      w[k + 7] * f[7] +
      w[k + 8] * f[8] +
      w[k + 9] * f[9] +
      w[k + 10] * f[10] +
      w[k + 11] * f[11]
    const symbol = this.#symbol(this.#set.residuals[lane * 32 + clamp(total >> 8, 0, 31)])
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

// Arithmetic of the introduction.

function clamp(v: number, least: number, most: number): number {
  return v < least ? least : v > most ? most : v
}

function step4(v: number, a: number, b: number, c: number, d: number): number {
  return (a <= v ? 1 : 0) + (b <= v ? 1 : 0) + (c <= v ? 1 : 0) + (d <= v ? 1 : 0)
}

/** mag is a logarithm in quarters. */
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

/** short is the short way from a to b in a ring. */
export function short(a: number, b: number, ring: number): number {
  const d = b - a
  if (2 * d > ring) return d - ring
  return 2 * d <= -ring ? d + ring : d
}

function sum3(v: Float64Array): number {
  return Math.abs(v[0]) + Math.abs(v[1]) + Math.abs(v[2])
}

function sum4(q: Float64Array): number {
  return sum3(q) + Math.abs(q[3])
}

/** isqrt is the whole part of the square root. */
function isqrt(v: number): number {
  if (v <= 0) return 0
  const n = Math.floor(Math.sqrt(v))
  return n * n > v ? n - 1 : n
}

/** weigh is a weighted sum of step 2 beyond 2^53. */
function weigh(own: number, followed: number, mismatch: number, w: Int16Array, k: number): number {
  const sum = BigInt(own) * BigInt(w[k]) + BigInt(followed) * BigInt(w[k + 1]) + BigInt(mismatch) * BigInt(w[k + 2])
  return Number(BigInt.asIntN(64, sum + BigInt(w[k + 3] * 2 ** 11 + 2 ** 15)) >> 16n)
}

// Rotations: section 4.

type Rotation = Float64Array

function identity(q: Rotation): void {
  q[0] = q[1] = q[2] = 0
  q[3] = 2 ** 14
}

/** conj negates x, y and z in place. */
function conj(q: Rotation): void {
  q[0] = -q[0]
  q[1] = -q[1]
  q[2] = -q[2]
}

function subtract(q: Rotation, p: Rotation): void {
  for (let i = 0; i < 4; i++) q[i] -= p[i]
}

/** near negates q in place if it is far from p. */
function near(q: Rotation, p: Rotation): void {
  if (q[0] * p[0] + q[1] * p[1] + q[2] * p[2] + q[3] * p[3] < 0) for (let i = 0; i < 4; i++) q[i] = -q[i]
}

const round14 = (v: number): number => Math.floor((v + 2 ** 13) / 2 ** 14)

function product(q: Rotation, p: Rotation, out: Rotation): void {
  out[0] = round14(q[3] * p[0] + q[0] * p[3] + q[1] * p[2] - q[2] * p[1])
  out[1] = round14(q[3] * p[1] - q[0] * p[2] + q[1] * p[3] + q[2] * p[0])
  out[2] = round14(q[3] * p[2] + q[0] * p[1] - q[1] * p[0] + q[2] * p[3])
  out[3] = round14(q[3] * p[3] - q[0] * p[0] - q[1] * p[1] - q[2] * p[2])
}

/** unit scales v to length 1 in place; a v of length 0 becomes p. */
function unit(v: Rotation, p: Rotation): void {
  const length = isqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + v[3] * v[3])
  if (length === 0) {
    v.set(p)
    return
  }
  const inverse = Math.floor(2 ** 38 / length)
  for (let i = 0; i < 4; i++) v[i] = Math.floor((v[i] * inverse + 2 ** 23) / 2 ** 24)
}

const identityRotation = Float64Array.of(0, 0, 0, 2 ** 14)

const shift14 = (v: number): number => Math.floor(v / 2 ** 14)

/** power turns q by a ratio r in 1/65536; it may change q. */
function power(q: Rotation, r: number, out: Rotation): void {
  if (q[3] < 0) for (let i = 0; i < 4; i++) q[i] = -q[i]
  const inverse = Math.floor(2 ** 28 / Math.max(q[3], 2048))
  let s = 0
  for (let i = 0; i < 3; i++) {
    out[i] = shift14(q[i] * inverse)
    s += shift14(out[i] * out[i])
  }
  s = Math.min(s, 2 ** 14)
  let k = 2 ** 14 - shift14(s * 5461) + shift14(shift14(s * s) * 3276)
  k = Math.min(Math.floor((k * r) / 2 ** 16), 2 ** 17)
  const a = Math.min(shift14(shift14(s * k) * k), 2 ** 14)
  k = shift14(k * (2 ** 14 + shift14(a * 5461) + shift14(shift14(a * a) * 2184)))
  for (let i = 0; i < 3; i++) out[i] = shift14(out[i] * k)
  out[3] = 2 ** 14
  unit(out, identityRotation)
}

/** applyTo applies q to v; the result is in 1/256. */
function applyTo(q: Rotation, v: Float64Array, out: Float64Array): void {
  const x = q[0]
  const y = q[1]
  const z = q[2]
  const w = q[3]
  const half = (n: number): number => Math.floor(n / 2 ** 13)
  const a = v[0]
  const b = v[1]
  const c = v[2]
  out[0] = Math.floor(((2 ** 14 - half(y * y + z * z)) * a + half(x * y - z * w) * b + half(x * z + y * w) * c) / 64)
  out[1] = Math.floor((half(x * y + z * w) * a + (2 ** 14 - half(x * x + z * z)) * b + half(y * z - x * w) * c) / 64)
  out[2] = Math.floor((half(x * z - y * w) * a + half(y * z + x * w) * b + (2 ** 14 - half(x * x + y * y)) * c) / 64)
}

/** unpack unpacks the value of a quat with components of n bits. */
function unpack(value: number, n: number, q: Rotation): void {
  const N = 2 ** n - 1
  const largest = value & 3
  let rest = 2 ** 28
  let v = value >>> 2
  for (let i = 0; i < 4; i++) {
    if (i === largest) continue
    q[i] = Math.trunc(((2 * (v & N) - N) * 11585) / N)
    rest -= q[i] * q[i]
    v >>>= n
  }
  q[largest] = isqrt(rest)
}
