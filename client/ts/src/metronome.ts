// Updates of a client without frames.

/** How often the function is called, in ms. */
const beat = 50

/**
 * Calls a function every 50 ms, also while the page is hidden. Browsers then stop frames, and slow a
 * page's timers to once a second or less, but not a worker's timers.
 */
export class Metronome {
  readonly #f: () => void
  #worker: Worker | undefined
  #timer: ReturnType<typeof setInterval> | undefined

  constructor(f: () => void) {
    this.#f = f
  }

  start(): void {
    if (this.#worker || this.#timer !== undefined) return
    try {
      const url = URL.createObjectURL(
        new Blob([`setInterval(() => postMessage(0), ${beat})`], { type: 'text/javascript' }),
      )
      this.#worker = new Worker(url)
      URL.revokeObjectURL(url)
      this.#worker.onmessage = this.#f
      this.#worker.onerror = () => this.#useTimer()
    } catch {
      this.#useTimer()
    }
  }

  /** Uses a timer if the page's policy forbids the worker. */
  #useTimer(): void {
    this.#worker?.terminate()
    this.#worker = undefined
    this.#timer ??= setInterval(this.#f, beat)
  }

  stop(): void {
    this.#worker?.terminate()
    clearInterval(this.#timer)
    this.#worker = undefined
    this.#timer = undefined
  }
}
