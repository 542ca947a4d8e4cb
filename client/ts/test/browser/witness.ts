// Views of a client, for comparison with a Go client's: bundle/witness_test.go.

import { formatHandle, type Handle } from '../../src/handles.ts'
import type { Client, Entity } from '../../src/index.ts'
import { State } from '../../src/motion/columns.ts'

/** An entity in view: keys are short because there are some 100,000 of them. */
interface Seen {
  h: string
  k: number // kind
  m: number // mask
  t: number // tick of the newest row
  r: number // digest of its values
  x?: number // tick of the exact body
  b?: number // digest of its bits
  n?: string // text of the component name
}

/** The view of a client in one tick. verdicts has the first letter of one verdict per held handle. */
interface View {
  tick: number
  verdicts: string
  entities: Seen[]
}

const letters = { live: 'L', hidden: 'H', stale: 'S', pending: 'P', provisional: 'V' } as const

/** Holds every handle that a client was shown, and records views. */
export class Witness {
  readonly views: View[] = []
  readonly held: Handle[] = []
  /** Contradictions in what one client was told: a handle has one identity for ever. */
  readonly confusions: string[] = []
  private readonly handleOf = new Map<bigint, Handle>() // by identity
  private readonly identityOf = new Map<Handle, bigint>()
  private readonly body = new State()
  private readonly bits = new DataView(new ArrayBuffer(4))

  /** Observes a replica. */
  enter(e: Entity): void {
    const identity = (e.get('identity') as { Value?: bigint } | undefined)?.Value
    if (identity === undefined) return
    const known = this.identityOf.get(e.handle)
    if (known === undefined) {
      this.held.push(e.handle)
      this.identityOf.set(e.handle, identity)
    }
    if ((known ?? identity) !== identity) this.confusions.push(`${formatHandle(e.handle)}: another identity`)
    const other = this.handleOf.get(identity)
    if ((other ?? e.handle) !== e.handle)
      this.confusions.push(`${formatHandle(e.handle)}: the identity of ${formatHandle(other!)}`)
    this.handleOf.set(identity, e.handle)
  }

  /** Records a view if the replica has no more than the server showed in the tick of a snapshot, every other time. */
  record(c: Client): void {
    const r = c.replica
    const h = r.header
    const newest = this.views.at(-1)?.tick ?? 0
    if (h.tick !== r.tick || h.structure !== r.structure || r.tick % 2 !== 0 || r.tick <= newest) return
    this.views.push({
      tick: r.tick,
      verdicts: this.held.map((x) => letters[c.resolve(x)]).join(''),
      entities: r.all.map((e) => this.see(c, e)),
    })
  }

  private see(c: Client, e: Entity): Seen {
    let r = 0
    for (const v of e.values) r = mix(r, v)
    const seen: Seen = { h: formatHandle(e.handle), k: e.kind, m: e.mask, t: e.tick, r: r >>> 0 }
    const tick = c.replica.bodies?.newestState(e.index, this.body) ?? 0
    if (tick > 0) {
      seen.x = tick
      seen.b = this.digest()
    }
    const name = e.get('name') as { Text?: string } | undefined
    if (name?.Text) seen.n = name.Text
    return seen
  }

  private digest(): number {
    const { x, y, z, vx, vy, vz, awake, rest } = this.body
    let d = 0
    for (const v of [x, y, z, vx, vy, vz]) {
      this.bits.setFloat32(0, v)
      d = mix(d, this.bits.getUint32(0))
    }
    return mix(mix(d, awake ? 1 : 0), rest) >>> 0
  }
}

function mix(x: number, v: number): number {
  x = Math.imul(x ^ v, 0x9e3779b1)
  return x ^ (x >>> 15)
}
