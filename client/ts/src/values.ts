// Conversion of fields between their uint32 values and a game's values: PROTOCOL.md, section 5.

import { type Field, fitText, noText, type Text, type TextField } from './fields.ts'
import { generationOf, type Handle, indexOf, newHandle } from './handles.ts'
import * as limit from './limits.ts'
import { type Parts, partsOf } from './paths.ts'

/** The value of a field for a game. Handles and 64-bit integers are bigint, a quat is x, y, z, w. */
export type Value = number | boolean | Handle | bigint | Quaternion
/** A rotation: x, y, z, w. */
export type Quaternion = [number, number, number, number]
/** Values by the parts of their paths: the value of field Aim.Pitch is struct.Aim.Pitch. */
export interface Struct {
  // biome-ignore lint/suspicious/noExplicitAny: games write state.body.Position[0]; component types and commands check it
  [name: string]: any
}

/** A quantised message. */
export interface Payload {
  values: Uint32Array
  texts: Text[]
  /** @internal The provisional handles in fields of the game's struct that the server lacks. */
  lacked?: readonly Handle[]
}

const words = new Uint32Array(2)
const single = new Float32Array(words.buffer)
const double = new Float64Array(words.buffer)
const fullTurn = 2 * Math.PI

/** Restores a number, a bool, an angle in radians or a float. For a 64-bit integer it returns the nearest double. */
export function numberOf(f: Field, values: Uint32Array, at: number): number {
  const v = values[at]!
  switch (f.kind) {
    case 'range':
      return f.low + v * f.step
    case 'int':
      return f.n === 64 ? Number(bigintOf(f, values, at)) : signed(v, f.n)
    case 'uint':
      return f.n === 64 ? v + values[at + 1]! * 2 ** 32 : v
    case 'angle':
      return (signed(v, f.n) / 2 ** f.n) * fullTurn
    case 'float':
      words[0] = v
      if (f.n === 32) return single[0]!
      words[1] = values[at + 1]!
      return double[0]!
  }
  return v
}

function signed(v: number, n: number): number {
  return (v << (32 - n)) >> (32 - n)
}

function bigintOf(f: Field, values: Uint32Array, at: number): bigint {
  const v = (BigInt(values[at + 1]!) << 32n) | BigInt(values[at]!)
  return f.kind === 'int' ? BigInt.asIntN(64, v) : v
}

/**
 * Restores a quat into q. The largest component makes the length 1. If rounding would make it smaller
 * than another one, it is the next float32 above that, so that quantising q gives the value again.
 */
export function quaternionOf(f: Field, value: number, q: Quaternion): Quaternion {
  const N = 2 ** f.n - 1
  const largest = value & 3
  let v = value >>> 2
  let rest = 1
  let above = 0
  for (let i = 0; i < 4; i++) {
    if (i === largest) continue
    const x = ((2 * (v & N)) / N - 1) * Math.SQRT1_2
    v >>>= f.n
    rest -= x * x
    above = Math.max(above, Math.abs(x))
    q[i] = x
  }
  q[largest] = Math.max(Math.sqrt(Math.max(rest, 0)), Math.fround(above) + 2 ** -24)
  return q
}

/** Restores a field. */
export function restoreField(f: Field, values: Uint32Array, at: number): Value {
  switch (f.kind) {
    case 'bool':
      return values[at] !== 0
    case 'ref':
      return newHandle(values[at]!, values[at + 1]!)
    case 'quat':
      return quaternionOf(f, values[at]!, [0, 0, 0, 1])
  }
  return f.n === 64 && f.kind !== 'float' ? bigintOf(f, values, at) : numberOf(f, values, at)
}

const identity: Quaternion = [0, 0, 0, 1]

/**
 * Writes a value to out, from at on. Numbers are clamped; NaN and undefined become 0, an
 * undefined rotation the identity.
 */
export function quantise(f: Field, v: unknown, out: Uint32Array, at: number): void {
  out.fill(0, at, at + f.values)
  if (v === undefined || v === null) v = f.kind === 'range' ? 0 : f.kind === 'quat' ? identity : undefined
  if (v === undefined) return
  if (f.kind === 'ref') quantiseHandle(v as bigint, out, at)
  else if (f.kind === 'quat') out[at] = smallestThree(f, v as ArrayLike<number>)
  else if (f.values === 2 && f.kind !== 'float') {
    const b = saturate64(f, v)
    out[at] = Number(b & 0xffffffffn)
    out[at + 1] = Number((b >> 32n) & 0xffffffffn)
  } else quantiseNumber(f, Number(v), out, at)
}

