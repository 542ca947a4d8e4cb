// Effects that a predicted step asks for.

import { maxOnce } from './predict_window.ts'

/** Remembers the effects that once has reported, for the ticks of the rings. */
export class Effects {
  readonly undone: { readonly tick: number; readonly key: number }[] = []
  #ticks = new Uint32Array(0) // by slot: the tick whose effects the slot holds
  #keys: number[][] = []
  #asked = new Uint8Array(0) // bit i: the newest call of step asked for key i

  /** Makes the slots of that many ticks, all empty. */
  resize(window: number): void {
    this.#ticks = new Uint32Array(window)
    this.#keys = Array.from({ length: window }, () => [])
    this.#asked = new Uint8Array(window)
  }

  /** Forgets the effects of all ticks, but not those to undo: another world or entity has effects of its own in the same ticks. */
  forgetAll(): void {
    this.#ticks.fill(0)
  }

  #slotOf(tick: number): number {
    return tick % this.#ticks.length
  }

  /** Prepares for a call of the step function for tick. */
  beginTick(tick: number): void {
    const slot = this.#slotOf(tick)
    if (this.#ticks[slot] !== tick) {
      this.#ticks[slot] = tick
      this.#keys[slot]!.length = 0
    }
    this.#asked[slot] = 0
  }

  /** Reports whether key is new at tick. */
  askFor(tick: number, key: number): boolean {
    const slot = this.#slotOf(tick)
    const keys = this.#keys[slot]!
    const i = keys.indexOf(key)
    if (i >= 0) {
      this.#asked[slot]! |= 1 << i
      return false
    }
    if (keys.length === maxOnce) return false
    this.#asked[slot]! |= 1 << keys.length
    keys.push(key)
    return true
  }

  /** Drops the effects of tick that its step did not ask for again. */
  endTick(tick: number): void {
    const slot = this.#slotOf(tick)
    const asked = this.#asked[slot]!
    this.#keys[slot] = this.#keys[slot]!.filter((key, i) => {
      const kept = ((asked >> i) & 1) !== 0
      if (!kept) this.undone.push({ tick, key })
      return kept
    })
  }

  /** Drops all effects of a tick. */
  dropTick(tick: number): void {
    this.beginTick(tick)
    this.endTick(tick)
  }
}
