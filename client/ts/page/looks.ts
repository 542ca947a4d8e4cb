// Where the motion of a body comes from.

import type { Schema } from '../src/index.ts'

/** Where a body comes from: computed here; in rows at present, of a kind that is computed at times; in rows. */
export type Look = 'awake' | 'asleep' | 'owed' | 'sent'

/** Remembers which kinds have been computed: the schema does not tell which are. */
export class Looks {
  #schema: Schema | undefined
  readonly #computed = new Set<number>()

  /** Returns the look of a body of a kind. exact says whether it is computed now. */
  of(schema: Schema, kind: number, exact: boolean, awake: boolean): Look {
    if (schema !== this.#schema) this.#computed.clear()
    this.#schema = schema
    if (!exact) return this.#computed.has(kind) ? 'owed' : 'sent'
    this.#computed.add(kind)
    return awake ? 'awake' : 'asleep'
  }
}