const most63 = 2n ** 63n - 1n
const most64 = 2n ** 64n - 1n

/** Returns the integer of 64 bits that is nearest to a value, 0 for NaN. */
export function saturate64(f: Field, v: unknown): bigint {
  const least = f.kind === 'int' ? ~most63 : 0n
  const most = f.kind === 'int' ? most63 : most64
  const x = typeof v === 'bigint' ? v : Number(v)
  if (x <= least) return least
  if (x >= most) return most
  return typeof x === 'bigint' ? x : BigInt(Math.trunc(x) || 0)
}

function quantiseNumber(f: Field, v: number, out: Uint32Array, at: number): void {
  const clamp = (n: number, least: number, most: number): number => (n >= least ? Math.min(n, most) : least)
  switch (f.kind) {
    case 'bool':
      out[at] = v ? 1 : 0
      break
    case 'range':
      out[at] = clamp(Math.floor(((Number.isNaN(v) ? 0 : v) - f.low) / f.step + 0.5), 0, f.largest)
      break
    case 'float':
      if (f.n === 32) single[0] = v
      else double[0] = v
      out.set(f.n === 32 ? words.subarray(0, 1) : words, at)
      break
    case 'angle': {
      const turn = v / fullTurn - Math.floor(v / fullTurn)
      out[at] = Number.isNaN(turn) ? 0 : Math.floor(turn * 2 ** f.n + 0.5) % 2 ** f.n
      break
    }
    case 'int':
      out[at] = (clamp(Math.trunc(v), -(2 ** (f.n - 1)), 2 ** (f.n - 1) - 1) & (2 ** f.n - 1)) >>> 0
      break
    default:
      out[at] = clamp(Math.trunc(v), 0, f.largest)
  }
}

function quantiseHandle(h: bigint, out: Uint32Array, at: number): void {
  const index = indexOf(h)
  const generation = generationOf(h)
  const entity = generation % 2 === 1 && index < limit.maxSlots
  const provisional = generation % 2 === 0 && generation > 0
  if (!entity && !provisional) return
  out[at] = index
  out[at + 1] = generation
}

/** Packs a unit quaternion. */
function smallestThree(f: Field, q: ArrayLike<number>): number {
  let largest = 0
  for (let i = 1; i < 4; i++) if (Math.abs(q[i]!) > Math.abs(q[largest]!)) largest = i
  if (!(Math.abs(q[largest]!) > 0)) return smallestThree(f, identity)
  const N = 2 ** f.n - 1
  const sign = q[largest]! < 0 ? -1 : 1
  let packed = largest
  let place = 4
  for (let i = 0; i < 4; i++) {
    if (i === largest) continue
    const n = Math.floor(((q[i]! * sign * Math.SQRT2 + 1) * N) / 2 + 0.5)
    packed += Math.max(0, Math.min(n, N)) * place
    place *= N + 1
  }
  return packed
}

/** Returns a field between two states: ratio is 0 at from, 1 at to, above 1 after to. */
export function blend(f: Field, a: Uint32Array, from: number, to: number, ratio: number): number {
  const near = ratio >= 1 ? to : from
  if (ratio <= 0 || (ratio >= 1 && !f.linear)) return numberOf(f, a, near)
  switch (f.kind) {
    case 'range': {
      const n = a[from]! + (a[to]! - a[from]!) * ratio
      return f.low + Math.min(Math.max(n, 0), f.largest) * f.step
    }
    case 'angle': {
      const way = signed(a[to]! - a[from]!, f.n) / 2 ** f.n
      const v = a[from]! / 2 ** f.n + way * ratio
      return (v - Math.floor(v + 0.5)) * fullTurn
    }
    case 'float': {
      const x = numberOf(f, a, from)
      const v = x + (numberOf(f, a, to) - x) * ratio
      return Number.isFinite(v) ? v : x
    }
  }
  return numberOf(f, a, near)
}

const q0: Quaternion = [0, 0, 0, 1]
const q1: Quaternion = [0, 0, 0, 1]

