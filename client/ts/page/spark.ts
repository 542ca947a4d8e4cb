// Sparklines: a minute of one figure.

import { element, Palette, penOf } from './dom.ts'

/** The span of a sparkline, in ms. */
const span = 60_000

/** Draws the newest minute of a figure. */
export class Spark {
  readonly #canvas: HTMLCanvasElement
  readonly #palette = new Palette()
  #points: { readonly at: number; readonly value: number }[] = []

  constructor(id: string) {
    this.#canvas = element<HTMLCanvasElement>(id)
  }

  /** Adds the value at a time in ms. */
  add(at: number, value: number): void {
    this.#points = this.#points.filter((p) => p.at > at - span)
    this.#points.push({ at, value })
    const canvas = this.#canvas
    const width = Math.round(canvas.clientWidth * devicePixelRatio)
    const height = Math.round(canvas.clientHeight * devicePixelRatio)
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height })
    const most = Math.max(...this.#points.map((p) => p.value))
    const pen = penOf(canvas)
    pen.clearRect(0, 0, width, height)
    pen.strokeStyle = this.#palette.of('muted')
    pen.lineWidth = devicePixelRatio
    pen.lineJoin = 'round'
    pen.beginPath()
    for (const p of this.#points)
      pen.lineTo(width * (1 - (at - p.at) / span), height - 1 - (most > 0 ? (p.value / most) * (height - 2) : 0))
    pen.stroke()
    canvas.title = `the last minute, at most ${most.toLocaleString('en', { maximumFractionDigits: 1 })}`
  }
}
