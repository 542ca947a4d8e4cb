// The map: the whole world, what is in view of it, and which part the picture shows.

import type { Camera } from './camera.ts'
import { element, Palette, penOf } from './dom.ts'
import { Gestures } from './gestures.ts'
import { colourOf } from './legend.ts'
import type { Scene } from './scene.ts'

/** The time between two drawings, in ms. */
const period = 100
/** The size of an entity, in pixels, and the room around the world. */
const dot = 1.5
const border = 4

/** Draws the map. A tap or a drag on it, or its keys, move the picture; a pinch or the wheel zooms it. */
export class Minimap {
  readonly #canvas = element<HTMLCanvasElement>('map')
  readonly #pen = penOf(this.#canvas)
  readonly #palette = new Palette()
  readonly #camera: Camera
  readonly #place = new Float32Array(3)
  #drawn = -period
  // The map's scale, and how far what it shows extends from the world's middle, in metres.
  #scale = 1
  #reachX = 1
  #reachZ = 1

  constructor(camera: Camera) {
    this.#camera = camera
    const canvas = this.#canvas
    const look = (x: number, y: number): void => {
      camera.lookAt((x - canvas.clientWidth / 2) / this.#scale, (y - canvas.clientHeight / 2) / this.#scale)
      this.#drawn = -period
    }
    new Gestures(canvas, {
      tap: look,
      drag: (d) => look(...d.at),
      dragEnd: () => {},
      pinch: (factor) => camera.zoomBy(factor),
    })
    canvas.onwheel = (e) => {
      e.preventDefault()
      camera.zoomBy(Math.exp(-e.deltaY / 500))
    }
    canvas.onkeydown = (e) => camera.press(e)
    element('back').onclick = () => camera.goBack()
  }

  /** Draws a scene, unless it was drawn just now. */
  draw(scene: Scene, now: number): void {
    const camera = this.#camera
    element('back').hidden = !camera.isAway
    if (now - this.#drawn < period) return
    this.#drawn = now
    const pen = this.#pen
    const { clientWidth: width, clientHeight: height } = this.#canvas
    this.#fit(scene, width, height)
    const left = (x: number): number => width / 2 + x * this.#scale
    const top = (z: number): number => height / 2 + z * this.#scale
    const rectangle = (x: number, z: number, halfX: number, halfZ: number): void =>
      pen.strokeRect(left(x - halfX), top(z - halfZ), 2 * halfX * this.#scale, 2 * halfZ * this.#scale)
    const paths: Path2D[] = []
    for (const e of scene.all) {
      if (!scene.locate(e, this.#place)) continue
      paths[e.kind] ??= new Path2D()
      const size = e.handle === scene.followed ? 3 * dot : dot
      paths[e.kind]?.rect(left(this.#place[0]!) - size / 2, top(this.#place[2]!) - size / 2, size, size)
    }
    paths.forEach((path, kind) => {
      pen.fillStyle = this.#palette.of(colourOf(kind))
      pen.fill(path)
    })
    pen.lineWidth = 1
    if (camera.halfX < Infinity) {
      pen.strokeStyle = this.#palette.of('edge')
      rectangle(0, 0, camera.halfX, camera.halfZ)
    }
    pen.lineWidth = 2
    pen.strokeStyle = this.#palette.of('accent')
    rectangle(camera.x, camera.z, camera.width / 2 / camera.scale, camera.height / 2 / camera.scale)
  }

  /** Adapts the scale: to the world's edge, or without one to all that was ever shown. */
  #fit(scene: Scene, width: number, height: number): void {
    const camera = this.#camera
    if (camera.halfX < Infinity) {
      this.#reachX = camera.halfX
      this.#reachZ = camera.halfZ
    } else {
      this.#reach(camera.x, camera.z)
      for (const e of scene.all) if (scene.locate(e, this.#place)) this.#reach(this.#place[0]!, this.#place[2]!)
    }
    this.#scale = Math.min((width / 2 - border) / this.#reachX, (height / 2 - border) / this.#reachZ)
    const ratio = devicePixelRatio
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)]
    if (this.#canvas.width !== w || this.#canvas.height !== h) Object.assign(this.#canvas, { width: w, height: h })
    this.#pen.setTransform(ratio, 0, 0, ratio, 0, 0)
    this.#pen.clearRect(0, 0, width, height)
  }

  #reach(x: number, z: number): void {
    this.#reachX = Math.max(this.#reachX, Math.abs(x))
    this.#reachZ = Math.max(this.#reachZ, Math.abs(z))
  }
}