/** Writes a quat between two states to q, the shorter way, and returns q. */
export function blendQuaternion(
  f: Field,
  a: Uint32Array,
  from: number,
  to: number,
  ratio: number,
  q: Quaternion,
): Quaternion {
  if (ratio <= 0 || (ratio >= 1 && !f.linear)) return quaternionOf(f, a[ratio >= 1 ? to : from]!, q)
  quaternionOf(f, a[from]!, q0)
  quaternionOf(f, a[to]!, q1)
  const sign = q0[0] * q1[0] + q0[1] * q1[1] + q0[2] * q1[2] + q0[3] * q1[3] < 0 ? -1 : 1
  let length = 0
  for (let i = 0; i < 4; i++) {
    q[i] = q0[i]! + (q1[i]! * sign - q0[i]!) * ratio
    length += q[i]! * q[i]!
  }
  length = Math.sqrt(length)
  for (let i = 0; i < 4; i++) q[i]! /= length
  return q
}

/**
 * Converts between fields and structs. The paths of a hostile schema become only own
 * properties of objects without prototypes.
 */
export class Shape {
  readonly #parts: readonly Parts[]
  readonly #textParts: readonly Parts[]
  readonly fields: readonly Field[]
  readonly texts: readonly TextField[]
  /** The fields in the order of the structs. */
  ordered: readonly Field[]

  constructor(fields: readonly Field[], texts: readonly TextField[]) {
    this.fields = fields
    this.texts = texts
    this.ordered = fields
    this.#parts = fields.map((f) => partsOf(f.path))
    this.#textParts = texts.map((f) => partsOf(f.path))
  }

  /** Returns the field that has this path in the game's structs, or undefined. */
  fieldAt(path: string): Field | undefined {
    return this.fields.find((f) => f.path === path)
  }

  /** Reports whether the structs have field i. With exactly, they also represent all its values. */
  holds(_i: number, _exactly: boolean): boolean {
    return true
  }

  /** Reports whether two values of field i, of a prediction and of the server, differ by rounding alone. */
  isRounding(_i: number, _a: unknown, _b: unknown): boolean {
    return false
  }

  /** Returns a value of field i as the structs can hold it. */
  nearest(_i: number, v: unknown): unknown {
    return v
  }

  /** Returns a struct with the results of value and text for each field number. */
  make(value: (i: number) => unknown, text: (i: number) => Text): Struct {
    const root: Struct = Object.create(null)
    for (let i = 0; i < this.fields.length; i++) this.set(root, i, value(i))
    for (let i = 0; i < this.texts.length; i++) this.setText(root, i, text(i))
    return root
  }

  /** Returns the value of field i in a struct. */
  value(root: Struct, i: number): unknown {
    return find(root, this.#parts[i]!)
  }

  /** Returns the value of text field i in a struct. */
  text(root: Struct, i: number): Text | undefined {
    return find(root, this.#textParts[i]!) as Text | undefined
  }

  /** Sets field i of a struct, setText text field i. */
  set(root: Struct, i: number, v: unknown): void {
    assign(root, this.#parts[i]!, v)
  }

  setText(root: Struct, i: number, v: Text): void {
    assign(root, this.#textParts[i]!, v)
  }

  /** Returns the struct of a quantised message. */
  restore(p: Payload): Struct {
    return this.make(
      (i) => restoreField(this.fields[i]!, p.values, this.fields[i]!.index),
      (i) => p.texts[i]!,
    )
  }

  /** Returns the values and texts of a struct, as the fields hold them. Fields that it lacks are 0 or empty. */
  quantise(from: Struct, values: number): Payload {
    const out = new Uint32Array(values)
    this.fields.forEach((f, i) => quantise(f, this.value(from, i), out, f.index))
    const texts = this.texts.map((f, i) => fitText(f, this.text(from, i) ?? noText(f)))
    return { values: out, texts }
  }
}

/** Sets a value in a struct, with the objects and arrays around it. */
export function assign(root: Struct, parts: Parts, v: unknown): void {
  let at = root
  parts.forEach((part, i) => {
    if (i === parts.length - 1) {
      define(at, part, v)
      return
    }
    let next = Object.hasOwn(at, part) ? at[part] : undefined
    if (typeof next !== 'object') {
      next = typeof parts[i + 1] === 'number' ? [] : Object.create(null)
      define(at, part, next)
    }
    at = next
  })
}

/** Defines an own property, whatever its name. */
function define(of: Struct, part: string | number, value: unknown): void {
  Object.defineProperty(of, part, { value, enumerable: true, configurable: true, writable: true })
}

/** Returns a value in a struct, undefined if it lacks one. Functions, and what every object inherits, are no values. */
export function find(root: unknown, parts: Parts): unknown {
  let at = root as Struct | null | undefined
  for (const part of parts) {
    if (at === undefined || at === null) return undefined
    at = Object.hasOwn(at, part) || !(part in Object.prototype) ? at[part] : undefined
    if (typeof at === 'function') return undefined
  }
  return at
}
