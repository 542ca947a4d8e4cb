// Extension records describe how bodies move: SIMULATING.md beside PROTOCOL.md, section 1.

import type { ByteReader } from '../bits.ts'
import { fail } from '../codes.ts'
import { maxEffects, maxKinds, maxParams, maxProgram } from '../limits.ts'
import type { Kind } from './kind.ts'
import { type Path, PathForm } from './path.ts'

/** The handle of an effect or of an entity in two numbers. */
export interface Name {
  readonly slot: number
  readonly generation: number
}

/** A path, and the entity that it follows. */
export interface Way {
  readonly path: Path
  readonly leader: Name // leader of a following path; otherwise nobody
}

/** An effect becomes known. It acts from its first tick on. */
export interface Added {
  readonly type: 'added'
  readonly effect: Name
  readonly program: number
  readonly mode: number
  readonly layers: number
  readonly back: number // ticks from its first tick to the tick after the message's
  readonly age: number // ticks from its birth to its first tick
  readonly life: number // ticks from its first to its last, both included; 0: until it is ended
  readonly way: Way
  readonly params: Float32Array // empty: the program's defaults
}

/** A change of an effect from its first tick on. */
export interface Changed {
  readonly type: 'changed'
  readonly effect: Name
  readonly back: number
  readonly way: Way | null // null: unchanged
  readonly params: Float32Array | null
}

/** An effect ended, or left: then the client receives no more about it. */
export interface Ended {
  readonly type: 'ended'
  readonly effect: Name
  readonly back: number
  readonly left: boolean
}

/** A program, which effects name by its number. */
export interface ProgramSent {
  readonly type: 'program'
  readonly number: number
  readonly code: Uint8Array // the portable form
}

/** The constants of a kind that the schema lacks. */
export interface KindAdded {
  readonly type: 'kind'
  readonly kind: number
  readonly body: Kind
}

/** The content of an Extension record. */
export type Extension = ProgramSent | Added | Changed | Ended | KindAdded

/** The name of no entity. */
export const nobody: Name = { slot: 0, generation: 0 }

const zero = new Float32Array(3)
const maxPathNumber = 1e6

/** Reads the part of a record after its head. */
export function readExtension(r: ByteReader, detail: number): Extension {
  switch (detail) {
    case 0:
      return readProgram(r)
    case 1:
      return readAdded(r)
    case 2:
      return readChanged(r)
    case 3:
    case 4:
      return { type: 'ended', effect: readEffect(r), back: r.uvarint('back'), left: detail === 4 }
    case 5:
      return readKind(r)
  }
  return fail(`extension ${detail}`)
}

const maxTick = 2 ** 32 - 1

/**
 * Returns the first tick of a record in a message with the given tick.
 * @param most - the session's bound on back
 */
export function firstTick(tick: number, back: number, most: number): number {
  const first = tick + 1 - back
  if (back > most || first < 1 || first > maxTick) fail(`an effect from tick ${first} on`)
  return first
}

/** Returns the ticks when an effect was born, when it first acts and when it last acts; last is 0 without an end. */
export function ticksOf(r: Added, tick: number, most: number): { born: number; first: number; last: number } {
  const first = firstTick(tick, r.back, most)
  if (r.age > first) fail(`an effect born ${r.age} ticks before tick ${first}`)
  const last = r.life === 0 ? 0 : first + r.life - 1
  if (last > maxTick) fail(`an effect with the last tick ${last}`)
  return { born: first - r.age, first, last }
}

function readProgram(r: ByteReader): ProgramSent {
  const number = r.u8()
  const length = r.uvarint('program', maxProgram)
  if (length === 0) fail('a program of no bytes')
  return { type: 'program', number, code: r.bytes(length) }
}

function readAdded(r: ByteReader): Added {
  const effect = readEffect(r)
  const program = r.u8()
  const mode = r.u8()
  if (mode > 1) fail(`an effect of mode ${mode}`)
  return {
    type: 'added',
    effect,
    program,
    mode,
    layers: r.uvarint('layers'),
    back: r.uvarint('back'),
    age: r.uvarint('age'),
    life: r.uvarint('life'),
    way: readWay(r),
    params: readParams(r),
  }
}

function readChanged(r: ByteReader): Changed {
  const effect = readEffect(r)
  const back = r.uvarint('back')
  const what = r.u8()
  if (what === 0 || what > 3) fail(`an effect changed in ${what}`)
  const way = (what & 1) !== 0 ? readWay(r) : null
  return { type: 'changed', effect, back, way, params: (what & 2) !== 0 ? readParams(r) : null }
}

function readKind(r: ByteReader): KindAdded {
  const kind = r.uvarint('kind', maxKinds - 1)
  const constants = floats(r, 5)
  for (const x of constants) if (x < 0 || Object.is(x, -0)) fail(`a kind with the constant ${x}`)
  const [inverseMass = 0, coupling = 0, radius = 0, friction = 0, restitution = 0] = constants
  if (coupling > 1 || restitution > 1) fail(`a kind with coupling ${coupling} and restitution ${restitution}`)
  return { type: 'kind', kind, body: { inverseMass, coupling, radius, friction, restitution, layers: r.u32() } }
}

function readEffect(r: ByteReader): Name {
  const slot = r.uvarint('effect', maxEffects - 1)
  return { slot, generation: readGeneration(r, 'an effect') }
}

/** Reads a generation of the server. It is odd. */
function readGeneration(r: ByteReader, what: string): number {
  const generation = r.uvarint('generation')
  if (generation % 2 === 0) fail(`${what} of generation ${generation}`)
  return generation
}

function readWay(r: ByteReader): Way {
  const form = r.u8()
  if (form > PathForm.following) fail(`a path of form ${form}`)
  let leader = nobody
  if (form === PathForm.following) {
    const slot = r.uvarint('leader', 2 ** 24 - 1)
    leader = { slot, generation: readGeneration(r, 'a leader') }
  }
  const center = floats(r, 3)
  const orbit = form === PathForm.orbit
  const velocity = form === PathForm.linear ? bounded(r) : zero
  const axisU = orbit ? bounded(r) : zero
  const axisV = orbit ? bounded(r) : zero
  const phase = orbit ? r.u32() : 0
  return { path: { form, center, velocity, axisU, axisV, phase, rate: orbit ? r.u32() : 0 }, leader }
}

/** Reads a velocity or an axis. */
function bounded(r: ByteReader): Float32Array {
  const v = floats(r, 3)
  if (!v.every((x) => Math.abs(x) <= maxPathNumber)) fail(`a path with a velocity or axis of ${v}`)
  return v
}

function readParams(r: ByteReader): Float32Array {
  return floats(r, r.uvarint('parameters', maxParams))
}

/** Reads n finite singles. */
function floats(r: ByteReader, n: number): Float32Array {
  const b = r.bytes(4 * n)
  const view = new DataView(b.buffer, b.byteOffset, b.length)
  const v = new Float32Array(n)
  for (let i = 0; i < n; i++) {
    v[i] = view.getFloat32(4 * i, true)
    if (!Number.isFinite(v[i])) fail(`a number is ${v[i]}`)
  }
  return v
}
