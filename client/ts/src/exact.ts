// Exact states of bodies, effects and programs: what PROTOCOL.md marks with †.

import type { BitReader, ByteReader } from './bits.ts'
import { fail } from './codes.ts'
import * as limit from './limits.ts'
import type { Schema } from './schema.ts'

/** BodyState is the exact state of a body: in m, m/s and ticks at rest. */
export interface BodyState {
  x: number
  y: number
  z: number
  vx: number
  vy: number
  vz: number
  awake: boolean
  rest: number
}

/** Grid is what a row restores to: a position and a velocity, as singles. */
export type Grid = Float32Array

/** readForm reads the form and back of a row's header (section 8): form + 4 · back. */
export function readForm(r: BitReader, tick: number, age: number): number {
  const form = r.bits(2)
  const back = r.golomb(1)
  if (back > limit.maxBack || back >= tick || (age > 0 && back >= age)) r.refuse(`an exact state of ${back} ticks ago`)
  return form + 4 * (back & 63)
}

/** gridOf restores the body of a row; its values begin at at. The schema has the component body. */
export function gridOf(schema: Schema, values: Uint32Array, at: number, grid: Grid): void {
  const body = schema.components.find((c) => c.name === 'body')
  for (let i = 0; i < 6; i++) {
    const f = body!.fields[i]
    grid[i] = f.low + values[at + f.index] * f.step
  }
}

const single = new Float32Array(1)
const bitsOfSingle = new Uint32Array(single.buffer)

/** floatBits returns the bits of a single. */
export function floatBits(x: number): number {
  single[0] = x
  return bitsOfSingle[0]
}

/** readResidual reads a residual of order k from the single that a row restores to. */
function readResidual(r: BitReader, from: number, k: number): number {
  const z = r.golomb(k)
  const d = z % 2 === 0 ? z / 2 : -(z + 1) / 2
  const b = floatBits(from)
  const o = ((b < 2 ** 31 ? b + 2 ** 31 : 2 ** 32 - 1 - b) + d) >>> 0
  bitsOfSingle[0] = o >= 2 ** 31 ? o - 2 ** 31 : 2 ** 32 - 1 - o
  if (!Number.isFinite(single[0])) r.refuse('an exact state that is not finite')
  return single[0]
}

/** readBody reads the exact part of a row (section 7) into b. */
export function readBody(r: BitReader, form: number, grid: Grid, restTicks: number, b: BodyState): void {
  b.awake = form === 0 || form === 2
  b.rest = 0
  const raw = form >= 2
  b.x = raw ? readResidual(r, grid[0], 10) : grid[0]
  b.y = raw ? readResidual(r, grid[1], 10) : grid[1]
  b.z = raw ? readResidual(r, grid[2], 10) : grid[2]
  b.vx = form === 2 ? readResidual(r, grid[3], 16) : form === 3 ? 0 : grid[3]
  b.vy = form === 2 ? readResidual(r, grid[4], 16) : form === 3 ? 0 : grid[4]
  b.vz = form === 2 ? readResidual(r, grid[5], 16) : form === 3 ? 0 : grid[5]
  if (form === 2 && (b.rest = r.golomb(2)) > restTicks) r.refuse(`a body at rest for ${b.rest} ticks`)
  if (form === 1 && (b.vx !== 0 || b.vy !== 0 || b.vz !== 0)) r.refuse('a body that sleeps and moves')
}

/** Audit computes the audit of section 9. Bodies are added by ascending slots. */
export class Audit {
  value = 0

  add(index: number, generation: number, b: BodyState): void {
    this.fold(index)
    this.fold(generation)
    this.fold(floatBits(b.x))
    this.fold(floatBits(b.y))
    this.fold(floatBits(b.z))
    this.fold(floatBits(b.vx))
    this.fold(floatBits(b.vy))
    this.fold(floatBits(b.vz))
    this.fold(b.awake ? 1 : 0)
    this.fold(b.rest)
  }

  private fold(v: number): void {
    const x = Math.imul(this.value ^ v, 0x9e3779b1)
    this.value = (x ^ (x >>> 15)) >>> 0
  }
}

type Vector = readonly [number, number, number]

/** Path says where an effect is. */
export interface Path {
  readonly form: number // 0 fixed, 1 linear, 2 orbit, 3 following
  readonly center: Vector // or the offset from the leader
  readonly velocity: Vector
  readonly axes: readonly [Vector, Vector]
  readonly phase: number
  readonly rate: number
  /** index and generation are those of the leader's handle, 0 without one. */
  readonly index: number
  readonly generation: number
}

/** Extension is a record of section 6.1. */
export type Extension =
  | { readonly op: 'program'; readonly program: number; readonly code: Uint8Array }
  | EffectAdded
  | EffectChanged
  | { readonly op: 'ended' | 'left'; readonly slot: number; readonly generation: number; readonly back: number }
  | KindAdded

