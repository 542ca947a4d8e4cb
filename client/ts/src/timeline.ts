// The ticks of the snapshots that were applied.

import type { StateHeader } from './state.ts'

/** The ticks of snapshots and renders, which tell from when on a new state is shown. */
export class Timeline {
  /** The tick of the newest snapshot, 0 before the first. */
  tick = 0
  /** The tick of the newest render. */
  shown = 0
  /** The ticks between two snapshots. */
  interval = 0
  #before = 0 // newest tick of a snapshot before tick, sent or omitted
  #empty = 0 // number of the first snapshot of tick if it was empty, else 0

  /** Moves to a newer snapshot. */
  advance(h: StateHeader): void {
    this.#before = this.tick
    // A server omits the snapshots after an empty one that would be empty too.
    if (this.#empty !== 0 && h.seq === this.#empty + 1) this.#before = Math.max(this.#before, h.tick - this.interval)
    this.#empty = h.rows + h.events.length === 0 ? h.seq : 0
    this.tick = h.tick
  }

  /**
   * Returns the tick from which a new state is blended in: 0 for the tick of the previous state,
   * unless a snapshot between the two had no row of the entity. Then the entity was shown at rest,
   * and its new state is blended in from the newest render on, but over two snapshots at most.
   * @param tick - of the new state
   * @param previous - tick of the entity's previous state
   */
  blendFrom(tick: number, previous: number): number {
    if (tick < this.tick || this.#before <= previous) return 0
    return Math.min(Math.max(this.shown, 2 * this.#before - tick), tick - 1)
  }
}
