// The effects of one tick, and their sums at bodies.

import { blockPoints, Machine } from '../field/machine.ts'
import type { Box, Program } from '../field/program.ts'
import type { Columns } from './columns.ts'
import { feels, type Kind } from './kind.ts'

const { fround } = Math

/** The meaning of an effect's vectors. */
export const Mode = {
  wind: 0, // m/s; it drags bodies along
  acceleration: 1, // m/s2
} as const

/** A field program as an effect in one tick. */
export interface Effect {
  readonly program: Program
  readonly params: Float32Array // four lanes each
  readonly mode: number
  readonly layers: number // kinds that feel it; 0: all
  readonly center: Float32Array
  readonly time: number // seconds since it was added
  readonly changing: boolean // may change with time, with these parameters
}

/** Reports whether a point is in the reach of an effect with its centre at c. */
export function contains(e: Effect, c: Float32Array, x: number, y: number, z: number): boolean {
  const { box } = e.program
  return box === null || isInside(box, fround(x - c[0]!), fround(y - c[1]!), fround(z - c[2]!))
}

function isInside({ min, max }: Box, x: number, y: number, z: number): boolean {
  return x >= min[0]! && x <= max[0]! && y >= min[1]! && y <= max[1]! && z >= min[2]! && z <= max[2]!
}

/** One vector per row of a block. */
export class Planes {
  readonly x = new Float32Array(blockPoints)
  readonly y = new Float32Array(blockPoints)
  readonly z = new Float32Array(blockPoints)

  zero(): void {
    this.x.fill(0)
    this.y.fill(0)
    this.z.fill(0)
  }

  add(o: Planes, n: number): void {
    for (let i = 0; i < n; i++) {
      this.x[i]! += o.x[i]!
      this.y[i]! += o.y[i]!
      this.z[i]! += o.z[i]!
    }
  }
}

/** Sums effects at the rows of a block. */
export class Forces {
  readonly wind = new Planes()
  readonly push = new Planes()
  points = 0 // points at which effects were evaluated, summed over effects
  readonly #effects: Effect[] = []
  readonly #group = new Planes()
  readonly #machine = new Machine()
  readonly #rows = new Uint16Array(blockPoints) // row of each of the machine's lanes

  reset(): void {
    this.#effects.length = 0
    this.points = 0
  }

  /** Adds an effect. Add effects in ascending order of mode, layers and slot. */
  add(e: Effect): void {
    this.#effects.push(e)
  }

  /**
   * Reports whether a row feels a change of the effect with time. Without coupling it does not
   * feel wind.
   */
  changeAt(b: Columns, k: Kind, row: number): boolean {
    const effects = this.#effects
    for (let i = 0; i < effects.length; i++) {
      const e = effects[i]!
      if (!e.changing || !feels(k, e.layers) || (e.mode === Mode.wind && k.coupling === 0)) continue
      if (contains(e, e.center, b.x[row]!, b.y[row]!, b.z[row]!)) return true
    }
    return false
  }

  /**
   * Sums the effects at rows [from, to), at most blockPoints: group by group, and within a
   * group in the order of add. A group has one mode and one layers. A sum starts at +0 and is
   * therefore never -0: adding a group that acts elsewhere changes no bit.
   */
  sum(b: Columns, kinds: readonly Kind[], from: number, to: number): void {
    const effects = this.#effects
    const group = this.#group
    this.wind.zero()
    this.push.zero()
    for (let i = 0; i < effects.length; ) {
      const { mode, layers } = effects[i]!
      const total = mode === Mode.wind ? this.wind : this.push
      const sum = layers === 0 ? total : group
      if (sum === group) group.zero()
      for (; i < effects.length && effects[i]!.mode === mode && effects[i]!.layers === layers; i++) {
        const lanes = this.#gather(effects[i]!, sum, b, kinds, from, to)
        if (lanes > 0) this.#evaluate(effects[i]!, sum, lanes)
      }
      if (sum === group) total.add(group, to - from)
    }
  }

  /** Loads the rows that feel e and are in its reach into the machine, and returns their number. */
  #gather(e: Effect, sum: Planes, b: Columns, kinds: readonly Kind[], from: number, to: number): number {
    const [px, py, pz] = this.#machine.position
    const [ox, oy, oz] = this.#machine.out
    const box = e.program.box
    const origin = e.center[0] === 0 && e.center[1] === 0 && e.center[2] === 0 // then not even -0 is subtracted
    const cx = origin ? 0 : e.center[0]!
    const cy = origin ? 0 : e.center[1]!
    const cz = origin ? 0 : e.center[2]!
    let n = 0
    for (let row = from; row < to; row++) {
      if (!feels(kinds[b.kind[row]!]!, e.layers)) continue
      const x = fround(b.x[row]! - cx)
      const y = fround(b.y[row]! - cy)
      const z = fround(b.z[row]! - cz)
      if (box !== null && !isInside(box, x, y, z)) continue
      const i = row - from
      px[n] = x
      py[n] = y
      pz[n] = z
      ox[n] = sum.x[i]!
      oy[n] = sum.y[i]!
      oz[n] = sum.z[i]!
      this.#rows[n++] = i
    }
    return n
  }

  #evaluate(e: Effect, sum: Planes, lanes: number): void {
    const machine = this.#machine
    const rows = this.#rows
    const [ox, oy, oz] = machine.out
    this.points += lanes
    machine.run(e.program, e.time, e.params, lanes)
    for (let n = 0; n < lanes; n++) {
      const i = rows[n]!
      sum.x[i] = ox[n]!
      sum.y[i] = oy[n]!
      sum.z[i] = oz[n]!
    }
  }
}