export interface EffectAdded {
  readonly op: 'added'
  readonly slot: number
  readonly generation: number
  readonly program: number
  readonly mode: number
  readonly layers: number
  readonly back: number
  readonly age: number
  readonly life: number
  readonly path: Path
  readonly params: Float32Array
}

export interface EffectChanged {
  readonly op: 'changed'
  readonly slot: number
  readonly generation: number
  readonly back: number
  readonly path: Path | undefined
  readonly params: Float32Array | undefined
}

export interface KindAdded {
  readonly op: 'kind'
  readonly kind: number
  /** constants are the inverse mass, coupling, radius, friction and restitution. */
  readonly constants: Float32Array
  readonly layers: number
}

/** readExtension reads what follows the head of an Extension. */
export function readExtension(r: ByteReader, detail: number): Extension {
  if (detail === 0) {
    const program = r.u8()
    const n = r.uvarint('program', limit.maxProgram)
    if (n === 0) fail('a program of no bytes')
    return { op: 'program', program, code: r.bytes(n).slice() }
  }
  if (detail === 5) return readKind(r)
  const slot = r.uvarint('effect', limit.maxEffects - 1)
  const generation = r.uvarint('generation')
  if (generation % 2 === 0) fail(`an effect of the even generation ${generation}`)
  const effect = { slot, generation }
  switch (detail) {
    case 1:
      return readAdded(r, effect)
    case 2: {
      const back = readBack(r)
      const what = r.u8()
      if (what < 1 || what > 3) fail(`an effect changed in ${what}`)
      return { op: 'changed', ...effect, back, path: what & 1 ? readPath(r) : undefined, params: what & 2 ? readParams(r) : undefined }
    }
    default:
      return { op: detail === 3 ? 'ended' : 'left', ...effect, back: readBack(r) }
  }
}

function readAdded(r: ByteReader, effect: { slot: number; generation: number }): EffectAdded {
  const program = r.u8()
  const mode = r.u8()
  if (mode > 1) fail(`an effect of mode ${mode}`)
  return {
    op: 'added', ...effect, program, mode, layers: r.uvarint('layers'), back: readBack(r), age: r.uvarint('age'), life: r.uvarint('life'),
    path: readPath(r), params: readParams(r),
  }
}

function readKind(r: ByteReader): KindAdded {
  const kind = r.uvarint('kind', limit.maxKinds - 1)
  const constants = new Float32Array(5)
  for (let i = 0; i < 5; i++) {
    const x = (constants[i] = readFloat(r))
    if (x < 0 || Object.is(x, -0) || (x > 1 && (i === 1 || i === 4))) fail(`a kind with the constant ${x}`)
  }
  return { op: 'kind', kind, constants, layers: r.u32() }
}

/** lastTick is the last tick of an effect that ends by itself; firstTick and born bound it (section 6.1). */
export interface EffectTicks {
  readonly first: number
  readonly born: number
  /** last is 0 for an effect that does not end by itself. */
  readonly last: number
}

/** ticksOf checks and returns the ticks of an effect's record in a message of a tick. */
export function ticksOf(x: { back: number; age?: number; life?: number }, tick: number): EffectTicks {
  const first = tick + 1 - x.back
  const born = first - (x.age ?? 0)
  const last = x.life ? first + x.life - 1 : 0
  if (first < 1 || born < 0 || Math.max(first, last) > 2 ** 32 - 1) fail(`an effect of the ticks ${born}, ${first} to ${last}`)
  return { first, born, last }
}

function readBack(r: ByteReader): number {
  const back = r.u8()
  if (back > limit.maxEffectBack) fail(`an effect of ${back} ticks ago`)
  return back
}

function readFloat(r: ByteReader): number {
  bitsOfSingle[0] = r.u32()
  const x = single[0]
  if (!Number.isFinite(x)) fail('a number that is not finite')
  return x
}

function readVector(r: ByteReader, most = Infinity): Vector {
  const v = [readFloat(r), readFloat(r), readFloat(r)] as const
  if (v.some((x) => Math.abs(x) > most)) fail(`a coordinate beyond ${most}`)
  return v
}

const origin: Vector = [0, 0, 0]

function readPath(r: ByteReader): Path {
  const form = r.u8()
  if (form > 3) fail(`a path of form ${form}`)
  const index = form === 3 ? r.uvarint('leader', limit.maxSlots - 1) : 0
  const generation = form === 3 ? r.uvarint('generation') : 0
  if (form === 3 && generation % 2 === 0) fail(`a leader of the even generation ${generation}`)
  const center = readVector(r)
  const most = 1e6
  const velocity = form === 1 ? readVector(r, most) : origin
  const axes: [Vector, Vector] = form === 2 ? [readVector(r, most), readVector(r, most)] : [origin, origin]
  return { form, center, velocity, axes, phase: form === 2 ? r.u32() : 0, rate: form === 2 ? r.u32() : 0, index, generation }
}

function readParams(r: ByteReader): Float32Array {
  const params = new Float32Array(r.uvarint('params', limit.maxParams))
  for (let i = 0; i < params.length; i++) params[i] = readFloat(r)
  return params
}
