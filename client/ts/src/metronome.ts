// Updates of a client whose page is hidden.

/** How often the client updates while the page is hidden, in ms. */
const beat = 50

/**
 * Calls a function every 50 ms while the page is hidden. Browsers then stop frames, and slow a
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
    const hidden = (): void => {
      if (typeof document === 'undefined' || document.hidden) this.#f()
    }
    try {
      const url = URL.createObjectURL(
        new Blob([`setInterval(() => postMessage(0), ${beat})`], { type: 'text/javascript' }),
      )
      this.#worker = new Worker(url)
      URL.revokeObjectURL(url)
      this.#worker.onmessage = hidden
      this.#worker.onerror = () => this.#useTimer(hidden)
    } catch {
      this.#useTimer(hidden)
    }
  }

  /** Uses a timer if the page's policy forbids the worker. */
  #useTimer(f: () => void): void {
    this.#worker?.terminate()
    this.#worker = undefined
    this.#timer ??= setInterval(f, beat)
  }

  stop(): void {
    this.#worker?.terminate()
    clearInterval(this.#timer)
    this.#worker = undefined
    this.#timer = undefined
  }
}
