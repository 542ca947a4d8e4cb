// The inputs of predicted ticks.

/** The inputs of the newest ticks, as many as fit its window. */
export class InputRing<I> {
  readonly window: number
  /** The tick of each place, 0: empty. */
  readonly ticks: Uint32Array
  readonly #inputs: (I | undefined)[]

  constructor(window: number) {
    this.window = window
    this.ticks = new Uint32Array(window)
    this.#inputs = new Array(window)
  }

  set(tick: number, input: I): void {
    this.ticks[tick % this.window] = tick
    this.#inputs[tick % this.window] = input
  }

  has(tick: number): boolean {
    return this.ticks[tick % this.window] === tick
  }

  /** Returns the input of a tick, or undefined. */
  get(tick: number): I | undefined {
    return tick > 0 && this.has(tick) ? this.#inputs[tick % this.window] : undefined
  }

  /** Returns the newest tick not after tick that has an input, 0 if there is none. */
  newestUntil(tick: number): number {
    let newest = 0
    for (const t of this.ticks) if (t <= tick && t > newest) newest = t
    return newest
  }

  /** Forgets the inputs of the ticks for which isForgotten returns true. */
  forget(isForgotten: (tick: number) => boolean): void {
    this.ticks.forEach((t, i) => {
      if (isForgotten(t)) this.ticks[i] = 0
    })
  }
}
