// The time line of a recording: play, pause, scrub, speed, and jumps.

import { formatHandle, type Handle, none, printable } from '../src/index.ts'
import { element, Palette, penOf, setText } from './dom.ts'

/** The answer of GET /recording/info. */
export interface Recording {
  readonly file: string
  readonly game: string
  readonly schema: string
  readonly first: number
  readonly last: number
  readonly tick_hz: number
  readonly compared: number
  readonly end: string
  readonly differs: readonly string[]
  readonly changes: readonly string[]
  readonly deaths: readonly number[]
  readonly players: readonly number[]
  readonly stops: readonly number[]
  readonly slow: readonly number[]
  readonly late: readonly number[]
  readonly lateness: string
  readonly full: boolean
}

/** The answer of GET /recording/find. */
interface Found {
  readonly tick: number
  readonly handle?: string
  readonly text: string
}

/** Returns a number of seconds as minutes and seconds. */
export function clockOf(seconds: number): string {
  const s = Math.max(seconds, 0)
  return `${Math.floor(s / 60)}:${(s % 60).toFixed(1).padStart(4, '0')}`
}

/** Knows the tick to show. */
export class Timeline {
  /** The entity whose moments the choice "followed" means. */
  followed: Handle = none
  readonly #recording: Recording
  readonly #range = element<HTMLInputElement>('range')
  readonly #play = element<HTMLButtonElement>('play')
  readonly #speed = element<HTMLSelectElement>('speed')
  readonly #what = element<HTMLSelectElement>('what')
  readonly #strip = element<HTMLCanvasElement>('strip')
  readonly #palette = new Palette()
  #tick: number // with fractions
  #playing = false
  #before = 0 // time of the last advance

  constructor(recording: Recording) {
    this.#recording = recording
    this.#tick = recording.first
    this.#range.min = String(recording.first)
    this.#range.max = String(recording.last)
    this.#range.oninput = () => this.seek(Number(this.#range.value))
    this.#play.onclick = () => this.#setPlaying(!this.#playing)
    element('next').onclick = () => void this.#jump(false)
    element('previous').onclick = () => void this.#jump(true)
    addEventListener('keydown', (e) => this.#press(e))
    this.seek(recording.first)
  }

  /** Shows a tick, and pauses. */
  seek(tick: number): void {
    const { first, last } = this.#recording
    this.#tick = Math.min(Math.max(Math.round(tick), first), last)
    this.#setPlaying(false)
  }

  /** Returns the tick to show at a time in ms. */
  advance(now: number): number {
    const { last, tick_hz } = this.#recording
    if (this.#playing) {
      this.#tick = Math.min(this.#tick + ((now - this.#before) / 1000) * tick_hz * Number(this.#speed.value), last)
      if (this.#tick === last) this.#setPlaying(false)
    }
    this.#before = now
    return Math.floor(this.#tick)
  }

  /** Shows where the shown tick is. */
  show(tick: number): void {
    const { first, last, tick_hz } = this.#recording
    const clock = `${clockOf((tick - first) / tick_hz)} of ${clockOf((last - first) / tick_hz)}`
    this.#range.value = String(tick)
    this.#range.setAttribute('aria-valuetext', `tick ${tick}, ${clock}`)
    setText('clock', clock)
    setText('tick', tick)
    this.#drawStrip(tick)
  }

  #setPlaying(playing: boolean): void {
    if (playing && this.#tick >= this.#recording.last) this.#tick = this.#recording.first
    this.#playing = playing
    this.#play.textContent = playing ? 'Pause' : 'Play'
  }

  #press(e: KeyboardEvent): void {
    if (
      (e.target !== document.body && e.target instanceof HTMLElement && e.target.id !== 'world') ||
      e.ctrlKey ||
      e.metaKey ||
      e.altKey
    )
      return
    const step = e.shiftKey ? this.#recording.tick_hz : 1
    if (e.code === 'Space') this.#setPlaying(!this.#playing)
    else if (e.code === 'ArrowLeft') this.seek(Math.floor(this.#tick) - step)
    else if (e.code === 'ArrowRight') this.seek(Math.floor(this.#tick) + step)
    else return
    e.preventDefault()
  }

  /** Goes to the next moment of the chosen sort, or to the one before. */
  async #jump(back: boolean): Promise<void> {
    const what = this.#what.value
    if (what === 'followed' && this.followed === none) {
      setText('found', 'Follow an entity first.')
      return
    }
    const of = what === 'followed' ? formatHandle(this.followed) : ''
    const query = new URLSearchParams({ tick: String(Math.floor(this.#tick)), what, back: back ? '1' : '', of })
    const answer = await fetch(`recording/find?${query}`)
    if (!answer.ok) {
      setText('found', answer.status === 404 ? `none ${back ? 'before' : 'after'} this tick` : await answer.text())
      return
    }
    const found: Found = await answer.json()
    this.seek(found.tick)
    setText('found', `tick ${found.tick.toLocaleString('en')}: ${printable(found.text)}`)
  }

  /** Draws deaths as bars, and a row of marks for each other entry of the legend above them. */
  #drawStrip(tick: number): void {
    const { first, last, deaths, players, stops, slow, late, differs } = this.#recording
    const strip = this.#strip
    const width = Math.round(strip.clientWidth * devicePixelRatio)
    const height = Math.round(strip.clientHeight * devicePixelRatio)
    if (strip.width !== width || strip.height !== height) Object.assign(strip, { width, height })
    const pen = penOf(strip)
    pen.clearRect(0, 0, width, height)
    const markWidth = Math.max(width / deaths.length, 2 * devicePixelRatio) // of a mark: the server sends one for each column
    const at = (t: number): number => ((t - first) / Math.max(last - first, 1)) * (width - markWidth)
    const most = Math.max(...deaths, 1)
    const row = height / 7
    pen.fillStyle = this.#palette.of('muted')
    deaths.forEach((n, i) => {
      const tall = (n / most) * row * 3
      pen.fillRect((i * width) / deaths.length, height - tall, Math.max(width / deaths.length - 1, 1), tall)
    })
    pen.fillStyle = this.#palette.of('accent')
    pen.fillRect(at(tick), 0, 2 * devicePixelRatio, height)
    const rows: readonly (readonly [readonly number[], string])[] = [
      [players, 'good'],
      [differs.length > 0 ? [...stops, last] : stops, 'edge'],
      [late, 'kind3'],
      [slow, 'kind2'],
    ]
    rows.forEach(([ticks, colour], i) => {
      pen.fillStyle = this.#palette.of(colour)
      for (const t of ticks) pen.fillRect(at(t), i * row, markWidth, row - devicePixelRatio)
    })
  }
}
