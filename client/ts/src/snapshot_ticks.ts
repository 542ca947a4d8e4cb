// The ticks of a session's snapshots, some of which the server omits.

import type { StateHeader } from './state.ts'

/**
 * Follows the ticks of snapshots. While nothing is new the server may omit snapshots after an
 * empty one, without a gap in their numbers.
 */
export class SnapshotTicks {
  #interval: number
  #tick = 0
  #before = 0
  #empty = 0 // number of the first snapshot of tick if it was empty, otherwise 0

  /** @param interval - the ticks between two snapshots */
  constructor(interval = 0) {
    this.#interval = interval
  }

  /** The ticks between two snapshots. */
  get interval(): number {
    return this.#interval
  }

  /** Changes the ticks between two snapshots. */
  setInterval(ticks: number): void {
    this.#interval = ticks
  }

  /** The tick of the newest snapshot, 0 before the first. */
  get tick(): number {
    return this.#tick
  }

  /** The tick of the snapshot before the newest, even if the server omitted it. */
  get before(): number {
    return this.#before
  }

  /** Whether the newest snapshot was empty. */
  get isEmpty(): boolean {
    return this.#empty !== 0
  }

  /** Adds a datagram, and reports whether it is the first of a newer tick. */
  add(h: StateHeader): boolean {
    if (h.tick <= this.#tick) return false
    this.#before = this.#tick
    if (this.#empty !== 0 && h.seq === this.#empty + 1) this.#before = Math.max(this.#before, h.tick - this.#interval)
    this.#empty = h.rows + h.events.length === 0 ? h.seq : 0
    this.#tick = h.tick
    return true
  }
}
