// Which part of the world a picture shows.

import type { Schema } from '../src/index.ts'

/** The metres that the shorter side of the picture shows, unless the world is smaller. */
const across = 84
const margin = 1.1
const minZoom = 0.15
const maxZoom = 6
/** How far a key moves the picture, as a share of its shorter side, and how much a key zooms. */
const keyPan = 0.2
const keyZoom = 1.25

const arrows: Record<string, readonly [x: number, z: number]> = {
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
}

/** Follows a body, unless the player moves it elsewhere. Positions on the picture are in pixels, in the world in metres. */
export class Camera {
  /** The middle of the picture, in metres. */
  x = 0
  z = 0
  width = 0
  height = 0
  /** Pixels per metre. */
  scale = 1
  /** Half of the world's sides, in metres; Infinity without an edge. */
  halfX = Infinity
  halfZ = Infinity
  #zoom = 1
  #isAway = false
  #target: readonly [x: number, z: number] | undefined

  /** Adapts to the picture's size and to the world's. */
  fit(width: number, height: number, schema: Schema): void {
    this.width = width
    this.height = height
    this.halfX = schema.motion?.halfX ?? Infinity
    this.halfZ = schema.motion?.halfZ ?? Infinity
    const side = Math.min(across, 2 * margin * Math.max(this.halfX, this.halfZ))
    this.scale = (this.#zoom * Math.min(width, height)) / side
  }

  /** Sets the position of the body to follow, undefined if there is none. */
  track(body: readonly [x: number, z: number] | undefined): void {
    this.#target = body
    if (body && !this.#isAway) [this.x, this.z] = body
  }

  /** Whether the picture follows a body. */
  get follows(): boolean {
    return this.#target !== undefined && !this.#isAway
  }

  /** Whether there is a body to follow, from which the player has moved the picture away. */
  get isAway(): boolean {
    return this.#target !== undefined && this.#isAway
  }

  /** Follows the body again. */
  goBack(): void {
    this.#isAway = false
  }

  /** Shows a place of the world. */
  lookAt(x: number, z: number): void {
    this.#isAway = true
    this.x = Math.min(Math.max(x, -this.halfX), this.halfX)
    this.z = Math.min(Math.max(z, -this.halfZ), this.halfZ)
  }

  /** Moves what is shown by pixels. */
  pan(x: number, y: number): void {
    this.lookAt(this.x - x / this.scale, this.z - y / this.scale)
  }

  /** Zooms about a position on the picture, or while it follows a body about that. */
  zoomBy(factor: number, x = this.width / 2, y = this.height / 2): void {
    const before = this.#zoom
    this.#zoom = Math.min(Math.max(before * factor, minZoom), maxZoom)
    const ratio = this.#zoom / before
    this.scale *= ratio
    if (!this.follows) this.pan((x - this.width / 2) * (1 - ratio), (y - this.height / 2) * (1 - ratio))
  }

  /** Obeys a key of a focused picture, and reports whether it is one of the camera's: + - 0, and arrows. */
  press(e: KeyboardEvent): boolean {
    if (e.ctrlKey || e.metaKey || e.altKey) return false
    const arrow = arrows[e.code]
    const step = keyPan * Math.min(this.width, this.height)
    if (arrow) this.pan(-arrow[0] * step, -arrow[1] * step)
    else if (e.key === '+' || e.key === '=') this.zoomBy(keyZoom)
    else if (e.key === '-') this.zoomBy(1 / keyZoom)
    else if (e.key === '0') this.goBack()
    else return false
    e.preventDefault()
    e.stopPropagation()
    return true
  }

  /** Returns where a place of the world is on the picture. */
  left(x: number): number {
    return this.width / 2 + (x - this.x) * this.scale
  }

  top(z: number): number {
    return this.height / 2 + (z - this.z) * this.scale
  }
}
