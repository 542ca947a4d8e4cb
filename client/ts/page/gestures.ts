// Taps, drags and pinches on a picture.

/** The largest movement of a tap, in pixels. */
const tapPixels = 8

export type Point = readonly [x: number, y: number]

/** A drag has moved. */
export interface Drag {
  /** Its place. */
  readonly at: Point
  readonly fromStart: Point
  readonly moved: Point
  /** Whether it moves the picture in any case. */
  readonly moves: boolean
}

/** The target of gestures. Positions and movements are in pixels of the canvas. */
export interface Target {
  tap(x: number, y: number): void
  drag(d: Drag): void
  dragEnd(): void
  /** Two fingers have moved apart by a factor, and their middle at x, y by a distance. */
  pinch(factor: number, x: number, y: number, movedX: number, movedY: number): void
}

function between(a: Point, b: Point): Point {
  return [b[0] - a[0], b[1] - a[1]]
}

/** Listens to the pointers on a canvas. */
export class Gestures {
  readonly #target: Target
  readonly #down = new Map<number, Point>()
  #from: Point = [0, 0] // start of the drag
  #state: 'none' | 'pressed' | 'dragged' | 'pinched' = 'none'
  #moves = false

  constructor(canvas: HTMLCanvasElement, target: Target) {
    this.#target = target
    canvas.onpointerdown = (e) => {
      canvas.setPointerCapture(e.pointerId)
      this.#down.set(e.pointerId, [e.offsetX, e.offsetY])
      if (this.#down.size > 1) {
        this.#endDrag()
        this.#state = 'pinched'
        return
      }
      this.#from = [e.offsetX, e.offsetY]
      this.#moves = e.shiftKey || e.button === 1
      this.#state = 'pressed'
    }
    canvas.onpointermove = (e) => this.#move(e.pointerId, [e.offsetX, e.offsetY])
    canvas.onpointerup = (e) => {
      const tapped = this.#state === 'pressed'
      this.#end(e.pointerId)
      if (tapped) target.tap(e.offsetX, e.offsetY)
    }
    canvas.onpointercancel = (e) => this.#end(e.pointerId)
  }

  /** Forgets the pointers: the window has lost the focus. */
  release(): void {
    this.#down.clear()
    this.#endDrag()
    this.#state = 'none'
  }

  #move(id: number, to: Point): void {
    const before = this.#down.get(id)
    if (!before) return
    if (this.#state === 'pinched') {
      const other = [...this.#down].find(([k]) => k !== id)?.[1]
      this.#down.set(id, to)
      if (other) this.#pinch(other, before, to)
      return
    }
    const fromStart = between(this.#from, to)
    if (this.#state === 'pressed' && Math.hypot(...fromStart) < tapPixels) return
    this.#state = 'dragged'
    this.#down.set(id, to)
    this.#target.drag({ at: to, fromStart, moved: between(before, to), moves: this.#moves })
  }

  /** One finger has moved, the other rests. */
  #pinch(other: Point, before: Point, to: Point): void {
    const apart = (p: Point): number => Math.max(Math.hypot(p[0] - other[0], p[1] - other[1]), 1)
    const x = (other[0] + to[0]) / 2
    const y = (other[1] + to[1]) / 2
    this.#target.pinch(apart(to) / apart(before), x, y, (to[0] - before[0]) / 2, (to[1] - before[1]) / 2)
  }

  /** A pinch ends with the last finger, so that the other one drags nothing. */
  #end(id: number): void {
    this.#down.delete(id)
    this.#endDrag()
    if (this.#down.size === 0) this.#state = 'none'
  }

  #endDrag(): void {
    if (this.#state === 'dragged') this.#target.dragEnd()
  }
}
