// The source of a body's motion.

import type { Schema } from '../src/index.ts'

/**
 * The source of a body's motion. awake and asleep: it is computed here. owed: it is in rows
 * now, but its kind is computed at times. sent: it is in rows.
 */
export type Look = 'awake' | 'asleep' | 'owed' | 'sent'

/** Remembers which kinds have been computed, since the schema does not tell. */
export class Looks {
  #schema: Schema | undefined
  readonly #computed = new Set<number>()

  /** Returns where the motion of a body comes from. exact reports whether it is computed now. */
  of(schema: Schema, kind: number, exact: boolean, awake: boolean): Look {
    if (schema !== this.#schema) this.#computed.clear()
    this.#schema = schema
    if (!exact) return this.#computed.has(kind) ? 'owed' : 'sent'
    this.#computed.add(kind)
    return awake ? 'awake' : 'asleep'
  }
}
