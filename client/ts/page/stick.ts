// Steers with keys, or by dragging on the canvas.

import type { Client, Message } from '../src/index.ts'
import type { Camera } from './camera.ts'
import { Controls } from './controls.ts'
import { element } from './dom.ts'
import { Gestures } from './gestures.ts'

const directions: Record<string, readonly [x: number, z: number]> = {
  ArrowUp: [0, -1],
  KeyW: [0, -1],
  ArrowDown: [0, 1],
  KeyS: [0, 1],
  ArrowLeft: [-1, 0],
  KeyA: [-1, 0],
  ArrowRight: [1, 0],
  KeyD: [1, 0],
}
/** The drag that gives full deflection, in pixels. */
const fullDrag = 60

/** The target of clicks. */
interface Picture {
  pick(x: number, y: number): void
  /** Picks what is nearest to the middle, and was not picked before. */
  pickNearest(): void
}

/** Reports whether a key belongs to the focused element: text to a field, Space to a button. */
function isForFocus(e: KeyboardEvent): boolean {
  const { target } = e
  if (target instanceof HTMLCanvasElement) return false
  if (target instanceof HTMLInputElement && target.type !== 'checkbox') return true
  return e.code === 'Space' && target instanceof HTMLElement && target !== document.body
}

/** The keys and drags that the player holds. */
export class Stick {
  readonly #down = new Set<string>()
  #controls = new Controls(undefined)
  #declared: Message | undefined
  readonly #gestures: Gestures
  #drag: readonly [number, number] = [0, 0]
  #resting = true

  /** Listens to keys until signal is aborted, at the session's end. Drags move the camera unless they steer the body that it follows. */
  constructor(canvas: HTMLCanvasElement, camera: Camera, picture: Picture, signal: AbortSignal) {
    addEventListener(
      'keydown',
      (e) => {
        if (!this.#uses(e.code) || e.ctrlKey || e.metaKey || e.altKey || isForFocus(e)) return
        this.#down.add(e.code)
        e.preventDefault()
      },
      { signal },
    )
    addEventListener('keyup', (e) => this.#down.delete(e.code), { signal })
    addEventListener('blur', () => this.#release(), { signal })
    this.#gestures = new Gestures(canvas, {
      tap: (x, y) => picture.pick(x, y),
      drag: (d) => {
        if (d.moves || !camera.follows || !this.#controls.steers) camera.pan(...d.moved)
        else this.#drag = [d.fromStart[0] / fullDrag, d.fromStart[1] / fullDrag]
      },
      dragEnd: () => {
        this.#drag = [0, 0]
      },
      pinch: (factor, x, y, movedX, movedY) => {
        camera.zoomBy(factor, x, y)
        if (!camera.follows) camera.pan(movedX, movedY)
      },
    })
    canvas.onwheel = (e) => {
      e.preventDefault()
      camera.zoomBy(Math.exp(-e.deltaY / 500), e.offsetX, e.offsetY)
    }
    canvas.onkeydown = (e) => {
      if (e.code === 'Enter') picture.pickNearest()
      else if (e.shiftKey || !e.code.startsWith('Arrow')) camera.press(e)
    }
  }

  #release(): void {
    this.#down.clear()
    this.#gestures.release()
    this.#drag = [0, 0]
  }

  #uses(key: string): boolean {
    return (this.#controls.steers && key in directions) || this.#controls.presses.some((p) => p.key === key)
  }

  /** Shows the keys that a game's input has. */
  #declare(input: Message | undefined): void {
    this.#declared = input
    this.#controls = new Controls(input)
    document.body.classList.toggle('steers', this.#controls.steers)
    element('presses').textContent = this.#controls.presses
      .map((p) => `${p.key.replace('Key', '')}: ${p.name}. `)
      .join('')
  }

  /** Sends what the player holds down, if the game declares axes or buttons. */
  steer(c: Client): void {
    const { input } = c.schema
    if (input !== this.#declared) this.#declare(input)
    const controls = this.#controls
    if (!controls.steers && controls.presses.length === 0) return
    let [x, z] = this.#drag
    let rests = x === 0 && z === 0
    for (const key of this.#down) {
      rests = false
      x += directions[key]?.[0] ?? 0
      z += directions[key]?.[1] ?? 0
    }
    // A prediction ends at the newest input, so it needs an input per frame, except while the
    // avatar rests.
    if (rests && this.#resting) return
    this.#resting = rests
    const length = Math.max(Math.hypot(x, z), 1)
    c.setInput(controls.input(x / length, z / length, this.#down))
  }
}
