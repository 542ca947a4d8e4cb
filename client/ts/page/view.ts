// Draws the world from above: x to the right, z down.

import { formatHandle, type Handle } from '../src/index.ts'
import type { Camera } from './camera.ts'
import { Palette, penOf } from './dom.ts'
import { colourOf, shapeOf, type shapes } from './legend.ts'
import type { Look } from './looks.ts'
import type { Drawn, Grid, Scene } from './scene.ts'

/** Counts the entities in view. */
export interface Seen {
  readonly looks: Record<Look, number> // bodies by look
  readonly kinds: number[] // entities by kind
}

/** Where a label is, in pixels. */
interface Label {
  readonly left: number
  readonly right: number
  readonly y: number
}

/** The height of a label. */
const labelPixels = 14

/** The opacity of sleeping bodies. */
const fadedAlpha = 0.4

const gridMetres = 16
/** The distance between arrows. */
const arrowPixels = 30
const maxArrows = 4096
/** The wind, in m/s, or acceleration, in m/s2, whose arrow has 3/4 of the largest length. */
const strong = 8
const pickPixels = 16
const defaultRadius = 0.5
const minRadius = 2 // pixels

/** Draws on a canvas what a camera shows. */
export class View {
  readonly #canvas: HTMLCanvasElement
  readonly #paper: CanvasRenderingContext2D
  readonly #camera: Camera
  readonly #palette = new Palette()
  readonly #place = new Float32Array(3)
  readonly #lastSeen = new Map<Handle, readonly [x: number, z: number]>() // where held entities were drawn
  readonly #labelled: Label[] = [] // in this picture

  constructor(canvas: HTMLCanvasElement, camera: Camera) {
    this.#canvas = canvas
    this.#paper = penOf(canvas)
    this.#camera = camera
  }

