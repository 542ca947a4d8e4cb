// The declarations of a game, and how a server's schema differs from them. Games that declare nothing
// do not bundle binding.ts, which implements these interfaces.

import type { Message, Schema } from './schema.ts'

/** The versions of the game, '' where unknown. */
export interface Versions {
  readonly client: string
  readonly server: string
}

/** The schema that a game was built with: see declareSchema. */
export interface Declaration {
  readonly schema: Schema
  /**
   * @internal Gives the items of a server's schema the structs of the declaration. Returns undefined if
   * the schemas are equal. Throws a SchemaError if a field cannot be converted; if strict, for any difference.
   */
  bind(server: Schema, versions: Versions, strict: boolean | undefined): Binding | undefined
}

/** How a server's schema differs from the declaration. */
export interface Binding {
  /** The differences, one line each. */
  readonly changes: readonly string[]
  /** @internal Throws a WireError if the game declares the command and the server lacks it. */
  checkCommand(name: string): void
  /** @internal The input, without fields, if the game declares it and the server lacks it. */
  readonly unservedInput: Message | undefined
}
