// The scene of a live page: the world as its client shows it.

import { blockPoints } from '../src/field/machine.ts'
import {
  type Client,
  type Entity,
  type Field,
  generationOf,
  type Handle,
  indexOf,
  isProvisional,
  type Moment,
  none,
  type Schema,
  type Verdict,
} from '../src/index.ts'
import { Columns, State } from '../src/motion/columns.ts'
import { type ComponentText, componentsOf, nameOf, summaryOf } from './describe.ts'
import { bytes } from './dom.ts'
import { type Look, Looks } from './looks.ts'
import type { DrawForces, Grid, Knowledge, Scene } from './scene.ts'
import { whyStale } from './words.ts'

/** The height of arrows above the ground, in metres. */
const arrowHeight = 0.5
/** A kind of body that feels every effect. */
const probe = { inverseMass: 1, coupling: 0, radius: 0, friction: 0, restitution: 0, layers: -1 }
/** Tells the holder of a handle the meaning of each verdict. */
const meanings: Record<Exclude<Verdict, 'stale'>, string> = {
  live: 'in view',
  hidden: 'exists perhaps, out of view',
  pending: 'not heard of yet',
  provisional: 'asked for',
}

/** Shows a client's world at the moment that show has set. */
export class ClientScene implements Scene, Knowledge {
  /** The entity that the picture follows in place of the visitor's own, if not none. */
  watched: Handle = none
  readonly #client: Client
  readonly #looks = new Looks()
  readonly #state = new State()
  readonly #points = new Columns()
  #moment: Moment = { tick: 0, newest: 0, maxExtrapolate: 0 }
  #avatar: readonly number[] | undefined // predicted position
  #position: Field | undefined // of body

  constructor(client: Client) {
    this.#client = client
  }

  /** Sets the moment that is shown. avatar is the predicted position. */
  show(moment: Moment, avatar: readonly number[] | undefined): void {
    this.#moment = moment
    this.#avatar = avatar
    this.#position = this.schema.components.find((x) => x.name === 'body')?.fields[0]
  }

  get schema(): Schema {
    return this.#client.schema
  }

  get all(): readonly Entity[] {
    return this.#client.replica.all
  }

  get own(): Handle {
    return this.#client.controlled
  }

  get followed(): Handle {
    return this.watched === none ? this.own : this.watched
  }

  entity(h: Handle): Entity | undefined {
    return this.#client.entity(h)
  }

  resolve(h: Handle): Verdict {
    return this.#client.resolve(h)
  }

  locate(e: Entity, place: Float32Array): boolean {
    if (!this.#position || !e.has('body')) return false
    if (this.#avatar && e.handle === this.own) place.set(this.#avatar)
    else e.vectorAt(this.#position, 3, this.#moment, place)
    return true
  }

  look(e: Entity): Look {
    const { bodies } = this.#client.replica
    const exact = bodies?.hasKind(e.kind) === true && bodies.newestState(e.index, this.#state) !== 0
    return this.#looks.of(this.schema, e.kind, exact, this.#state.awake)
  }

  nameOf(e: Entity): string {
    return nameOf(this.#client, e)
  }

  /** Evaluates the effects in the page. */
  forces(grid: Grid, draw: DrawForces): void {
    const { bodies } = this.#client.replica
    if (!bodies) return
    const points = this.#points
    const n = grid.columns * grid.rows
    for (let i = 0; i < n; i++) {
      if (i === points.length) points.add()
      points.x[i] = grid.x + (i % grid.columns) * grid.step
      points.y[i] = arrowHeight
      points.z[i] = grid.z + Math.floor(i / grid.columns) * grid.step
      points.kind[i] = 0
    }
    for (let from = 0; from < n; from += blockPoints) {
      const to = Math.min(from + blockPoints, n)
      const { wind, push } = bodies.forcesAt(points, probe, from, to)
      for (let i = from; i < to; i++) {
        const at = i - from
        draw(points.x[i]!, points.z[i]!, wind.x[at]!, wind.z[at]!, push.x[at]!, push.z[at]!)
      }
    }
  }

  kindName(h: Handle): string | undefined {
    return this.#client.entity(h)?.kindName
  }

  tenantOf(h: Handle): Handle {
    if (isProvisional(h)) return none
    for (const e of this.all) if (e.index === indexOf(h) && e.generation !== generationOf(h)) return e.handle
    return none
  }

  meaningOf(h: Handle, verdict: Verdict, seen: boolean): string {
    return verdict === 'stale' ? whyStale(h, this.#client.welcome, seen) : meanings[verdict]
  }

  describe(h: Handle): string {
    const e = this.#client.entity(h)
    return e ? summaryOf(this.#client, e, this.#moment) : ''
  }

  get tick(): number {
    return this.#client.replica.tick
  }

  components(h: Handle): readonly ComponentText[] {
    const e = this.#client.entity(h)
    return e ? componentsOf(this.#client, e, this.#moment) : []
  }

  costOf(h: Handle): string {
    const e = this.#client.entity(h)
    if (!e) return ''
    const cost = `${bytes(e.bits / 8)} of rows since it came into view`
    return e.isComputed ? `${cost}; its motion is computed here, without rows` : cost
  }
}
