// The ticks of the snapshots that were applied.

import type { StateHeader } from './state.ts'

/** The ticks of snapshots and renders. They tell from which tick on a new state is blended in. */
export class Timeline {
  /** The tick of the newest snapshot, 0 before the first. */
  tick = 0
  /** The tick of the newest render. */
  shown = 0
  /** The ticks between two snapshots. */
  interval = 0
  #before = 0 // tick of the snapshot before, even if the server omitted it
  #empty = 0 // number of the first snapshot of tick if it was empty, otherwise 0

  /** Moves to a newer snapshot. */
  advance(h: StateHeader): void {
    this.#before = this.tick
    // After an empty snapshot the server omits the tick's other empty ones.
    if (this.#empty !== 0 && h.seq === this.#empty + 1) this.#before = Math.max(this.#before, h.tick - this.interval)
    this.#empty = h.rows + h.events.length === 0 ? h.seq : 0
    this.tick = h.tick
  }

  /**
   * Returns the tick from which a new state is blended in. It is 0, which means from the
   * previous state's tick, unless a snapshot between the two states had no row of the entity.
   * Without a row the entity was drawn at rest, so its new state is blended in from the newest
   * render on, over at most two snapshots.
   * @param tick - tick of the new state
   * @param previous - tick of the entity's previous state
   */
  blendFrom(tick: number, previous: number): number {
    if (tick < this.tick || this.#before <= previous) return 0
    return Math.min(Math.max(this.shown, 2 * this.#before - tick), tick - 1)
  }
}
