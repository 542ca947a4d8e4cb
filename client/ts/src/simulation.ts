// Bodies that the client computes: SIMULATING.md beside PROTOCOL.md. Games that do not use them do not
// bundle their code.

import { fail } from './codes.ts'
import { Bodies, type BodiesOptions } from './motion/bodies.ts'
import { State } from './motion/columns.ts'
import { Exact, readBody } from './motion/exact.ts'
import { readExtension } from './motion/extension.ts'
import type { Schema } from './schema.ts'

/** The value for SessionConfig.simulation. */
export const simulation = {
  /** @internal */ newBodies: (o: BodiesOptions): Bodies => new Bodies(o),
  /** @internal */ newExact: (maxBack: number): Exact => new Exact(maxBack),
  /** @internal */ newState: (): State => new State(),
  /** @internal */ readBody,
  /** @internal */ readExtension,
}

/** Computes bodies. */
export type Simulation = typeof simulation

const bodyLines = ['Position[0]', 'Position[1]', 'Position[2]', 'Velocity[0]', 'Velocity[1]', 'Velocity[2]']

/** Checks that a schema has everything that a simulating session needs (section 4). */
export function checkBodies(s: Schema, tickHz: number): void {
  const body = s.components.find((c) => c.name === 'body')
  const ok =
    body?.fields.length === 6 &&
    body.fields.every(
      (f, i) =>
        f.path === bodyLines[i] &&
        f.linear &&
        !f.owner &&
        f.kind === 'range' &&
        (i < 3
          ? f.low === -1024 && f.step === 1 / 256 && f.largest === 524_288
          : f.low === -128 && f.step === 1 / 32 && f.largest === 8192),
    )
  if (!ok || s.motion?.tickHz !== tickHz)
    fail('the session simulates, but the schema lacks the component body or the motion line for it')
}
