// Steers the avatar with keys, or by dragging on the canvas.

import type { Client } from '../src/index.ts'
import { steers } from './avatar.ts'

const keys: Record<string, readonly [x: number, z: number]> = {
  ArrowUp: [0, -1], KeyW: [0, -1], ArrowDown: [0, 1], KeyS: [0, 1], ArrowLeft: [-1, 0], KeyA: [-1, 0], ArrowRight: [1, 0], KeyD: [1, 0],
}
/** full is the input of full speed, fullDrag the pixels that ask for it, click those that a click may move. */
const full = 127
const fullDrag = 60
const click = 8

/** Stick is what the player holds down. */
export class Stick {
  private readonly down = new Set<string>()
  private from: readonly [number, number] | undefined // where a drag began
  private drag: readonly [number, number] = [0, 0]
  private x = 0
  private z = 0

  /** A click calls pick with its place on the canvas. */
  constructor(canvas: HTMLCanvasElement, pick: (x: number, y: number) => void) {
    addEventListener('keydown', (e) => {
      if (!(e.code in keys) || e.ctrlKey || e.metaKey || e.altKey || e.target instanceof HTMLInputElement) return
      this.down.add(e.code)
      e.preventDefault()
    })
    addEventListener('keyup', (e) => this.down.delete(e.code))
    addEventListener('blur', () => this.release())
    canvas.onpointerdown = (e) => {
      canvas.setPointerCapture(e.pointerId)
      this.from = [e.offsetX, e.offsetY]
    }
    canvas.onpointermove = (e) => {
      if (!this.from) return
      const x = e.offsetX - this.from[0]
      const y = e.offsetY - this.from[1]
      this.drag = Math.hypot(x, y) < click ? [0, 0] : [x / fullDrag, y / fullDrag]
    }
    canvas.onpointerup = (e) => {
      if (this.from && this.drag[0] === 0 && this.drag[1] === 0) pick(e.offsetX, e.offsetY)
      this.from = undefined
      this.drag = [0, 0]
    }
    canvas.onpointercancel = () => this.release()
  }

  private release(): void {
    this.down.clear()
    this.from = undefined
    this.drag = [0, 0]
  }

  /** steer sends the course, to games whose input has X and Z as the demo's. */
  steer(c: Client): void {
    if (!steers(c)) return
    let [x, z] = this.drag
    for (const k of this.down) {
      x += keys[k][0]
      z += keys[k][1]
    }
    const length = Math.max(Math.hypot(x, z), 1)
    x = Math.round((full * x) / length)
    z = Math.round((full * z) / length)
    // A prediction ends at the newest input: it needs one a frame, but not of an avatar at rest.
    if (x === this.x && z === this.z && x === 0 && z === 0) return
    this.x = x
    this.z = z
    c.setInput({ X: x, Z: z })
  }
}
