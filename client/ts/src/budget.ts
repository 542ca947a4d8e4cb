// The work that a server may cause, bounded as in client/internal/work.

import { Code, WireError } from './codes.ts'

/** The work that a server may cause at once, in ms, and the share of passing time that work may take. */
const maxWork = 50
const workShare = 0.25
/** The session ends at so many ms of work beyond maxWork. Only stream messages cause it: their work cannot wait. */
const maxDebt = 500
/** The largest work of one tick, in ms: a tick above it is not computed. */
export const maxTickWork = 25

/** Estimated times, in ms. */
export const cost = {
  datagram: 0.002,
  row: 0.000_2,
  record: 0.002,
  program: 0.05, // plus code for each byte
  code: 0.000_5,
  room: 0.2, // of a Welcome that moves the session, plus schema for each byte of its schema text and the declared one
  schema: 0.000_5,
  snapshot: 0.002, // of a complete snapshot, besides its ticks
  tick: 0.001,
  body: 0.000_15, // of an awake body per tick
  track: 0.008, // of a new body
  reach: 0.000_004, // of testing whether a body is in reach of an effect that moves or changes
  effect: 0.000_2, // of an effect per tick
  act: 0.000_5, // of an effect, for each block of bodies that it moves in a tick
  instruction: 0.000_01, // in the program of an effect that is added, changed or found again
  look: 0.000_01, // of reading any other item of a list
} as const

/**
 * Bounds the time of the work that a server causes. It counts estimates instead of measured
 * times, so that the same bytes and arrival times have the same result everywhere.
 */
export class Budget {
  /** The work done that passing time has not paid for yet, in ms. */
  debt = 0
  #at = 0 // when time last paid

  /** Reduces the debt by the share of the time that has passed until now. */
  pay(now: number): void {
    this.debt = Math.max(this.debt - Math.max(now - this.#at, 0) * workShare, 0)
    this.#at = now
  }

  spend(ms: number): void {
    this.debt += ms
  }

  /** Whether deferrable work should wait. */
  get spent(): boolean {
    return this.debt >= maxWork
  }

  /** Whether the work in progress must be abandoned. */
  get overdrawn(): boolean {
    return this.debt >= maxWork + maxTickWork
  }

  /** Throws if the server caused too much work that could not wait. */
  check(): void {
    if (this.debt > maxWork + maxDebt) {
      throw new WireError(
        Code.tooMuch,
        `the server causes more work than a client may do: ${maxWork + maxDebt} ms at once, or ${100 * workShare} % of the time; it is broken or hostile`,
      )
    }
  }
}
