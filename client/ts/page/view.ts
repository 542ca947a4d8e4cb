// Draws the world from above: x to the right, z down.

import { blockPoints } from '../src/field/machine.ts'
import { type Client, type Entity, type Field, formatHandle, type Moment, printable } from '../src/index.ts'
import { Columns, State } from '../src/motion/columns.ts'
import type { Planes } from '../src/motion/forces.ts'
import { penOf } from './dom.ts'
import { colourOf, shapeOf, type shapes } from './legend.ts'
import { type Look, Looks } from './looks.ts'

/** Counts the entities in view. */
export interface Seen {
  readonly looks: Record<Look, number> // bodies by look
  readonly kinds: number[] // entities by kind
}

/** The opacity of sleeping bodies. */
const fadedAlpha = 0.4

/** The metres that the shorter side of the canvas shows, unless the world is smaller. */
const across = 84
const margin = 1.1
const minZoom = 0.3
const maxZoom = 6
const gridMetres = 16
/** The distance between arrows, and their height above the ground, in metres. */
const arrowPixels = 30
const arrowHeight = 0.5
const maxArrows = 4096
/** The wind, in m/s, or acceleration, in m/s2, whose arrow has 3/4 of the largest length. */
const strong = 8
const pickPixels = 16
const defaultRadius = 0.5
const minRadius = 2 // pixels

/** A kind of body that feels every effect. */
const probe = { inverseMass: 1, coupling: 0, radius: 0, friction: 0, restitution: 0, layers: -1 }

/** Draws on a canvas, around the player's avatar. */
export class View {
  readonly #canvas: HTMLCanvasElement
  readonly #paper: CanvasRenderingContext2D
  readonly #colours = new Map<string, string>()
  #width = 0
  #height = 0
  #scale = 1 // pixels per metre
  #zoom = 1
  #x = 0 // the middle of the picture
  #z = 0
  #moment: Moment = { tick: 0, newest: 0, maxExtrapolate: 0 }
  readonly #place = new Float32Array(3)
  #own: readonly number[] | undefined // predicted position of the avatar
  readonly #lastSeen = new Map<bigint, readonly [x: number, z: number]>() // where held entities were drawn
  #follows = false // whether the picture follows the player's body
  readonly #state = new State()
  readonly #looks = new Looks()
  readonly #points = new Columns()

  constructor(canvas: HTMLCanvasElement, signal: AbortSignal) {
    this.#canvas = canvas
    this.#paper = penOf(canvas)
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#colours.clear(), { signal })
    canvas.onwheel = (e) => {
      e.preventDefault()
      this.#zoom = Math.min(Math.max(this.#zoom * Math.exp(-e.deltaY / 500), minZoom), maxZoom)
    }
  }

