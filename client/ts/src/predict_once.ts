// Effects that a predicted step asks for.

import { maxOnce } from './predict_window.ts'

/** Remembers the effects that once has reported, for the ticks of the rings. */
export class Effects {
  readonly undone: { readonly tick: number; readonly key: number }[] = []
  /** By slot: the tick, and whether its newest call of step asked for each key. */
  #slots: { tick: number; readonly keys: Map<number, boolean> }[] = []

  /** Makes the slots of that many ticks, all empty. */
  resize(window: number): void {
    this.#slots = Array.from({ length: window }, () => ({ tick: 0, keys: new Map() }))
  }

  /** Forgets the effects of all ticks, but not those to undo: another world or entity has effects of its own in the same ticks. */
  forgetAll(): void {
    for (const s of this.#slots) s.tick = 0
  }

  #keysOf(tick: number): Map<number, boolean> {
    return this.#slots[tick % this.#slots.length]!.keys
  }

  /** Prepares for a call of the step function for tick. */
  beginTick(tick: number): void {
    const s = this.#slots[tick % this.#slots.length]!
    if (s.tick !== tick) s.keys.clear()
    s.tick = tick
    for (const key of s.keys.keys()) s.keys.set(key, false)
  }

  /** Reports whether key is new at tick. */
  askFor(tick: number, key: number): boolean {
    const keys = this.#keysOf(tick)
    const isNew = !keys.has(key)
    if (isNew && keys.size === maxOnce) return false
    keys.set(key, true)
    return isNew
  }

  /** Drops the effects of tick that its step did not ask for again. */
  endTick(tick: number): void {
    const keys = this.#keysOf(tick)
    for (const [key, asked] of keys) {
      if (asked) continue
      keys.delete(key)
      this.undone.push({ tick, key })
    }
  }

  /** Drops all effects of a tick. */
  dropTick(tick: number): void {
    this.beginTick(tick)
    this.endTick(tick)
  }
}
