// The components of a predicted state: comparing them with the server's, and blending.

import { coordinate, type Entity, type Layout } from './entity.ts'
import { type Field, isVector, noText } from './fields.ts'
import type { State } from './motion/columns.ts'
import type { FieldCorrections } from './predict_config.ts'
import type { Component } from './schema.ts'
import { numberOf, type Quaternion, quantise, restoreField, type Shape, type Struct } from './values.ts'

/**
 * The distance from the server's value to which adopt moves a field, in steps: half a step is
 * the edge to the next value.
 */
const nearEdge = 0.5 - 1 / 1024

/** A vector, number or turn that is blended as a whole: count numbers of an offset from first on. */
interface Span {
  readonly first: number
  readonly count: number
  readonly turn: boolean
  readonly field: number // first field in the component; a vector has count fields, a quat one
  readonly quat: boolean
}

/**
 * How well a predicted state agrees with the server's: exactly as far as that is known, to
 * within a step of quantisation, or not.
 */
export type Agreement = 'exact' | 'near' | 'none'

/** Returns by how many steps now differs from want in a range or an angle; 0 for other fields. */
function stepsTo(f: Field, want: number, now: number): number {
  const off = want - now
  if (f.kind === 'range') return off
  if (f.kind !== 'angle') return 0
  const turn = 2 ** f.n
  return off === turn - 1 ? -1 : off === 1 - turn ? 1 : off
}

/** A component of a predicted state. */
export class Part {
  readonly component: Component
  readonly #shape: Shape
  readonly #text: number // number of the first text field
  readonly #fields: [number, Field][] // that the game's structs hold
  readonly #spans: Span[] = []
  readonly #want: Uint32Array // values of a row
  readonly #got: Uint32Array
  /** The difference between the drawn and the predicted state. */
  readonly offset: Float64Array
  readonly #way: Float64Array

