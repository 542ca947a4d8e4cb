// The ticks of the snapshots that were applied.

import { SnapshotTicks } from './snapshot_ticks.ts'
import type { StateHeader } from './state.ts'

/** The ticks of snapshots, inputs and renders. They tell from which tick on a new state is blended in. */
export class Timeline {
  readonly snapshots = new SnapshotTicks()
  #input = 0
  #shown = 0
  #span = 0

  /** The tick of the newest input that the server had applied, 0 if none. */
  get input(): number {
    return this.#input
  }

  /** The ticks for which states are kept, for interpolation. */
  get span(): number {
    return this.#span
  }

  /** Keeps states of the last ticks from now on. */
  keepStates(ticks: number): void {
    this.#span = ticks
  }

  /** Notes the tick of the newest render. */
  show(tick: number): void {
    this.#shown = tick
  }

  /** Notes a datagram that is being applied. */
  add(h: StateHeader): void {
    if (this.snapshots.add(h)) this.#input = h.input
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
    const { before } = this.snapshots
    if (tick < this.snapshots.tick || before <= previous) return 0
    return Math.min(Math.max(this.#shown, 2 * before - tick), tick - 1)
  }
}
