// Bounds of the memory that a server can make the client use.

import { LimitError } from './codes.ts'

/** Bounds of what a server can make the client keep. */
export interface Limits {
  readonly entities: number
  readonly bytes: number
}

/** The memory that the message being checked may still use. */
export class MemoryBudget {
  readonly #limit: number
  #left = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Begins a message. */
  begin(bytesUsed: number): void {
    this.#left = this.#limit - bytesUsed
  }

  charge(bytes: number): void {
    this.#left -= bytes
    if (this.#left < 0) throw new LimitError('maxBytes', this.#limit)
  }
}