  /** Shows a scene, with rings around held entities. */
  draw(scene: Scene, held: ReadonlyMap<Handle, unknown>): Seen {
    const seen: Seen = { looks: { awake: 0, asleep: 0, owed: 0, sent: 0 }, kinds: [] }
    for (const e of scene.all) seen.kinds[e.kind] = (seen.kinds[e.kind] ?? 0) + 1
    this.#fit(scene)
    const followed = scene.entity(scene.followed)
    const hasBody = followed !== undefined && scene.locate(followed, this.#place)
    this.#camera.track(hasBody ? [this.#place[0]!, this.#place[2]!] : undefined)
    this.#ground(scene)
    this.#arrows(scene)
    this.#bodies(scene, seen)
    this.#labels(scene, held)
    return seen
  }

  /** Sizes the canvas to its place on the page. */
  #fit(c: Scene): void {
    const canvas = this.#canvas
    const ratio = devicePixelRatio
    const { clientWidth: width, clientHeight: height } = canvas
    const w = Math.round(width * ratio)
    const h = Math.round(height * ratio)
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w
      canvas.height = h
    }
    this.#camera.fit(width, height, c.schema)
    this.#paper.setTransform(ratio, 0, 0, ratio, 0, 0)
    this.#paper.clearRect(0, 0, width, height)
  }

  /** Forgets the positions of held entities, since the client has left their room. */
  leaveRoom(): void {
    this.#lastSeen.clear()
  }

  #left(x: number): number {
    return this.#camera.left(x)
  }

  #top(z: number): number {
    return this.#camera.top(z)
  }

  /** Draws a grid, and the edges of the world. */
  #ground(c: Scene): void {
    const paper = this.#paper
    const { x: middleX, z: middleZ, width, height, scale, halfX, halfZ } = this.#camera
    const motion = c.schema.motion
    paper.strokeStyle = this.#palette.of('grid')
    paper.lineWidth = 1
    paper.beginPath()
    const first = (middle: number, pixels: number): number =>
      Math.ceil((middle - pixels / 2 / scale) / gridMetres) * gridMetres
    for (let x = first(middleX, width); this.#left(x) <= width; x += gridMetres) {
      if (Math.abs(x) > halfX) continue
      paper.moveTo(this.#left(x), Math.max(this.#top(-halfZ), 0))
      paper.lineTo(this.#left(x), Math.min(this.#top(halfZ), height))
    }
    for (let z = first(middleZ, height); this.#top(z) <= height; z += gridMetres) {
      if (Math.abs(z) > halfZ) continue
      paper.moveTo(Math.max(this.#left(-halfX), 0), this.#top(z))
      paper.lineTo(Math.min(this.#left(halfX), width), this.#top(z))
    }
    paper.stroke()
    if (!motion) return
    paper.strokeStyle = this.#palette.of('edge')
    paper.strokeRect(this.#left(-halfX), this.#top(-halfZ), 2 * halfX * scale, 2 * halfZ * scale)
  }

  /** Draws the effects as arrows. */
  #arrows(scene: Scene): void {
    const wind = new Path2D()
    const push = new Path2D()
    scene.forces(this.grid, (x, z, windX, windZ, pushX, pushZ) => {
      this.#arrow(wind, x, z, windX, windZ)
      this.#arrow(push, x, z, pushX, pushZ)
    })
    this.#paper.lineWidth = 1.25
    this.#paper.strokeStyle = this.#palette.of('wind')
    this.#paper.stroke(wind)
    this.#paper.strokeStyle = this.#palette.of('push')
    this.#paper.stroke(push)
  }

  /** The points of the arrows: a grid that is fixed in the world. */
  get grid(): Grid {
    const { x: middleX, z: middleZ, width, height, scale } = this.#camera
    const step = 2 ** Math.round(Math.log2(arrowPixels / scale))
    const begin = (middle: number, pixels: number): number => Math.ceil((middle - pixels / 2 / scale) / step) * step
    const count = (from: number, middle: number, pixels: number): number =>
      Math.max(Math.floor((middle + pixels / 2 / scale - from) / step) + 1, 0)
    const x = begin(middleX, width)
    const z = begin(middleZ, height)
    const columns = Math.min(count(x, middleX, width), maxArrows)
    const rows = Math.min(count(z, middleZ, height), Math.floor(maxArrows / Math.max(columns, 1)))
    return { x, z, step, columns, rows }
  }

  #arrow(path: Path2D, worldX: number, worldZ: number, forceX: number, forceZ: number): void {
    const speed = Math.hypot(forceX, forceZ)
    if (!(speed > 0.05)) return
    const size = arrowPixels * Math.tanh(speed / strong)
    const x = forceX / speed
    const z = forceZ / speed
    const left = this.#left(worldX)
    const top = this.#top(worldZ)
    const tipX = left + (x * size) / 2
    const tipZ = top + (z * size) / 2
    const head = Math.min(size / 3, 5)
    path.moveTo(left - (x * size) / 2, top - (z * size) / 2)
    path.lineTo(tipX, tipZ)
    path.moveTo(tipX - head * (x + z * 0.6), tipZ - head * (z - x * 0.6))
    path.lineTo(tipX, tipZ)
    path.lineTo(tipX - head * (x - z * 0.6), tipZ - head * (z + x * 0.6))
  }

  #bodies(c: Scene, seen: Seen): void {
    const paper = this.#paper
    const place = this.#place
    const kinds: { solid: Path2D; faded: Path2D }[] = []
    const rings = new Path2D()
    for (const e of c.all) {
      if (!c.locate(e, place)) continue
      const look = c.look(e)
      seen.looks[look]++
      const r = this.#radius(c, e)
      const x = this.#left(place[0]!)
      const y = this.#top(place[2]!)
      kinds[e.kind] ??= { solid: new Path2D(), faded: new Path2D() }
      const paths = kinds[e.kind]!
      trace(look === 'asleep' && e.handle !== c.followed ? paths.faded : paths.solid, shapeOf(e.kind), x, y, r)
      if (look === 'owed') trace(rings, shapeOf(e.kind), x, y, r + 1.5)
    }
    // Rare kinds are drawn over frequent ones.
    const order = [...kinds.keys()].filter((k) => kinds[k]).sort((a, b) => seen.kinds[b]! - seen.kinds[a]!)
    for (const k of order) {
      paper.fillStyle = this.#palette.of(colourOf(k))
      paper.globalAlpha = fadedAlpha
      paper.fill(kinds[k]!.faded)
      paper.globalAlpha = 1
      paper.fill(kinds[k]!.solid)
    }
    paper.strokeStyle = this.#palette.of('text')
    paper.lineWidth = 1
    paper.stroke(rings)
  }

  #radius(c: Scene, e: Drawn): number {
    const metres = c.schema.kinds[e.kind]?.body?.radius ?? defaultRadius
    return Math.max(metres * this.#camera.scale, e.handle === c.followed || c.nameOf(e) !== '' ? 5 : minRadius)
  }

  /** Writes the names of entities, and draws rings around held ones. Held ones come first: a label that would cover another is left out. */
  #labels(c: Scene, held: ReadonlyMap<Handle, unknown>): void {
    const paper = this.#paper
    paper.font = '600 12px system-ui, sans-serif'
    paper.textAlign = 'center'
    paper.lineJoin = 'round'
    this.#labelled.length = 0
    this.#lost(c, held)
    const comesFirst = (e: Drawn): boolean => e.handle === c.followed || held.has(e.handle)
    for (const e of c.all) if (comesFirst(e)) this.#mark(c, e, held.has(e.handle))
    for (const e of c.all) {
      const name = comesFirst(e) ? '' : c.nameOf(e)
      if (name !== '' && c.locate(e, this.#place)) this.#name(name, this.#radius(c, e))
    }
  }

  /** Draws a ring around an entity that is held or followed, and writes its name. */
  #mark(c: Scene, e: Drawn, isHeld: boolean): void {
    const place = this.#place
    if (!c.locate(e, place)) return
    const r = this.#radius(c, e)
    const own = e.handle === c.followed
    this.#ring(own ? 'text' : 'accent', this.#left(place[0]!), this.#top(place[2]!), r + 4)
    if (isHeld) this.#lastSeen.set(e.handle, [place[0]!, place[2]!])
    this.#name(c.nameOf(e) || (isHeld ? formatHandle(e.handle) : ''), r)
  }

  /** Writes a name above the entity at place. */
  #name(name: string, r: number): void {
    if (name !== '') this.#label(name, this.#left(this.#place[0]!), this.#top(this.#place[2]!) - r - 8)
  }

  #ring(colour: string, x: number, y: number, r: number): void {
    const paper = this.#paper
    paper.strokeStyle = this.#palette.of(colour)
    paper.lineWidth = 2
    paper.beginPath()
    paper.arc(x, y, r, 0, 2 * Math.PI)
    paper.stroke()
  }

  /** Marks the last positions of held entities that are no longer in view: a cross where one died. */
  #lost(c: Scene, held: ReadonlyMap<Handle, unknown>): void {
    const paper = this.#paper
    const lastSeen = this.#lastSeen
    for (const [h, [worldX, worldZ]] of lastSeen) {
      const verdict = c.resolve(h)
      if (!held.has(h)) lastSeen.delete(h)
      if (verdict === 'live' || !held.has(h)) continue
      const x = this.#left(worldX)
      const y = this.#top(worldZ)
      if (verdict === 'stale') {
        paper.strokeStyle = this.#palette.of('edge')
        paper.lineWidth = 2.5
        paper.beginPath()
        paper.moveTo(x - 5, y - 5)
        paper.lineTo(x + 5, y + 5)
        paper.moveTo(x - 5, y + 5)
        paper.lineTo(x + 5, y - 5)
        paper.stroke()
      } else {
        paper.setLineDash([3, 3])
        this.#ring('muted', x, y, 7)
        paper.setLineDash([])
      }
      this.#label(`${formatHandle(h)} ${verdict}`, x, y - 12, verdict === 'stale' ? 'edge' : 'text')
    }
  }

  #label(text: string, x: number, y: number, colour = 'text'): void {
    const paper = this.#paper
    const half = paper.measureText(text).width / 2 + 2
    const covers = (l: Label): boolean => x - half < l.right && x + half > l.left && Math.abs(y - l.y) < labelPixels
    if (this.#labelled.some(covers)) return
    this.#labelled.push({ left: x - half, right: x + half, y })
    paper.strokeStyle = this.#palette.of('ground')
    paper.lineWidth = 4
    paper.strokeText(text, x, y)
    paper.fillStyle = this.#palette.of(colour)
    paper.fillText(text, x, y)
  }

  /** Returns the handle of the unheld entity of a kind, or of any, that is nearest to the middle, or undefined. */
  nearest(c: Scene, kind: number | undefined, held: ReadonlyMap<Handle, unknown>): Handle | undefined {
    let nearest = Infinity
    let found: Handle | undefined
    for (const e of c.all) {
      if ((kind !== undefined && e.kind !== kind) || held.has(e.handle)) continue
      let d = Number.MAX_VALUE // for an entity without a body
      if (c.locate(e, this.#place)) d = Math.hypot(this.#place[0]! - this.#camera.x, this.#place[2]! - this.#camera.z)
      if (d < nearest) {
        nearest = d
        found = e.handle
      }
    }
    return found
  }

  /** Returns the handle of the entity nearest to a place on the canvas, or undefined if none is near. */
  pick(c: Scene, x: number, y: number): Handle | undefined {
    let nearest = Infinity
    let found: Handle | undefined
    for (const e of c.all) {
      if (!c.locate(e, this.#place)) continue
      const d = Math.hypot(this.#left(this.#place[0]!) - x, this.#top(this.#place[2]!) - y) - this.#radius(c, e)
      if (d < nearest) {
        nearest = d
        found = e.handle
      }
    }
    return nearest <= pickPixels ? found : undefined
  }
}

/** Adds a shape to a path, about as large as a circle with radius r. */
function trace(path: Path2D, shape: (typeof shapes)[number], x: number, y: number, r: number): void {
  if (shape === 'circle') {
    path.moveTo(x + r, y)
    path.arc(x, y, r, 0, 2 * Math.PI)
    return
  }
  const corners = shape === 'triangle' ? 3 : 4
  const reach = r * (corners === 3 ? 1.5 : 1.25)
  const first = shape === 'square' ? Math.PI / 4 : -Math.PI / 2
  for (let i = 0; i < corners; i++) {
    const angle = first + (2 * Math.PI * i) / corners
    if (i === 0) path.moveTo(x + reach * Math.cos(angle), y + reach * Math.sin(angle))
    else path.lineTo(x + reach * Math.cos(angle), y + reach * Math.sin(angle))
  }
  path.closePath()
}
