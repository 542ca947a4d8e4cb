// The inputs of predicted ticks.

/** The newest inputs by tick, in ascending order: as many as its window has ticks. */
export class InputRing<I> extends Map<number, I> {
  readonly window: number

  constructor(window: number) {
    super()
    this.window = window
  }

  /** Adds the input of the newest tick. */
  add(tick: number, input: I): void {
    this.set(tick, input)
    const [oldest] = this.keys()
    if (this.size > this.window && oldest) this.delete(oldest)
  }

  /** Returns the newest tick not after tick that has an input, 0 if there is none. */
  newestUntil(tick: number): number {
    let newest = 0
    for (const t of this.keys()) if (t <= tick) newest = t
    return newest
  }

  /** Forgets the inputs of the ticks from first to last. */
  forget(first: number, last = Infinity): void {
    for (const t of this.keys()) if (t >= first && t <= last) this.delete(t)
  }
}