  /** Returns a colour of the style sheet. */
  #colour(name: string): string {
    let c = this.#colours.get(name)
    if (c === undefined) {
      c = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`)
      this.#colours.set(name, c)
    }
    return c
  }

  /** Shows the world at a moment, with rings around held entities. avatar is the predicted position. */
  draw(c: Client, m: Moment, avatar: readonly number[] | undefined, held: ReadonlyMap<bigint, unknown>): Seen {
    const seen: Seen = { looks: { awake: 0, asleep: 0, owed: 0, sent: 0 }, kinds: [] }
    for (const e of c.replica.all) seen.kinds[e.kind] = (seen.kinds[e.kind] ?? 0) + 1
    this.#moment = m
    this.#own = avatar
    this.#fit(c)
    const position = positionOf(c)
    const own = c.entity(c.controlled)
    if (!position) return seen
    this.#follows = own?.has('body') ?? false
    if (own && this.#follows) {
      this.#locate(c, own, position)
      this.#x = this.#place[0]!
      this.#z = this.#place[2]!
    }
    this.#ground(c)
    this.#arrows(c)
    this.#bodies(c, position, seen)
    this.#labels(c, position, held)
    return seen
  }

  /** Sizes the canvas to its place on the page. */
  #fit(c: Client): void {
    const canvas = this.#canvas
    const ratio = devicePixelRatio
    this.#width = canvas.clientWidth
    this.#height = canvas.clientHeight
    const w = Math.round(this.#width * ratio)
    const h = Math.round(this.#height * ratio)
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w
      canvas.height = h
    }
    const { halfX = Infinity, halfZ = Infinity } = c.schema.motion ?? {}
    this.#scale =
      (this.#zoom * Math.min(this.#width, this.#height)) / Math.min(across, 2 * margin * Math.max(halfX, halfZ))
    this.#paper.setTransform(ratio, 0, 0, ratio, 0, 0)
    this.#paper.clearRect(0, 0, this.#width, this.#height)
  }

  /** Sets place to the position at which e is drawn. */
  #locate(c: Client, e: Entity, position: Field): void {
    if (this.#own && e.handle === c.controlled) this.#place.set(this.#own)
    else e.vectorAt(position, 3, this.#moment, this.#place)
  }

  /** The middle of the picture, in metres. */
  get centre(): readonly [x: number, z: number] {
    return [this.#x, this.#z]
  }

  /** Forgets the positions of held entities, since the client has left their room. */
  leaveRoom(): void {
    this.#lastSeen.clear()
  }

  /** Moves the picture by pixels, unless it follows the player. */
  pan(x: number, y: number): void {
    if (this.#follows) return
    this.#x -= x / this.#scale
    this.#z -= y / this.#scale
  }

  #left(x: number): number {
    return this.#width / 2 + (x - this.#x) * this.#scale
  }

  #top(z: number): number {
    return this.#height / 2 + (z - this.#z) * this.#scale
  }

  /** Draws a grid, and the edges of the world. */
  #ground(c: Client): void {
    const paper = this.#paper
    const scale = this.#scale
    const motion = c.schema.motion
    const halfX = motion?.halfX ?? Infinity
    const halfZ = motion?.halfZ ?? Infinity
    paper.strokeStyle = this.#colour('grid')
    paper.lineWidth = 1
    paper.beginPath()
    const reach = (pixels: number) => pixels / 2 / scale
    for (
      let x = Math.ceil((this.#x - reach(this.#width)) / gridMetres) * gridMetres;
      this.#left(x) <= this.#width;
      x += gridMetres
    ) {
      if (Math.abs(x) > halfX) continue
      paper.moveTo(this.#left(x), Math.max(this.#top(-halfZ), 0))
      paper.lineTo(this.#left(x), Math.min(this.#top(halfZ), this.#height))
    }
    for (
      let z = Math.ceil((this.#z - reach(this.#height)) / gridMetres) * gridMetres;
      this.#top(z) <= this.#height;
      z += gridMetres
    ) {
      if (Math.abs(z) > halfZ) continue
      paper.moveTo(Math.max(this.#left(-halfX), 0), this.#top(z))
      paper.lineTo(Math.min(this.#left(halfX), this.#width), this.#top(z))
    }
    paper.stroke()
    if (!motion) return
    paper.strokeStyle = this.#colour('edge')
    paper.strokeRect(this.#left(-halfX), this.#top(-halfZ), 2 * halfX * scale, 2 * halfZ * scale)
  }

  /** Draws the effects as arrows, evaluated in the page. */
  #arrows(c: Client): void {
    const { bodies } = c.replica
    if (!bodies) return
    const n = this.#placeArrows()
    const wind = new Path2D()
    const push = new Path2D()
    for (let from = 0; from < n; from += blockPoints) {
      const to = Math.min(from + blockPoints, n)
      const f = bodies.forcesAt(this.#points, probe, from, to)
      for (let row = from; row < to; row++) {
        this.#arrow(wind, row, f.wind, row - from)
        this.#arrow(push, row, f.push, row - from)
      }
    }
    this.#paper.lineWidth = 1.25
    this.#paper.strokeStyle = this.#colour('wind')
    this.#paper.stroke(wind)
    this.#paper.strokeStyle = this.#colour('push')
    this.#paper.stroke(push)
  }

  /** Fills points with a grid that is fixed in the world, and returns their number. */
  #placeArrows(): number {
    const points = this.#points
    const scale = this.#scale
    const step = 2 ** Math.round(Math.log2(arrowPixels / scale))
    const right = this.#x + this.#width / 2 / scale
    const bottom = this.#z + this.#height / 2 / scale
    let n = 0
    for (let z = Math.ceil((this.#z - this.#height / 2 / scale) / step) * step; z <= bottom; z += step) {
      for (
        let x = Math.ceil((this.#x - this.#width / 2 / scale) / step) * step;
        x <= right && n < maxArrows;
        x += step
      ) {
        if (n === points.length) points.add()
        points.x[n] = x
        points.y[n] = arrowHeight
        points.z[n] = z
        points.kind[n] = 0
        n++
      }
    }
    return n
  }

  #arrow(path: Path2D, row: number, f: Planes, i: number): void {
    const speed = Math.hypot(f.x[i]!, f.z[i]!)
    if (!(speed > 0.05)) return
    const size = arrowPixels * Math.tanh(speed / strong)
    const x = f.x[i]! / speed
    const z = f.z[i]! / speed
    const left = this.#left(this.#points.x[row]!)
    const top = this.#top(this.#points.z[row]!)
    const tipX = left + (x * size) / 2
    const tipZ = top + (z * size) / 2
    const head = Math.min(size / 3, 5)
    path.moveTo(left - (x * size) / 2, top - (z * size) / 2)
    path.lineTo(tipX, tipZ)
    path.moveTo(tipX - head * (x + z * 0.6), tipZ - head * (z - x * 0.6))
    path.lineTo(tipX, tipZ)
    path.lineTo(tipX - head * (x - z * 0.6), tipZ - head * (z + x * 0.6))
  }

  #bodies(c: Client, position: Field, seen: Seen): void {
    const paper = this.#paper
    const place = this.#place
    const kinds: { solid: Path2D; faded: Path2D }[] = []
    const rings = new Path2D()
    for (const e of c.replica.all) {
      if (!e.has('body')) continue
      this.#locate(c, e, position)
      const look = this.#look(c, e)
      seen.looks[look]++
      const r = this.#radius(c, e)
      const x = this.#left(place[0]!)
      const y = this.#top(place[2]!)
      kinds[e.kind] ??= { solid: new Path2D(), faded: new Path2D() }
      const paths = kinds[e.kind]!
      trace(look === 'asleep' && e.handle !== c.controlled ? paths.faded : paths.solid, shapeOf(e.kind), x, y, r)
      if (look === 'owed') trace(rings, shapeOf(e.kind), x, y, r + 1.5)
    }
    // Rare kinds are drawn over frequent ones.
    const order = [...kinds.keys()].filter((k) => kinds[k]).sort((a, b) => seen.kinds[b]! - seen.kinds[a]!)
    for (const k of order) {
      paper.fillStyle = this.#colour(colourOf(k))
      paper.globalAlpha = fadedAlpha
      paper.fill(kinds[k]!.faded)
      paper.globalAlpha = 1
      paper.fill(kinds[k]!.solid)
    }
    paper.strokeStyle = this.#colour('text')
    paper.lineWidth = 1
    paper.stroke(rings)
  }

  #look(c: Client, e: Entity): Look {
    const { bodies } = c.replica
    const exact = bodies?.hasKind(e.kind) === true && bodies.newestState(e.index, this.#state) !== 0
    return this.#looks.of(c.schema, e.kind, exact, this.#state.awake)
  }

  #radius(c: Client, e: Entity): number {
    const metres = c.schema.kinds[e.kind]?.body?.radius ?? defaultRadius
    return Math.max(metres * this.#scale, e.handle === c.controlled || nameOf(c, e) !== '' ? 5 : minRadius)
  }

  /** Writes the names of entities, and draws rings around held ones. */
  #labels(c: Client, position: Field, held: ReadonlyMap<bigint, unknown>): void {
    const paper = this.#paper
    const place = this.#place
    paper.font = '600 12px system-ui, sans-serif'
    paper.textAlign = 'center'
    paper.lineJoin = 'round'
    for (const e of c.replica.all) {
      const own = e.handle === c.controlled
      const isHeld = held.has(e.handle)
      const name = nameOf(c, e)
      if (!e.has('body') || !(own || isHeld || name !== '')) continue
      this.#locate(c, e, position)
      const x = this.#left(place[0]!)
      const y = this.#top(place[2]!)
      const r = this.#radius(c, e)
      if (own || isHeld) this.#ring(own ? 'text' : 'accent', x, y, r + 4)
      if (isHeld) this.#lastSeen.set(e.handle, [place[0]!, place[2]!])
      if (name !== '') this.#label(name, x, y - r - 8)
      else if (isHeld) this.#label(formatHandle(e.handle), x, y - r - 8)
    }
    this.#lost(c, held)
  }

  #ring(colour: string, x: number, y: number, r: number): void {
    const paper = this.#paper
    paper.strokeStyle = this.#colour(colour)
    paper.lineWidth = 2
    paper.beginPath()
    paper.arc(x, y, r, 0, 2 * Math.PI)
    paper.stroke()
  }

  /** Marks the last positions of held entities that are no longer in view: a cross where one died. */
  #lost(c: Client, held: ReadonlyMap<bigint, unknown>): void {
    const paper = this.#paper
    const lastSeen = this.#lastSeen
    for (const [h, [worldX, worldZ]] of lastSeen) {
      const verdict = c.resolve(h)
      if (!held.has(h)) lastSeen.delete(h)
      if (verdict === 'live' || !held.has(h)) continue
      const x = this.#left(worldX)
      const y = this.#top(worldZ)
      if (verdict === 'stale') {
        paper.strokeStyle = this.#colour('edge')
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
    paper.strokeStyle = this.#colour('ground')
    paper.lineWidth = 4
    paper.strokeText(text, x, y)
    paper.fillStyle = this.#colour(colour)
    paper.fillText(text, x, y)
  }

  /** Returns the handle of the unheld entity of a kind that is nearest to the middle, or undefined. */
  nearest(c: Client, kind: number, held: ReadonlyMap<bigint, unknown>): bigint | undefined {
    const position = positionOf(c)
    let nearest = Infinity
    let found: bigint | undefined
    for (const e of c.replica.all) {
      if (e.kind !== kind || held.has(e.handle)) continue
      let d = Number.MAX_VALUE // for an entity without a body
      if (position && e.has('body')) {
        this.#locate(c, e, position)
        d = Math.hypot(this.#place[0]! - this.#x, this.#place[2]! - this.#z)
      }
      if (d < nearest) {
        nearest = d
        found = e.handle
      }
    }
    return found
  }

  /** Returns the handle of the entity nearest to a place on the canvas, or undefined if none is near. */
  pick(c: Client, x: number, y: number): bigint | undefined {
    const position = positionOf(c)
    if (!position) return undefined
    let nearest = Infinity
    let found: bigint | undefined
    for (const e of c.replica.all) {
      if (!e.has('body')) continue
      this.#locate(c, e, position)
      const d = Math.hypot(this.#left(this.#place[0]!) - x, this.#top(this.#place[2]!) - y) - this.#radius(c, e)
      if (d < nearest) {
        nearest = d
        found = e.handle
      }
    }
    return nearest <= pickPixels ? found : undefined
  }
}

/** Returns the first field of the component body, or undefined. */
function positionOf(c: Client): Field | undefined {
  return c.schema.components.find((x) => x.name === 'body')?.fields[0]
}

/** Returns the name of an entity: a text whose path or component is name. */
export function nameOf(c: Client, e: Entity): string {
  const { texts, components } = c.schema
  for (let i = 0; i < texts.length; i++) {
    const text = e.texts[i]
    if (
      typeof text === 'string' &&
      text !== '' &&
      (/(^|\.)name$/i.test(texts[i]!.path) || components[texts[i]!.component]!.name === 'name')
    )
      return printable(text)
  }
  return ''
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