  /** @param c - a component of the layout, or one that only the game declares: no entity has it */
  constructor(layout: Layout, c: Component) {
    this.component = c
    this.#shape = c.shape
    this.#text = layout.schema.texts.indexOf(c.texts[0]!)
    const values = Math.max(layout.schema.values, ...c.fields.map((f) => f.index + f.values))
    this.#want = new Uint32Array(values)
    this.#got = new Uint32Array(values)
    this.#fields = [...c.fields.entries()].filter(([i]) => c.shape.holds(i, false))
    let first = 0
    for (let i = 0; i < c.fields.length; i++) {
      const f = c.fields[i]!
      const quat = f.kind === 'quat'
      const vector = isVector(c.fields, i)
      if (!quat && f.kind !== 'range' && f.kind !== 'float' && f.kind !== 'angle') continue
      if (!this.#shape.holds(i, false)) continue
      const count = quat || vector ? 3 : 1
      this.#spans.push({ first, count, turn: quat || f.kind === 'angle', field: i, quat })
      first += count
      if (vector) i += 2
    }
    this.offset = new Float64Array(first)
    this.#way = new Float64Array(first)
  }

  /** Returns the component with all fields 0 or empty. */
  zero(): Struct {
    return zeroOf(this.#shape)
  }

  /** Reads the newest state of e, and returns the state of its body if the client computes it. */
  #readNewest(e: Entity): State | undefined {
    e.copyValues(this.#want)
    const body = e.computed(this.component.index)
    if (body) for (const f of this.component.fields) quantise(f, coordinate(body, f), this.#want, f.index)
    return body
  }

  /** Returns the newest value of field i as a struct can hold it, and makes #want its values. */
  #holdNewest(i: number, f: Field, body: State | undefined): unknown {
    const v = this.#shape.nearest(i, body ? coordinate(body, f) : restoreField(f, this.#want, f.index))
    if (!this.#shape.holds(i, true)) quantise(f, v, this.#want, f.index)
    return v
  }

  #isSame(f: Field): boolean {
    for (let i = f.index; i < f.index + f.values; i++) if (this.#got[i] !== this.#want[i]) return false
    return true
  }

  /** Reports whether v quantises to the newest value of field i, want, to within a step or the rounding of float32. */
  #isNear(i: number, f: Field, v: unknown, want: unknown): boolean {
    quantise(f, v, this.#got, f.index)
    const off = Math.abs(stepsTo(f, this.#want[f.index]!, this.#got[f.index]!))
    return this.#isSame(f) || off === 1 || this.#shape.isRounding(i, v, want)
  }

  /** Compares s with the newest state of e. */
  compareWith(s: Struct, e: Entity): Agreement {
    const body = this.#readNewest(e)
    let equal = true
    for (const [i, f] of this.#fields) {
      const want = this.#holdNewest(i, f, body)
      const v = this.#shape.value(s, i)
      if (!this.#isNear(i, f, v, want)) return 'none'
      if (!this.#isSame(f) || (body && v !== want)) equal = false
    }
    return equal ? 'exact' : 'near'
  }

  /** Counts the fields in which s differs from the newest state of e, of a tick, in all. */
  countCorrections(s: Struct, e: Entity, tick: number, all: FieldCorrections[]): void {
    const component = this.component.name
    const body = this.#readNewest(e)
    for (const [i, f] of this.#fields) {
      const want = this.#holdNewest(i, f, body)
      const v = this.#shape.value(s, i)
      if (this.#isNear(i, f, v, want)) continue
      const field = f.declared
      const last = distanceOf(f, v, want)
      let c = all.find((x) => x.component === component && x.field === field)
      if (!c) {
        c = { component, field, count: 0, tick, last, largest: 0 }
        all.push(c)
      }
      Object.assign(c, { count: c.count + 1, tick, last, largest: Math.max(c.largest, last) })
    }
  }

  /**
   * Changes s as little as needed to quantise to the newest state of e: a range or an angle
   * that is one step off moves just across the edge of the step. A computed body takes all
   * bits.
   */
  adoptFrom(s: Struct, e: Entity): void {
    const body = this.#readNewest(e)
    for (const [i, f] of this.#fields) {
      const want = this.#holdNewest(i, f, body)
      if (body) {
        this.#shape.set(s, i, want)
        continue
      }
      quantise(f, this.#shape.value(s, i), this.#got, f.index)
      if (this.#isSame(f)) continue
      const off = stepsTo(f, this.#want[f.index]!, this.#got[f.index]!)
      if (Math.abs(off) === 1) {
        const step = f.kind === 'angle' ? (2 * Math.PI) / 2 ** f.n : f.step
        this.#shape.set(s, i, numberOf(f, this.#want, f.index) - off * step * nearEdge)
        quantise(f, this.#shape.value(s, i), this.#got, f.index)
        if (this.#isSame(f)) continue
      }
      this.#shape.set(s, i, want)
    }
  }

  /** Sets the texts of s to e's newest. */
  setTexts(s: Struct, e: Entity): void {
    this.component.texts.forEach((f, i) => this.#shape.setText(s, i, e.texts[this.#text + i] ?? noText(f)))
  }

  // Blending.

  /** Writes the difference of to from from to way, with turns the shorter way. Spans longer than snap become 0. */
  #writeWay(from: Struct, to: Struct, snap: number): void {
    const way = this.#way
    const shape = this.#shape
    for (const s of this.#spans) {
      if (s.quat) {
        turnBetween(shape.value(from, s.field) as Quaternion, shape.value(to, s.field) as Quaternion, way, s.first)
        continue
      }
      for (let k = 0; k < s.count; k++) {
        let d = Number(shape.value(to, s.field + k)) - Number(shape.value(from, s.field + k))
        if (s.turn) d = shorter(d)
        way[s.first + k] = Number.isFinite(d) ? d : 0
      }
    }
    this.#limitSpans(way, snap)
  }

  /** Sets the spans of an offset to 0 that are too long to blend, and makes turns take the shorter way. */
  #limitSpans(offset: Float64Array, snap: number): void {
    for (const s of this.#spans) {
      let length = 0
      for (let i = s.first; i < s.first + s.count; i++) length += offset[i]! * offset[i]!
      length = Math.sqrt(length)
      let scale = 1
      if (s.turn && length > Math.PI) scale = shorter(length) / length
      else if (!s.turn && length > snap) scale = 0
      for (let i = s.first; i < s.first + s.count; i++) offset[i]! *= scale
    }
  }

  #moveBy(v: Struct, by: Float64Array, share: number): void {
    for (const s of this.#spans) {
      if (s.quat) {
        this.#shape.set(v, s.field, turned(this.#finite(v, s.field) as Quaternion, by, s.first, share))
        continue
      }
      for (let k = 0; k < s.count; k++)
        this.#shape.set(v, s.field + k, Number(this.#finite(v, s.field + k)) + by[s.first + k]! * share)
    }
  }

  /** Returns a field, or if it is NaN its quantised value. */
  #finite(v: Struct, i: number): unknown {
    const f = this.component.fields[i]!
    const x = this.#shape.value(v, i)
    const bad = f.kind === 'quat' ? (x as Quaternion).some(Number.isNaN) : Number.isNaN(x)
    if (!bad || f.kind === 'float') return x
    quantise(f, x, this.#got, f.index)
    return restoreField(f, this.#got, f.index)
  }

  /** Moves the struct `to` towards `from` by a share of their difference. */
  moveBack(from: Struct, to: Struct, share: number, snap: number): void {
    this.#writeWay(from, to, snap)
    this.#moveBy(to, this.#way, -share)
  }

  /** Adds the difference of before from now to the offset, so that the drawn state does not change. */
  blendIn(now: Struct, before: Struct, snap: number): void {
    this.#writeWay(now, before, Infinity)
    for (let i = 0; i < this.#way.length; i++) this.offset[i]! += this.#way[i]!
    this.#limitSpans(this.offset, snap)
  }

  /** Moves s by the offset. */
  addOffset(s: Struct): void {
    this.#moveBy(s, this.offset, 1)
  }
}

/** Returns how far apart two values of a field are: see FieldCorrections. */
function distanceOf(f: Field, a: unknown, b: unknown): number {
  if (f.kind === 'ref') return 1
  const d = f.kind === 'quat' ? turnBetween(a as Quaternion, b as Quaternion, [], 0) : Number(a) - Number(b)
  const distance = Math.abs(f.kind === 'angle' ? shorter(d) : d)
  return distance >= 0 ? distance : Infinity
}

/** Returns a struct with all fields 0 or empty. */
export function zeroOf(shape: Shape): Struct {
  return shape.make(
    (i) => {
      const f = shape.fields[i]!
      if (f.kind === 'quat') return [0, 0, 0, 0]
      if (f.kind === 'bool') return false
      return f.values === 2 && f.kind !== 'float' ? 0n : 0
    },
    (i) => noText(shape.texts[i]!),
  )
}

/** Copies plain data and typed arrays. */
export function copyOf<T>(v: T): T {
  if (Array.isArray(v)) return v.map(copyOf) as T
  if (typeof v !== 'object' || v === null) return v
  if (ArrayBuffer.isView(v)) return (v as unknown as Uint8Array).slice() as unknown as T
  const to = Object.create(Object.getPrototypeOf(v))
  for (const [k, x] of Object.entries(v)) to[k] = copyOf(x)
  return to
}

/** Returns an angle from −π to π. */
function shorter(a: number): number {
  return a - 2 * Math.PI * Math.round(a / (2 * Math.PI))
}

// Rotations: the axis times the angle.

function unit(q: ArrayLike<number>): Quaternion {
  const length = Math.hypot(q[0]!, q[1]!, q[2]!, q[3]!)
  return length > 0 && length < Infinity
    ? [q[0]! / length, q[1]! / length, q[2]! / length, q[3]! / length]
    : [0, 0, 0, 1]
}

/** Returns the rotation b, then a. */
function multiply(a: Quaternion, b: Quaternion): Quaternion {
  return [
    a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
    a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
    a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
    a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
  ]
}

/** Writes the rotation from a to b, of at most π, to out, and returns its angle. */
function turnBetween(a: Quaternion, b: Quaternion, out: Float64Array | number[], at: number): number {
  const from = unit(a)
  const d = multiply(unit(b), [-from[0], -from[1], -from[2], from[3]])
  const sine = Math.hypot(d[0], d[1], d[2])
  const angle = 2 * Math.atan2(sine, Math.abs(d[3])) * (d[3] < 0 ? -1 : 1)
  for (let i = 0; i < 3; i++) out[at + i] = sine === 0 ? 0 : (d[i]! / sine) * angle
  return angle
}

/** Returns q turned by a share of the rotation by. */
function turned(q: Quaternion, by: Float64Array, at: number, share: number): Quaternion {
  const angle = Math.hypot(by[at]!, by[at + 1]!, by[at + 2]!)
  if (angle === 0 || share === 0) return q
  const sine = Math.sin((angle * share) / 2) / angle
  return multiply([by[at]! * sine, by[at + 1]! * sine, by[at + 2]! * sine, Math.cos((angle * share) / 2)], unit(q))
}
