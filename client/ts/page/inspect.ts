// The details of one held handle: verdicts, bytes, and components with their values.

import type { Handle, Verdict } from '../src/index.ts'
import type { Knowledge } from './scene.ts'

/** Bounds the verdicts that are listed. */
const maxVerdicts = 6

/** Shows what the page knows of a handle, and remembers its verdicts. */
export class Details {
  /** Contains the details. It is hidden until open. */
  readonly box = document.createElement('div')
  readonly #verdicts = document.createElement('p')
  readonly #cost = document.createElement('p')
  readonly #components = document.createElement('dl')
  #history: { readonly verdict: Verdict; readonly tick: number }[] = []

  constructor() {
    this.box.className = 'details'
    this.box.hidden = true
    this.box.append(this.#verdicts, this.#cost, this.#components)
  }

  /** Shows or hides the details. */
  set open(open: boolean) {
    this.box.hidden = !open
  }

  get open(): boolean {
    return !this.box.hidden
  }

  /** Remembers the verdict at a tick. In a recording a tick may be earlier than the one before: later verdicts are forgotten. */
  note(verdict: Verdict, tick: number): void {
    const last = this.#history.at(-1)
    if (last?.verdict === verdict && last.tick <= tick) return
    this.#history = this.#history.filter((h) => h.tick < tick)
    if (this.#history.at(-1)?.verdict !== verdict) this.#history.push({ verdict, tick })
    if (this.#history.length > maxVerdicts) this.#history.shift()
    setText(this.#verdicts, this.#history.map((h) => `${h.verdict} at tick ${h.tick.toLocaleString('en')}`).join(' → '))
  }

  /** Shows the present values of an open handle. */
  sample(c: Knowledge, h: Handle): void {
    if (!this.open) return
    setText(this.#cost, c.costOf(h))
    const texts = c.components(h)
    while (this.#components.childElementCount > 2 * texts.length) this.#components.lastElementChild?.remove()
    while (this.#components.childElementCount < 2 * texts.length)
      this.#components.append(document.createElement('dt'), document.createElement('dd'))
    texts.forEach(({ name, text }, i) => {
      setText(this.#components.children[2 * i]!, name)
      setText(this.#components.children[2 * i + 1]!, text)
    })
  }
}

function setText(e: Element, text: string): void {
  if (e.textContent !== text) e.textContent = text
}
