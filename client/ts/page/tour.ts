// A tour of the demo in four steps. It ends with a handle that turns stale.

import { formatHandle, generationOf, type Handle, indexOf, none } from '../src/index.ts'
import { element, setText } from './dom.ts'
import type { Knowledge } from './scene.ts'

/** Where the browser remembers that the visitor has seen the tour, or skipped it. */
const seenKey = 'worldd tour'

/** The page's part of the tour. */
export interface Guide {
  /** Returns the name of a kind whose entities soon die, '' while none is in view. */
  mortal(): string
  /** Holds and inspects the nearest entity of the mortal kind. */
  pick(): void
}

/** Leads the visitor from step to step. */
export class Tour {
  readonly #guide: Guide
  readonly #box = element('tour')
  readonly #next = element<HTMLButtonElement>('tournext')
  readonly #skip = element<HTMLButtonElement>('tourskip')
  #step: 0 | 1 | 2 | 3 | 4 = 0 // 0: closed
  #handle: Handle = none // that the visitor picked
  #kind = ''

  /** @param signal - ends the tour with the session */
  constructor(guide: Guide, signal: AbortSignal) {
    this.#guide = guide
    this.#next.onclick = () => this.#advance()
    this.#skip.onclick = () => this.#close()
    element('tourbegin').onclick = () => {
      this.begin()
      this.#next.focus()
    }
    this.#box.onkeydown = (e) => {
      if (e.code === 'Escape') this.#close()
    }
    signal.addEventListener('abort', () => (this.#box.hidden = true))
  }

  /** Begins, unless this browser has seen the tour. */
  beginOnce(): void {
    if (read() === null) this.begin()
  }

  begin(): void {
    this.#step = 1
    this.#handle = none
    this.#box.hidden = false
  }

  get isOpen(): boolean {
    return this.#step !== 0
  }

  /** Tells the tour that the visitor holds an entity of a kind. */
  notePicked(h: Handle, kind: string | undefined): void {
    if (this.#step !== 2 || kind !== this.#kind) return
    this.#handle = h
    this.#step = 3
  }

  #advance(): void {
    if (this.#step === 2) this.#guide.pick()
    else if (this.#step === 4) this.#close()
    else this.#step = this.#step === 1 ? 2 : 4
  }

  #close(): void {
    this.#step = 0
    this.#box.hidden = true
    write()
    element('tourbegin').focus()
  }

  /** Shows the present step. */
  update(c: Knowledge): void {
    if (this.#step === 0) return
    if (this.#handle === none) this.#kind = this.#guide.mortal() || this.#kind
    const isStale = this.#handle !== none && c.resolve(this.#handle) === 'stale'
    setText('tourtitle', this.#step === 4 && isStale ? `4 of 4: your ${this.#kind} went stale` : this.#title())
    setText('tourtext', this.#step === 4 && isStale ? this.#ending(c.tenantOf(this.#handle)) : this.#text())
    const verbs = ['', 'Next', `Pick a ${this.#kind} for me`, 'Next', isStale ? 'Done' : 'End the tour']
    setText('tournext', verbs[this.#step] ?? '')
    this.#skip.hidden = this.#step === 4
    this.#next.disabled = this.#step === 2 && this.#kind === ''
  }

  #title(): string {
    const what = ['', 'a world in your browser', 'pick something that dies', 'a handle', 'now wait']
    return `${this.#step} of 4: ${what[this.#step]}`
  }

  #text(): string {
    const name = formatHandle(this.#handle)
    switch (this.#step) {
      case 1:
        return 'The server owns this world. It sends what surprises, and this page computes the rest. Steer your avatar: it moves at once, and the server agrees later.'
      case 2:
        return this.#kind === ''
          ? 'Soon something comes into view that does not live long.'
          : `Each ${this.#kind} here lives for seconds. Click one, or let the tour pick the nearest.`
      case 3:
        return `You hold ${name}: slot ${indexOf(this.#handle)}, generation ${generationOf(this.#handle)}. It names this ${this.#kind} and never anything else. The panel shows what the page knows of it.`
      default:
        return `${name} is not dead yet. When it dies, others will soon use its slot.`
    }
  }

  #ending(tenant: Handle): string {
    const reused = tenant === none ? '' : ` Its slot has a new tenant, ${formatHandle(tenant)}: another name.`
    return `${formatHandle(this.#handle)} is dead, and its handle says so for ever: here, at the server, and on any other machine.${reused} A handle never lies.`
  }
}

function read(): string | null {
  try {
    return localStorage.getItem(seenKey)
  } catch {
    return null // the browser stores nothing for this page
  }
}

function write(): void {
  try {
    localStorage.setItem(seenKey, 'seen')
  } catch {
    // The tour begins again at the next visit.
  }
}
