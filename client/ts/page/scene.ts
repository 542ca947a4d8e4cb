// A picture's contents: a client's world, or a tick of a recording.

import type { Handle, Schema, Verdict } from '../src/index.ts'
import type { ComponentText } from './describe.ts'
import type { Look } from './looks.ts'

/** An entity in a scene. */
export interface Drawn {
  readonly handle: Handle
  readonly kind: number
}

/** The points of arrows, row by row, in metres. */
export interface Grid {
  readonly x: number
  readonly z: number
  readonly step: number
  readonly columns: number
  readonly rows: number
}

/** Receives the wind, in m/s, and the push, in m/s², at a point. */
export type DrawForces = (x: number, z: number, windX: number, windZ: number, pushX: number, pushZ: number) => void

/** The contents of a picture. */
export interface Scene {
  readonly schema: Schema
  readonly all: readonly Drawn[]
  /** The entity that the picture follows. */
  readonly followed: Handle
  entity(h: Handle): Drawn | undefined
  resolve(h: Handle): Verdict
  /** Sets place to the position of an entity. It returns false for one without a body. */
  locate(e: Drawn, place: Float32Array): boolean
  look(e: Drawn): Look
  /** Returns the name of an entity, printable, or ''. */
  nameOf(e: Drawn): string
  /** Calls draw for points of the grid. */
  forces(grid: Grid, draw: DrawForces): void
}

/** Knows handles. */
export interface Knowledge {
  /** The visitor's own entity, or none. */
  readonly own: Handle
  resolve(h: Handle): Verdict
  /** Returns the kind of a handle's entity if that is known now. */
  kindName(h: Handle): string | undefined
  /** Returns the live entity in the slot of a stale handle, or none. */
  tenantOf(h: Handle): Handle
  /** Returns the meaning of a verdict. seen: the entity was seen. */
  meaningOf(h: Handle, verdict: Verdict, seen: boolean): string
  /** The tick whose verdicts resolve returns. */
  readonly tick: number
  /** Returns the components of a handle's entity as a short text. */
  describe(h: Handle): string
  /** Returns the components of a handle's entity with their values. */
  components(h: Handle): readonly ComponentText[]
  /** Returns a sentence about the bytes that a handle's entity has cost, or ''. */
  costOf(h: Handle): string
}
