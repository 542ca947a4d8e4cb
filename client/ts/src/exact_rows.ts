// The exact states in rows, for sessions that compute bodies: PROTOCOL.md, sections 7 and 9.

import type { BitReader } from './bits.ts'
import type { Budget } from './budget.ts'
import { fail } from './codes.ts'
import type { Layout } from './entity.ts'
import type { Field } from './fields.ts'
import { guard } from './guard.ts'
import { newHandle } from './handles.ts'
import { maxBack } from './limits.ts'
import type { Bodies } from './motion/bodies.ts'
import type { State } from './motion/columns.ts'
import type { Exact } from './motion/exact.ts'
import type { Observer } from './observer.ts'
import type { Received } from './rows.ts'
import type { Simulation } from './simulation.ts'

/** Reads exact states, and holds the bodies that are computed from them. */
export class ExactRows {
  readonly bodies: Bodies
  /** The form and age of the row whose header was read last. */
  readonly header: Exact
  readonly #simulation: Simulation
  readonly #restTicks: number
  readonly #component: number
  readonly #fields: readonly Field[]
  readonly #received: Received
  readonly #grid = new Float32Array(6)

  /** @param received - counts the bits of the component body in rows */
  constructor(
    simulation: Simulation,
    layout: Layout,
    received: readonly Received[],
    observer: Observer,
    budget: Budget,
  ) {
    const { motion, kinds, components } = layout.schema
    const body = components[layout.body]
    const counts = received[layout.body]
    if (!motion || !body || !counts) fail('the session simulates, but the schema does not say how bodies move')
    this.#simulation = simulation
    this.#restTicks = motion.restTicks
    this.#component = layout.body
    this.#fields = body.fields
    this.#received = counts
    this.header = simulation.newExact(maxBack(motion.tickHz))
    this.bodies = simulation.newBodies({
      motion,
      kinds,
      budget,
      diverge: (tick, names) =>
        guard(() =>
          observer.diverge?.(
            tick,
            names.map((n) => newHandle(n.slot, n.generation)),
          ),
        ),
    })
  }

  newState(): State {
    return this.#simulation.newState()
  }

  /** Checks that an entity may have an exact state. */
  check(kind: number, mask: number): void {
    if (((mask >>> this.#component) & 1) === 0 || !this.bodies.hasKind(kind))
      fail(`an exact state of an entity of kind ${kind}, which cannot have one`)
  }

  /** Reads the exact part of a row whose values begin at an index. */
  read(r: BitReader, form: number, values: Uint32Array, at: number, s: State): void {
    for (let i = 0; i < 6; i++) {
      const f = this.#fields[i]!
      this.#grid[i] = f.low + values[at + f.index]! * f.step
    }
    const from = r.taken
    this.#simulation.readBody(r, form, this.#grid, this.#restTicks, s)
    this.#received.bits += r.taken - from
  }
}
