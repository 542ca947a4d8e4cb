// The entities in view, exact or ordinary.

import type { Name } from './extension.ts'
import type { Track } from './track.ts'

/** An entity in view. */
export interface Seat extends Name {
  kind: number
  tick: number // of its newest state
  place: number // in Seats.all
  track: Track | null // null: the entity is ordinary
}

/** The entities in view by slot. */
export class Seats {
  readonly #all: Seat[] = []
  readonly #bySlot = new Map<number, Seat>()

  /** In no particular order. */
  get all(): readonly Seat[] {
    return this.#all
  }

  find(slot: number): Seat | undefined {
    return this.#bySlot.get(slot)
  }

  /** Adds an entity in a slot that is free. */
  add(h: Name, kind: number, tick: number): Seat {
    const seat = { slot: h.slot, generation: h.generation, kind, tick, place: this.#all.length, track: null }
    this.#bySlot.set(h.slot, seat)
    this.#all.push(seat)
    return seat
  }

  remove(seat: Seat): void {
    this.#bySlot.delete(seat.slot)
    const last = this.#all.pop()
    if (last && last !== seat) {
      last.place = seat.place
      this.#all[seat.place] = last
    }
  }
}
