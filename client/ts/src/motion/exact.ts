// The exact part of rows, and the audit: PROTOCOL.md, sections 7 to 9.

import type { BitReader } from '../bits.ts'
import type { State } from './columns.ts'

/** The forms in which a row gives the exact state of a body. */
export const Form = {
  ordinary: 0, // no exact state
  onGrid: 1, // awake, and the quantised state is exact
  onGridAsleep: 2, // asleep, and the quantised position is exact
  raw: 3, // awake; the bits that the quantised state lacks follow
  rawAsleep: 4,
} as const

/** The exact part in a row's header. Readers reuse it. */
export class Exact {
  form: number = Form.ordinary
  back = 0 // ticks from the row's state to its message's tick
  readonly maxBack: number // of the session

  constructor(maxBack: number) {
    this.maxBack = maxBack
  }

  /**
   * Reads the bit exact, form and back of a row with the given baseline in a message with the
   * given tick. Call r.check before using them.
   */
  read(r: BitReader, tick: number, age: number): void {
    this.form = Form.ordinary
    this.back = 0
    if (r.bits(1) === 0) return
    this.form = r.bits(2) + 1
    this.back = r.golomb(1)
    if (this.back > this.maxBack || this.back >= (age || tick))
      r.refuse(`an exact state of ${this.back} ticks before tick ${tick}`)
  }
}

/**
 * Reads the exact part of a row in the given form. Call r.check before using s.
 * @param grid - the position and velocity that the quantised row stands for
 * @param restTicks - of the schema's motion line
 */
export function readBody(r: BitReader, form: number, grid: ArrayLike<number>, restTicks: number, s: State): void {
  const raw = form === Form.raw || form === Form.rawAsleep
  s.x = raw ? readResidual(r, grid[0]!, 10) : grid[0]!
  s.y = raw ? readResidual(r, grid[1]!, 10) : grid[1]!
  s.z = raw ? readResidual(r, grid[2]!, 10) : grid[2]!
  s.awake = form === Form.onGrid || form === Form.raw
  s.vx = s.vy = s.vz = s.rest = 0
  if (form === Form.onGrid) {
    s.vx = grid[3]!
    s.vy = grid[4]!
    s.vz = grid[5]!
  } else if (form === Form.onGridAsleep) {
    if (grid[3] !== 0 || grid[4] !== 0 || grid[5] !== 0) r.refuse('an exact body that is asleep moves')
  } else if (form === Form.raw) {
    s.vx = readResidual(r, grid[3]!, 16)
    s.vy = readResidual(r, grid[4]!, 16)
    s.vz = readResidual(r, grid[5]!, 16)
    s.rest = r.golomb(2)
    if (s.rest > restTicks) r.refuse(`an exact body that rests for ${s.rest} ticks`)
  }
}

const single = new Float32Array(1)
const bits = new Uint32Array(single.buffer)

/** Reads the distance from base to the result in floats, with the sign in the lowest bit. */
function readResidual(r: BitReader, base: number, order: number): number {
  const z = r.golomb(order)
  single[0] = base
  const b = bits[0]!
  // These numbers order all floats; -0 directly precedes 0.
  const ordered = ((b >= 2 ** 31 ? ~b : b ^ 0x80000000) + ((z >>> 1) ^ -(z & 1))) | 0
  bits[0] = ordered < 0 ? ordered ^ 0x80000000 : ~ordered
  const x = single[0]
  if (Number.isFinite(x)) return x
  r.refuse(`an exact body with ${x}`)
  return 0
}

const turns = 32 // snapshots after which every entity was audited once

/** Reports whether the audit of snapshot seq covers the entity of a slot. */
export function audited(slot: number, seq: number): boolean {
  return slot % turns === seq % turns
}

const words = new Float32Array(6)
const wordBits = new Uint32Array(words.buffer)

/** Adds an exact body to an audit, which starts at 0. Bodies are added in the order of slots. */
export function auditBody(sum: number, slot: number, generation: number, s: State): number {
  words[0] = s.x
  words[1] = s.y
  words[2] = s.z
  words[3] = s.vx
  words[4] = s.vy
  words[5] = s.vz
  let x = fold(fold(sum, slot), generation)
  for (let i = 0; i < 6; i++) x = fold(x, wordBits[i]!)
  return fold(fold(x, s.awake ? 1 : 0), s.rest) >>> 0
}

function fold(x: number, v: number): number {
  x = Math.imul(x ^ v, 0x9e3779b1)
  return x ^ (x >>> 15)
}
