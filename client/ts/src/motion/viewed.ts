// The entities in view, exact or ordinary.

import type { Name } from './extension.ts'
import type { Track } from './track.ts'

/** An entity in view. */
export interface Viewed extends Name {
  kind: number
  tick: number // of its newest state
  place: number // index in ViewedEntities.all
  track: Track | null // null: the entity is ordinary
}

/** The entities in view by slot. */
export class ViewedEntities {
  readonly #all: Viewed[] = []
  readonly #bySlot = new Map<number, Viewed>()

  /** All entities, in no particular order. */
  get all(): readonly Viewed[] {
    return this.#all
  }

  find(slot: number): Viewed | undefined {
    return this.#bySlot.get(slot)
  }

  /** Adds an entity to a free slot. */
  add(h: Name, kind: number, tick: number): Viewed {
    const viewed = { slot: h.slot, generation: h.generation, kind, tick, place: this.#all.length, track: null }
    this.#bySlot.set(h.slot, viewed)
    this.#all.push(viewed)
    return viewed
  }

  remove(viewed: Viewed): void {
    this.#bySlot.delete(viewed.slot)
    const last = this.#all.pop()
    if (last && last !== viewed) {
      last.place = viewed.place
      this.#all[viewed.place] = last
    }
  }
}
