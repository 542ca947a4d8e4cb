// The work that a server may cause: as client/internal/work.

import { Code, WireError } from './codes.ts'

/** How much work a server may cause at once in ms, and the share of passing time that work may take. */
const maxWork = 50
const workShare = 0.25
/** The work beyond maxWork that ends the session: work that cannot wait, of messages on the stream. */
const maxDebt = 500
/** The work of one tick, in ms, above which its bodies are not computed at all. */
export const maxTickWork = 25

/** Estimated times, in ms. */
export const cost = {
  datagram: 0.002,
  row: 0.000_2,
  record: 0.002,
  program: 0.05, // and for each byte of it
  code: 0.000_5,
  room: 0.2, // of a Welcome that moves the session, and for each byte of its schema
  schema: 0.000_5,
  snapshot: 0.002, // of a complete one, without its ticks
  tick: 0.001,
  body: 0.000_15, // that is awake, in a tick
  track: 0.008, // of a body that is new
  reach: 0.000_004, // to find whether a body is in reach of an effect that moves or changes
  effect: 0.000_2, // in a tick
  act: 0.000_5, // of an effect, for each block of bodies that a tick moves
  instruction: 0.000_01, // of an effect that is added, changed or found again
  look: 0.000_01, // at anything else
} as const

/**
 * Bounds the time of the work that a server causes. Work counts by estimates, so that the
 * same bytes and times have the same result everywhere.
 */
export class Budget {
  /** The work done and not paid for by time, in ms. */
  debt = 0
  #at = 0 // when time last paid

  /** Pays for work by the time that has passed until now. */
  pay(now: number): void {
    this.debt = Math.max(this.debt - Math.max(now - this.#at, 0) * workShare, 0)
    this.#at = now
  }

  spend(ms: number): void {
    this.debt += ms
  }

  /** Reports whether work that can wait should wait. */
  get spent(): boolean {
    return this.debt >= maxWork
  }

  /** Reports whether work that should not wait, but can, has to be given up. */
  get overdrawn(): boolean {
    return this.debt >= maxWork + maxTickWork
  }

  /** Throws if there was too much work that could not wait. */
  check(): void {
    if (this.debt > maxWork + maxDebt) {
      throw new WireError(
        Code.tooMuch,
        `the server causes more work than a client may do: ${maxWork + maxDebt} ms at once, or ${100 * workShare} % of the time; it is broken or hostile`,
      )
    }
  }
}
