// A tick of a recording, as the server of its page sends it: server/host/replay_frame.go.

import { formatHandle, type Handle, newHandle, none, parseHandle, type Schema, type Verdict } from '../src/index.ts'
import { type ComponentText, joined } from './describe.ts'
import type { Look } from './looks.ts'
import type { DrawForces, Drawn, Grid, Knowledge, Scene } from './scene.ts'

const entityBytes = 24
const arrowBytes = 16
const hasBody = 1
const isAwake = 2

/** The part of a frame in JSON. */
interface Head {
  readonly tick: number
  readonly entities: number
  readonly arrows: number
  readonly names: Readonly<Record<string, string>>
  readonly held: readonly {
    readonly handle: string
    readonly verdict: 'live' | 'stale' | 'pending'
    readonly tenant?: string
    readonly components?: readonly ComponentText[]
  }[]
}

/** An entity of a frame. */
interface FramedEntity extends Drawn {
  readonly x: number
  readonly y: number
  readonly z: number
  readonly flags: number
}

const meanings: Record<Verdict, string> = {
  live: 'alive at this tick',
  stale: 'destroyed before this tick',
  pending: 'not issued yet, or never',
  hidden: '',
  provisional: '',
}

/** The world of a recording after one tick. */
export class Frame implements Scene, Knowledge {
  readonly schema: Schema
  readonly tick: number
  readonly all: readonly FramedEntity[]
  followed: Handle = none
  readonly own: Handle = none
  readonly #names = new Map<Handle, string>()
  readonly #held = new Map<Handle, Head['held'][number]>()
  readonly #grid: Grid
  readonly #arrows: DataView

  /** @param grid - the points of the arrows that were asked for */
  constructor(schema: Schema, body: ArrayBuffer, grid: Grid) {
    this.schema = schema
    this.#grid = grid
    const length = new DataView(body).getUint32(0, true)
    const head: Head = JSON.parse(new TextDecoder().decode(new Uint8Array(body, 4, length)))
    this.tick = head.tick
    for (const [h, name] of Object.entries(head.names)) this.#names.set(parseHandle(h) ?? none, name)
    for (const h of head.held) this.#held.set(parseHandle(h.handle) ?? none, h)
    const from = 4 + length
    const to = from + head.entities * entityBytes
    this.all = entitiesOf(new DataView(body, from, to - from), head.entities)
    this.#arrows = new DataView(body, to, head.arrows * arrowBytes)
  }

  entity(h: Handle): FramedEntity | undefined {
    return h === none ? undefined : this.all.find((e) => e.handle === h)
  }

  resolve(h: Handle): Verdict {
    return this.#held.get(h)?.verdict ?? (this.entity(h) ? 'live' : 'pending')
  }

  locate(e: FramedEntity, place: Float32Array): boolean {
    place[0] = e.x
    place[1] = e.y
    place[2] = e.z
    return (e.flags & hasBody) !== 0
  }

  look(e: FramedEntity): Look {
    return (e.flags & isAwake) !== 0 ? 'awake' : 'asleep'
  }

  nameOf(e: Drawn): string {
    return this.#names.get(e.handle) ?? ''
  }

  /** Draws the forces at the points that were asked for. */
  forces(_: Grid, draw: DrawForces): void {
    const { x, z, step, columns } = this.#grid
    const a = this.#arrows
    for (let i = 0; i * arrowBytes < a.byteLength; i++) {
      const at = (lane: number): number => a.getFloat32(i * arrowBytes + 4 * lane, true)
      draw(x + (i % columns) * step, z + Math.floor(i / columns) * step, at(0), at(1), at(2), at(3))
    }
  }

  kindName(h: Handle): string | undefined {
    const e = this.entity(h)
    return e && this.schema.kinds[e.kind]?.name
  }

  tenantOf(h: Handle): Handle {
    return parseHandle(this.#held.get(h)?.tenant ?? formatHandle(none)) ?? none
  }

  meaningOf(_: Handle, verdict: Verdict): string {
    return meanings[verdict]
  }

  describe(h: Handle): string {
    return this.components(h).map(joined).join(' · ')
  }

  components(h: Handle): readonly ComponentText[] {
    return this.#held.get(h)?.components ?? []
  }

  costOf(): string {
    return '' // a recording has no clients
  }
}

function entitiesOf(view: DataView, n: number): FramedEntity[] {
  const all: FramedEntity[] = []
  for (let at = 0; all.length < n; at += entityBytes) {
    const float = (lane: number): number => view.getFloat32(at + 8 + 4 * lane, true)
    all.push({
      handle: newHandle(view.getUint32(at, true), view.getUint32(at + 4, true)),
      x: float(0),
      y: float(1),
      z: float(2),
      kind: view.getUint16(at + 20, true),
      flags: view.getUint16(at + 22, true),
    })
  }
  return all
}
