// The client's copy of its interest set: PROTOCOL.md, section 11.

import { BitReader, ByteReader } from './bits.ts'
import { type Budget, cost } from './budget.ts'
import { type Cell, Cells, hidden, live, stale } from './cells.ts'
import { fail, LimitError } from './codes.ts'
import { Entity, type Layout } from './entity.ts'
import {
  generationOf,
  type Handle,
  indexOf,
  newHandle,
  none,
  provisionalGeneration,
  type Verdict,
  verdicts,
} from './handles.ts'
import * as limit from './limits.ts'
import type { Bodies } from './motion/bodies.ts'
import type { State } from './motion/columns.ts'
import type { Exact } from './motion/exact.ts'
import type { Name } from './motion/extension.ts'
import { Codec, Past, type Received } from './rows.ts'
import { type EventKind, noText, type Payload, readText, type Schema, type Text } from './schema.ts'
import type { Simulation } from './simulation.ts'
import { Acks, Baseline, Fold, StateHeader } from './state.ts'
import { Op, parseStructure, type Reason, type Structure, type StructureRecord } from './structure.ts'
import type { Tables } from './tables.ts'
import { Shape, type Struct } from './values.ts'
import type { Wishes } from './wishes.ts'

/** Observer has functions for changes of the replica. An entity is valid until its leave or destroy. */
export interface Observer {
  /** enter: e came into view, or changed its components or its owner, or was sent again. */
  enter?(e: Entity): void
  /** update: e has a newer state, after all rows of its datagram, or other texts. */
  update?(e: Entity): void
  /** leave: h left the view, and may well live: it is hidden. */
  leave?(h: Handle, why: Reason): void
  /** destroy: h is stale, for every handle that the client was sent. cause is the game's, 0 for none. */
  destroy?(h: Handle, cause: number): void
  /** diverge: the client computed other states for some of these entities than the server. It asks for all again. */
  diverge?(tick: number, handles: readonly Handle[]): void
}

/** Outcome is what became of a State datagram. */
export type Outcome = 'applied' | 'held' | 'duplicate' | 'unreadable' | 'faulty'

/** Stats count what the replica received. */
export class ReplicaStats {
  snapshots = 0 // applied
  duplicates = 0
  held = 0 // overtook their structure
  overflowed = 0 // dropped: too many waited
  unreadable = 0
  faults = 0 // the fold did not match
  rows = 0 // that became current
  rowsLate = 0
  enters = 0
  leaves = 0
  destroys = 0
  events = 0
  texts = 0
}

/** Limits bound what a server can make the client keep. */
export interface Limits {
  readonly entities: number
  readonly bytes: number
}

/** EventHandler receives an event of a tick. */
export type EventHandler = (tick: number, event: Struct) => void

/** Events are a game's handlers, over all sessions. */
export class Events {
  private readonly handlers = new Map<string, { f: EventHandler; rendered: boolean }[]>()
  private readonly shapes = new WeakMap<EventKind, Shape>()
  /** any receives every event before the handlers, with its quantised values. */
  any: ((tick: number, kind: EventKind, payload: Payload) => void) | undefined

  /** on calls f for each event of a name; rendered: when the render reaches its tick. */
  on(name: string, f: EventHandler, rendered = false): void {
    const list = this.handlers.get(name) ?? []
    list.push({ f, rendered })
    this.handlers.set(name, list)
  }

  /** @internal */
  deliver(tick: number, kind: EventKind, p: Payload, later: (tick: number, call: () => void) => void): void {
    guard(() => this.any?.(tick, kind, p))
    const list = this.handlers.get(kind.name)
    if (!list) return
    let shape = this.shapes.get(kind)
    if (!shape) {
      shape = new Shape(kind.message.fields, kind.message.texts)
      this.shapes.set(kind, shape)
    }
    const event = shape.restore(p)
    for (const { f, rendered } of list) {
      if (rendered) later(tick, () => f(tick, event))
      else guard(() => f(tick, event))
    }
  }
}

/** guard calls a game's function. What it throws is reported, and does not stop the replica half way. */
export function guard(f: () => void): void {
  try {
    f()
  } catch (thrown) {
    rethrow(thrown)
  }
}

function rethrow(thrown: unknown): void {
  if (typeof reportError === 'function') reportError(thrown)
  else
    queueMicrotask(() => {
      throw thrown
    })
}

/** maxHeld bounds the datagrams that wait for structure, maxRendered the events for a render. */
const maxHeld = 16
const maxRendered = 256
const minArena = 4096
/** bytesOfEntity estimates an entity without its states and texts, bytesOfText a text without its bytes. */
const bytesOfEntity = 256
const bytesOfText = 32

interface Held {
  readonly structure: number
  readonly seq: number
  readonly bytes: Uint8Array
}

/** Plan is a slot's cell after the records of a message checked so far. */
interface Plan {
  generation: number
  stale: boolean
  live: boolean
  owned: boolean
  mask: number
}

/** Enter is the decoded row of an Enter. */
interface Enter {
  readonly list: Uint32Array
  readonly mask: number
  readonly texts: Text[]
  readonly body: State | null // of an exact one
}

const textBytes = (texts: readonly Text[]): number => texts.reduce((n, t) => n + bytesOfText + 2 * t.length, 0)

/** Replica is the client's copy of its interest set, and its record of every handle it was sent. */
export class Replica {
  readonly layout: Layout
  readonly stats: ReplicaStats
  /** tick of the newest snapshot applied. */
  tick = 0
  /** input is the tick of the newest input that the server had applied at tick, 0 if none. */
  input = 0
  /** structure is the number of structure records applied. */
  structure = 0
  /** @internal */ readonly acks = new Acks()
  private readonly ackTicks = new Uint32Array(64) // of the snapshots in acks, by number modulo 64
  /** @internal span is how many ticks of states are kept for interpolation; shown is the newest render. */
  span = 0
  /** @internal */ shown = 0
  /** bodies are those that the client computes; undefined unless the session simulates. */
  readonly bodies: Bodies | undefined

  private readonly codec: Codec
  private readonly floor: number
  private readonly ceiling: number
  private readonly maxSlots: number
  private readonly limits: Limits
  private readonly observer: Observer
  private readonly events: Events
  private readonly wishes: Wishes
  private readonly budget: Budget
  private readonly cells = new Cells()
  private readonly entities: Entity[] = []
  private entityBytes = 0
  /** @internal structureTick is the tick of the newest structure message applied, which may be ahead of tick. */
  structureTick = 0
  private before = 0 // newest tick of a snapshot before tick, sent or omitted
  private empty = 0 // number of the first snapshot of tick if it was empty, else 0
  /** @internal interval is the ticks between two snapshots, as the Welcome says. */
  interval = 0
  private held: Held[] = []
  private fence = 0 // snapshots of lower structure numbers are of an earlier room
  private readonly rendered: { tick: number; call: () => void }[] = []
  private readonly loads: number[] // of components
  private readonly valuesLoad: number

  // Scratch for the State datagram being applied, a row each.
  private readonly reader = new BitReader()
  private readonly eventBits = new BitReader()
  private readonly header = new StateHeader()
  private readonly fold = new Fold()
  private readonly past = new Past()
  private readonly coding = new Baseline()
  private readonly own = new Baseline()
  private readonly slots = new Uint32Array(limit.maxRows)
  private readonly ages = new Uint32Array(limit.maxRows)
  private readonly gaps = new Uint32Array(limit.maxRows)
  private readonly bases = new Int8Array(limit.maxRows)
  private readonly olders = new Int8Array(limit.maxRows)
  private readonly anchors = new Int16Array(limit.maxRows) // row, -1: none
  private readonly anchorParts = new Int8Array(limit.maxRows)
  private readonly newest = new Uint8Array(limit.maxRows)
  private readonly simulation: Simulation | undefined
  private readonly exact: Exact | undefined
  private readonly forms = new Uint8Array(limit.maxRows)
  private readonly backs = new Uint8Array(limit.maxRows)
  private readonly states: State[] = []
  private readonly grid = new Float32Array(6)
  private readonly rows: Entity[] = [] // never shortened: growing again allocates
  private arena = new Uint32Array(minArena)
  private readonly payloads: Payload[] = [] // of the events of a message, in order

  // Scratch for the Structure message being checked and applied.
  private readonly plans = new Map<number, Plan>()
  private enters: Enter[] = []
  private readonly answers = new Set<number>()
  private bytesLeft = 0
  private planned = 0
  private retexted: Entity | undefined // whose texts the newest records have changed

  constructor(
    layout: Layout,
    tables: Tables,
    floor: number,
    ceiling: number,
    maxSlots: number,
    limits: Limits,
    observer: Observer,
    events: Events,
    wishes: Wishes,
    stats: ReplicaStats,
    budget: Budget,
    simulation?: Simulation,
  ) {
    this.layout = layout
    this.codec = new Codec(layout.schema, tables)
    this.floor = floor
    this.ceiling = ceiling
    this.maxSlots = maxSlots
    this.limits = limits
    this.observer = observer
    this.events = events
    this.wishes = wishes
    this.stats = stats
    this.budget = budget
    this.simulation = simulation
    this.exact = simulation?.newExact()
    this.bodies = simulation && this.newBodies(simulation)
    this.valuesLoad = Math.floor(layout.schema.values / 256)
    this.loads = layout.schema.components.map((c) => {
      const quats = c.fields.filter((f) => f.kind === 'quat').length
      return 2 + Math.floor(c.fields.length / 12) + 2 * quats + (c.parent === '' ? 0 : 6)
    })
  }

  private newBodies(simulation: Simulation): Bodies {
    const { schema } = this.layout
    if (!schema.motion) fail('the session simulates, but the schema does not say how bodies move')
    const { diverge } = this.observer
    return simulation.newBodies({
      motion: schema.motion,
      kinds: schema.kinds,
      budget: this.budget,
      diverge:
        diverge &&
        ((tick, names) =>
          guard(() =>
            diverge(
              tick,
              names.map((n) => newHandle(n.slot, n.generation)),
            ),
          )),
    })
  }

  /** schema is the server's. */
  get schema(): Schema {
    return this.layout.schema
  }

  /** received counts what was read of each component, also of exact states, since the session began: bits as they were in rows. */
  get received(): readonly Received[] {
    return this.codec.received
  }

  /** all are the entities in view, in no particular order. The array changes in updates. */
  get all(): readonly Entity[] {
    return this.entities
  }

  /** @internal ackTick returns the tick of the snapshot n before the newest, n below 64, which was applied. */
  ackTick(n: number): number {
    return this.ackTicks[Math.max(this.acks.newest - n, 0) % 64]
  }

  /** resolve returns the verdict on any handle (section 11.1). */
  resolve(h: bigint): Verdict {
    return this.verdict(indexOf(h), generationOf(h))
  }

  /** verdict is resolve of a handle's index and generation. */
  verdict(index: number, generation: number): Verdict {
    if (generation === provisionalGeneration) {
      const real = this.wishes.entity(index)
      if (real === none) return this.wishes.verdict(index)
      index = indexOf(real)
      generation = generationOf(real)
    }
    return verdicts[this.stateOf(index, generation)]
  }

  private stateOf(index: number, generation: number): number {
    if (generation % 2 === 0 || generation < this.floor || generation > this.ceiling || index >= this.maxSlots)
      return stale
    const c = this.cells.peek(index)
    if (!c || c.generation < generation) return 0
    return c.generation > generation ? stale : c.state
  }

  /** entity returns the entity of a handle, undefined unless it is live. */
  entity(h: bigint): Entity | undefined {
    if (generationOf(h) === provisionalGeneration) h = this.wishes.entity(indexOf(h))
    const index = indexOf(h)
    return this.stateOf(index, generationOf(h)) === live ? this.cells.peek(index)!.entity : undefined
  }

  /** bytes estimates the replica's memory: what Limits.bytes bounds. */
  get bytes(): number {
    return (
      this.cells.bytes +
      this.entityBytes +
      this.held.length * limit.maxDatagram +
      this.arena.byteLength +
      (this.bodies?.bytes ?? 0)
    )
  }

  // Structure: section 11.2.

  /** applyStructure applies a message whole or not at all, then the snapshots that waited for it. */
  applyStructure(body: Uint8Array): void {
    const m = parseStructure(body, this.simulation)
    if (m.first !== this.structure + 1) fail(`structure record ${m.first} follows ${this.structure}`)
    const tick = this.structureTick + m.ticks
    if (tick > 2 ** 32 - 1) fail('structure of a tick beyond 2^32')
    this.budget.spend(cost.record * m.records.length)
    this.check(m, tick)
    this.structureTick = tick
    const enters = this.enters
    const payloads = this.payloads.splice(0)
    this.enters = []
    for (const x of m.records) {
      this.reportTexts(x)
      this.structure++
      this.apply(x, tick, enters, payloads)
    }
    this.reportTexts(undefined)
    this.release()
  }

  /** check checks that all records can be applied, decodes their rows and events, and changes nothing visible. */
  private check(m: Structure, tick: number): void {
    this.plans.clear()
    this.answers.clear()
    this.enters = []
    this.payloads.length = 0
    this.bytesLeft = this.limits.bytes - this.bytes
    this.planned = this.entities.length
    for (const x of m.records) this.checkRecord(x, tick)
  }

  private checkRecord(x: StructureRecord, tick: number): void {
    if (x.op === Op.event) {
      this.payloads.push(this.readEvent(x.number, false, x.data))
      return
    }
    if (x.op === Op.extension) {
      this.extend(x, tick)
      return
    }
    if (x.op === Op.answer) {
      this.checkAnswer(x)
      if (x.detail === 0) return
    }
    if (x.index >= this.maxSlots || x.generation < this.floor || x.generation > this.ceiling)
      fail(`a record of ${x.index}v${x.generation}`)
    this.charge(this.cells.growth(x.index))
    const c = this.planOf(x.index)
    if (x.generation < c.generation) return
    switch (x.op) {
      case Op.answer:
        if (x.generation === c.generation && !c.stale)
          fail(`an answer with ${x.index}v${x.generation}, which has entered before`)
        return
      case Op.leave:
        if (x.generation === c.generation) this.planLive(c, false)
        return
      case Op.text:
        this.checkText(x, c)
        return
      case Op.enter:
        if (c.stale && x.generation === c.generation)
          fail(`an Enter of ${x.index}v${x.generation}, which was destroyed`)
        c.mask = this.checkEnter(x, tick)
        c.owned = x.owned
    }
    c.generation = x.generation
    c.stale = x.op === Op.destroy
    this.planLive(c, x.op === Op.enter)
    if (this.planned > this.limits.entities) throw new LimitError('maxEntities', this.limits.entities)
  }

  /** extend applies an Extension: nothing shows effects before the next complete snapshot. */
  private extend(x: StructureRecord, tick: number): void {
    const bodies = this.bodies!
    const before = bodies.bytes
    bodies.extend(x.extension!, tick, (h) => this.lives(h))
    this.charge(bodies.bytes - before)
  }

  /** lives reports whether an entity is Live after the records checked so far. */
  private lives(h: Name): boolean {
    const plan = this.plans.get(h.slot)
    if (plan) return plan.live && plan.generation === h.generation
    return this.cells.peek(h.slot)?.entity?.generation === h.generation
  }

  private checkAnswer(x: StructureRecord): void {
    if (!this.wishes.answers(x.number) || this.answers.has(x.number))
      fail(`an answer to provisional handle ${x.number}, which is not awaited`)
    this.answers.add(x.number)
  }

  private charge(bytes: number): void {
    this.bytesLeft -= bytes
    if (this.bytesLeft < 0) throw new LimitError('maxBytes', this.limits.bytes)
  }

  private planOf(slot: number): Plan {
    let p = this.plans.get(slot)
    if (!p) {
      const c = this.cells.at(slot)
      p = {
        generation: c.generation,
        stale: c.state === stale,
        live: c.state === live,
        owned: c.entity?.owned ?? false,
        mask: c.entity?.mask ?? 0,
      }
      this.plans.set(slot, p)
    }
    return p
  }

  private planLive(p: Plan, isLive: boolean): void {
    if (p.live !== isLive) this.planned += isLive ? 1 : -1
    p.live = isLive
  }

  /** checkEnter decodes the row and the texts of an Enter, and returns its mask. */
  private checkEnter(x: StructureRecord, tick: number): number {
    const { schema } = this.layout
    this.charge(bytesOfEntity + 4 * (2 + schema.values) + schema.texts.length * bytesOfText + 2 * x.data.length)
    const r = this.reader
    r.reset(x.row)
    const mask = this.codec.readMask(r)
    const list = new Uint32Array(2 + schema.values)
    this.codec.readFull(r, mask, x.owned, list, 2)
    let body: State | null = null
    if (x.form >= 0) {
      if (x.back >= tick) fail(`an exact state of ${x.back} ticks before tick ${tick}`)
      this.charge(this.bodies!.bytesOfNew)
      this.checkBody(x.kind, mask)
      body = this.simulation!.newState()
      this.readBody(x.form + 1, list, 2, body)
    }
    r.expectEnd()
    this.enters.push({ list, mask, texts: this.readTexts(x, mask), body })
    return mask
  }

  /** checkBody checks that an entity may have an exact state. */
  private checkBody(kind: number, mask: number): void {
    const { body } = this.layout
    if (body < 0 || ((mask >>> body) & 1) === 0 || !this.bodies!.hasKind(kind))
      fail(`an exact state of an entity of kind ${kind}, which cannot have one`)
  }

  /** readBody reads the exact part of a row, whose values begin at at. */
  private readBody(form: number, values: Uint32Array, at: number, s: State): void {
    const { schema, body } = this.layout
    for (let i = 0; i < 6; i++) {
      const f = schema.components[body].fields[i]
      this.grid[i] = f.low + values[at + f.index] * f.step
    }
    const from = this.reader.taken
    this.simulation!.readBody(this.reader, form, this.grid, schema.motion!.restTicks, s)
    this.codec.received[body].bits += this.reader.taken - from
  }

  /** readTexts reads the texts of an Enter (section 7). */
  private readTexts(x: StructureRecord, mask: number): Text[] {
    const r = new ByteReader(x.data)
    const texts = this.layout.schema.texts.map((f) => {
      if (((mask >>> f.component) & 1) === 0 || (f.owner && !x.owned)) return noText(f)
      return readText(f, r.bytes(r.uvarint(f.path, f.max)))
    })
    r.expectEnd()
    return texts
  }

  private checkText(x: StructureRecord, c: Plan): void {
    const f = this.layout.schema.texts[x.number]
    if (!f) fail(`text field ${x.number}, which the schema lacks`)
    readText(f, x.data)
    if (!c.live || x.generation !== c.generation) return
    if (((c.mask >>> f.component) & 1) === 0 || (f.owner && !c.owned))
      fail(`${f.path} of an entity that does not have it`)
    this.charge(2 * x.data.length)
  }

  private apply(x: StructureRecord, tick: number, enters: Enter[], payloads: Payload[]): void {
    if (x.op === Op.event) {
      this.deliver(x.number, tick, payloads.shift()!)
      return
    }
    if (x.op === Op.answer) {
      this.wishes.answer(x.number, x.detail === 0 ? none : newHandle(x.index, x.generation))
      return
    }
    if (x.op === Op.extension) return // checkRecord has applied it
    const c = this.cells.at(x.index)
    if (x.generation < c.generation) return // a tenant known to be gone
    switch (x.op) {
      case Op.enter:
        this.enter(c, x, tick, enters.shift()!)
        break
      case Op.leave:
        if (x.generation === c.generation && c.state === live) this.leave(c, x.detail === 1 ? 'rule' : 'interest')
        break
      case Op.destroy:
        this.destroy(c, x.index, x.generation, x.cause)
        break
      case Op.text:
        if (x.generation === c.generation && c.state === live) this.setText(c.entity!, x)
    }
  }

  private enter(c: Cell, x: StructureRecord, tick: number, row: Enter): void {
    let e = c.entity
    if (c.state !== live || e!.generation !== x.generation) {
      this.replace(c, x.generation)
      e = new Entity(x.index, x.generation, this.layout, this.bodies)
      e.place = this.entities.length
      this.entities.push(e)
      this.entityBytes += bytesOfEntity
    } else this.entityBytes -= e!.bytes + textBytes(e!.texts)
    e!.kind = x.kind
    e!.mask = row.mask
    e!.owned = x.owned
    e!.texts = row.texts
    e!.entered = this.structure
    e!.load = this.loads.reduce((n, load, i) => n + ((row.mask >>> i) & 1) * load, 1 + this.valuesLoad)
    e!.begin(row.list, tick - x.back)
    this.bodies?.entered({ slot: x.index, generation: x.generation }, x.kind, tick - x.back, row.body)
    this.entityBytes += e!.bytes + textBytes(e!.texts)
    c.generation = x.generation
    c.state = live
    c.entity = e
    this.stats.enters++
    if (this.observer.enter) guard(() => this.observer.enter!(e!))
  }

  /** leave takes the entity of a cell out of view. */
  private leave(c: Cell, why: Reason): void {
    const h = c.entity!.handle
    this.drop(c)
    c.state = hidden
    this.stats.leaves++
    if (this.observer.leave) guard(() => this.observer.leave!(h, why))
  }

  /** destroy makes a tenant and all before it Stale, even if the tenant was never heard of. */
  private destroy(c: Cell, index: number, generation: number, cause: number): void {
    if (c.state === stale && generation === c.generation) return // repeated
    this.replace(c, generation)
    c.generation = generation
    c.state = stale
    this.reportDestroyed(newHandle(index, generation), cause)
  }

  /** replace takes the live tenant, if any, out of its slot; another than generation is dead. */
  private replace(c: Cell, generation: number): void {
    if (c.state !== live) return
    const e = c.entity!
    this.drop(c)
    c.state = stale // before the callback, which may ask
    if (e.generation !== generation) this.reportDestroyed(e.handle, 0)
  }

  private reportDestroyed(h: Handle, cause: number): void {
    this.stats.destroys++
    if (this.observer.destroy) guard(() => this.observer.destroy!(h, cause))
  }

  private drop(c: Cell): void {
    const e = c.entity!
    this.entityBytes -= bytesOfEntity + e.bytes + textBytes(e.texts)
    this.bodies?.gone(e.index)
    const last = this.entities.pop()!
    if (last !== e) {
      this.entities[e.place] = last
      last.place = e.place
    }
    c.entity = undefined
  }

  private setText(e: Entity, x: StructureRecord): void {
    const text = readText(this.layout.schema.texts[x.number], x.data)
    this.entityBytes += 2 * (text.length - e.texts[x.number].length)
    e.texts[x.number] = text
    this.stats.texts++
    this.retexted = e
  }

  /** reportTexts reports the entity whose texts have changed, unless the next record changes them too. */
  private reportTexts(next: StructureRecord | undefined): void {
    const e = this.retexted
    if (!e || (next?.op === Op.text && next.index === e.index && next.generation === e.generation)) return
    this.retexted = undefined
    if (this.observer.update) guard(() => this.observer.update!(e))
  }

  // Events: sections 8 and 11.2.

  private readEvent(number: number, unreliable: boolean, body: Uint8Array): Payload {
    const kind = this.layout.schema.events[number]
    if (!kind || kind.unreliable !== unreliable) fail(`event ${number}, which the schema lacks in this form`)
    return kind.message.parse(this.eventBits, body)
  }

  private deliver(number: number, tick: number, p: Payload): void {
    this.stats.events++
    this.events.deliver(tick, this.layout.schema.events[number], p, (at, call) => this.addRendered(at, call))
  }

  private addRendered(tick: number, call: () => void): void {
    if (this.rendered.length === maxRendered) guard(this.rendered.shift()!.call)
    let at = this.rendered.length
    while (at > 0 && this.rendered[at - 1].tick > tick) at--
    this.rendered.splice(at, 0, { tick, call })
  }

  /** @internal deliverRendered delivers the waiting events up to a tick. */
  deliverRendered(tick: number): void {
    while (this.rendered.length > 0 && this.rendered[0].tick <= tick) guard(this.rendered.shift()!.call)
  }

  // Snapshots: section 11.3.

  /** @internal The header of the newest datagram. */
  get stateHeader(): StateHeader {
    return this.header
  }

  /** applyState applies a State datagram whole or not at all. It throws if that breaks the protocol. */
  applyState(d: Uint8Array): Outcome {
    const h = this.header
    h.parse(d)
    this.budget.spend(cost.datagram + cost.row * h.rows)
    if (this.acks.duplicate(h.seq) || h.structure < this.fence) {
      this.stats.duplicates++
      return 'duplicate'
    }
    if (h.structure > this.structure) return this.hold(d) // it may be of another room
    if (!this.bodies && (h.complete || h.audited || h.continued || h.exact))
      fail('a State datagram of a simulation, in a session that does not simulate')
    this.reader.reset(d, h.rest, d.length)
    this.readHeaders()
    const load = this.findEntities()
    if (load < 0) {
      this.stats.unreadable++
      return 'unreadable'
    }
    if (this.fold.value !== h.fold) {
      this.stats.faults++
      return 'faulty'
    }
    if (load > limit.maxLoad) fail(`rows of load ${load}, at most ${limit.maxLoad}`)
    if (this.bodies)
      for (let i = 0; i < h.rows; i++) if (this.forms[i] !== 0) this.checkBody(this.rows[i].kind, this.rows[i].mask)
    if (!this.findBaselines()) {
      this.stats.unreadable++
      return 'unreadable'
    }
    this.decode()
    this.checkGrowth()
    this.publish()
    return 'applied'
  }

  /** readHeaders reads the headers of the rows. */
  private readHeaders(): void {
    const { header: h, reader: r } = this
    if (h.rows === 0) return
    const k = r.bits(4)
    this.coding.read(r, h.tick)
    let next = 0
    let ordinary = 0
    for (let i = 0; i < h.rows; i++) {
      const slot = next + r.golomb(k)
      let b = this.coding
      if (r.bits(1) === 1) {
        b = this.own
        b.read(r, h.tick)
        if (b.age === this.coding.age && b.gap === this.coding.gap) r.refuse('an own baseline equals the usual one')
      }
      this.forms[i] = this.backs[i] = 0
      if (h.exact) {
        this.exact!.read(r, h.tick, b.age)
        this.forms[i] = this.exact!.form
        this.backs[i] = this.exact!.back
      }
      if (this.forms[i] === 0) ordinary++
      r.check()
      if (slot >= this.maxSlots) fail(`a row of slot ${slot}`)
      this.slots[i] = slot
      this.ages[i] = b.age
      this.gaps[i] = b.gap
      next = slot + 1
    }
    if (h.exact && ordinary === h.rows) fail('a State datagram announces exact rows and has none')
  }

  /** findEntities finds and folds the entities of the rows, and returns their load; −1 if one is not known. */
  private findEntities(): number {
    const { header: h, rows, fold } = this
    let load = 0
    fold.reset()
    for (let i = 0; i < h.rows; i++) {
      const e = this.cells.peek(this.slots[i])?.entity
      if (!e || e.entered > h.structure) return -1
      rows[i] = e
      fold.add(e.index, e.generation)
      load += e.load
    }
    return load
  }

  /** findBaselines finds the baselines and anchors of the rows. It returns false if a state is not known. */
  private findBaselines(): boolean {
    const { header: h, rows } = this
    for (let i = 0; i < h.rows; i++) {
      this.bases[i] = this.olders[i] = this.anchors[i] = -1
      const age = this.ages[i]
      if (age === 0) continue
      const base = rows[i].state(h.tick - age)
      this.bases[i] = base
      if (base < 0) return false
      const gap = this.gaps[i]
      if (gap === 0) continue
      const older = rows[i].state(h.tick - age - gap)
      this.olders[i] = older
      if (older < 0) return false
    }
    for (let i = 0; i < h.rows; i++) this.findAnchor(i)
    return true
  }

  /** parentPart returns the first present component of row i with a parent line, −1 if it has none. */
  private parentPart(i: number): number {
    if (this.bases[i] < 0) return -1
    const { components } = this.layout.schema
    for (let c = 0; c < components.length; c++) {
      if (components[c].parent !== '' && (this.rows[i].mask >>> c) & 1) return c
    }
    return -1
  }

  /** holderAt returns where in row i's states its base has the parent's handle. */
  private holderAt(i: number, part: number): number {
    return this.rows[i].valuesAt(this.bases[i]) + this.layout.schema.components[part].holder
  }

  private findAnchor(i: number): void {
    const part = this.parentPart(i)
    if (part < 0) return
    const at = this.holderAt(i, part)
    const values = this.rows[i].all
    const generation = values[at + 1]
    const a = this.rowOf(values[at])
    if (generation === 0 || a < 0) return
    const e = this.rows[a]
    if (
      e.generation !== generation ||
      this.ages[a] !== this.ages[i] ||
      this.gaps[a] !== this.gaps[i] ||
      this.backs[a] !== this.backs[i] ||
      ((e.mask >>> part) & 1) === 0
    )
      return
    const own = this.parentPart(a)
    if (own >= 0 && e.all[this.holderAt(a, own) + 1] !== 0) return
    this.anchors[i] = a
    this.anchorParts[i] = part
  }

  /** rowOf returns the row of a slot, −1 if there is none. */
  private rowOf(slot: number): number {
    let from = 0
    let to = this.header.rows
    while (from < to) {
      const middle = (from + to) >> 1
      if (this.slots[middle] < slot) from = middle + 1
      else to = middle
    }
    return from < this.header.rows && this.slots[from] === slot ? from : -1
  }

  /** decode reads the events and all rows into scratch: first those without an anchor. */
  private decode(): void {
    const { header: h, reader: r } = this
    this.payloads.length = 0
    for (const e of h.events) {
      if (e.age > h.tick) fail(`an event of ${e.age} ticks before tick ${h.tick}`)
      this.payloads.push(this.readEvent(e.number, true, e.body))
    }
    const n = this.layout.schema.values * h.rows
    if (this.arena.length < n) this.arena = new Uint32Array(Math.max(n, 2 * this.arena.length))
    let anchored = 0
    for (let i = 0; i < h.rows; i++) {
      if (this.anchors[i] < 0) this.decodeRow(i)
      else anchored++
    }
    for (let i = 0; i < h.rows && anchored > 0; i++) if (this.anchors[i] >= 0) this.decodeRow(i)
    r.expectEnd()
  }

  private decodeRow(i: number): void {
    const n = this.layout.schema.values
    const e = this.rows[i]
    if (this.ages[i] === 0) {
      this.codec.readFull(this.reader, e.mask, e.owned, this.arena, i * n)
      this.readExact(i)
      return
    }
    const p = this.past
    p.age = this.ages[i] - this.backs[i]
    p.gap = this.gaps[i]
    p.values = e.all
    p.base = e.valuesAt(this.bases[i])
    p.older = this.gaps[i] === 0 ? -1 : e.valuesAt(this.olders[i])
    p.anchor = -1
    const a = this.anchors[i]
    if (a >= 0) {
      const carrier = this.rows[a]
      p.anchor = this.anchorParts[i]
      p.anchorNow = this.arena
      p.now = a * n
      p.anchorPast = carrier.all
      p.anchorBase = carrier.valuesAt(this.bases[a])
      p.anchorOlder = this.gaps[a] === 0 ? -1 : carrier.valuesAt(this.olders[a])
    }
    this.codec.read(this.reader, e.mask, e.owned, p, this.arena, i * n)
    this.readExact(i)
  }

  /** readExact reads the exact part of row i, if it has one. */
  private readExact(i: number): void {
    if (this.forms[i] === 0) return
    while (this.states.length <= i) this.states.push(this.simulation!.newState())
    this.readBody(this.forms[i], this.arena, i * this.layout.schema.values, this.states[i])
  }

  /** checkGrowth checks that the states of the rows cannot exceed the limit. */
  private checkGrowth(): void {
    this.bytesLeft = this.limits.bytes - this.bytes
    for (let i = 0; i < this.header.rows; i++) {
      this.charge(this.rows[i].growth)
      if (this.forms[i] !== 0 && !this.bodies!.isComputed(this.slots[i])) this.charge(this.bodies!.bytesOfNew)
    }
  }

  /** publish applies the decoded rows. */
  private publish(): void {
    const { header: h, rows } = this
    const { tick, seq } = h
    const events = h.events
    const payloads = events.length > 0 ? this.payloads.splice(0) : noPayloads
    for (let i = 0; i < events.length; i++) this.deliver(events[i].number, tick - events[i].age, payloads[i])
    if (tick > this.tick) {
      this.before = this.tick
      // Others would have been empty too, and were not sent.
      if (this.empty !== 0 && h.seq === this.empty + 1) this.before = Math.max(this.before, h.tick - this.interval)
      this.empty = h.rows + h.events.length === 0 ? h.seq : 0
      this.tick = tick
      this.input = h.input
    }
    const n = this.layout.schema.values
    for (let i = 0; i < h.rows; i++) {
      const e = rows[i]
      if (this.gaps[i] !== 0) e.noteBaseline(tick - this.ages[i] - this.gaps[i])
      const bytes = e.bytes
      const at = tick - this.backs[i]
      this.newest[i] = e.add(at, this.blendFrom(at, e), this.arena, i * n, this.span) ? 1 : 0
      this.entityBytes += e.bytes - bytes
      if (this.newest[i]) {
        this.stats.rows++
        this.bodies?.updated(e.index, at, this.forms[i] === 0 ? null : this.states[i])
      } else this.stats.rowsLate++
    }
    this.acks.add(seq)
    this.ackTicks[seq % 64] = tick
    this.stats.snapshots++
    this.bodies?.applied(h, this.structure)
    this.wishes.applied(this.input, this.tick)
    if (this.observer.update) {
      for (let i = 0; i < h.rows; i++) if (this.newest[i]) report(this.observer, rows[i])
    }
  }

  /**
   * blendFrom returns the tick from which a new state of e is blended in: 0 for its previous
   * state's, unless a snapshot between the two had no row of e. Then e was shown at rest, and is
   * blended from the newest render on, but over two snapshots at most.
   */
  private blendFrom(tick: number, e: Entity): number {
    if (tick < this.tick || this.before <= e.tick) return 0
    return Math.min(Math.max(this.shown, 2 * this.before - tick), tick - 1)
  }

  /** hold keeps a datagram until its structure arrives. */
  private hold(d: Uint8Array): Outcome {
    const { seq, structure } = this.header
    if (this.held.some((x) => x.seq === seq)) {
      this.stats.duplicates++
      return 'held'
    }
    this.held.push({ structure, seq, bytes: d.slice() })
    this.held.sort((a, b) => a.seq - b.seq)
    this.stats.held++
    if (this.held.length > maxHeld) {
      this.held.shift()
      this.stats.overflowed++
    }
    return 'held'
  }

  /** @internal */
  get waiting(): number {
    return this.held.length
  }

  /**
   * @internal follow continues a session that has moved: structure is the number of its Welcome,
   * and before holds the snapshots that have overtaken it. release applies them.
   */
  follow(structure: number, before: Replica | undefined): void {
    this.fence = this.structure = structure
    this.held = before?.held.filter((x) => x.structure >= structure) ?? []
  }

  /** @internal release applies the held datagrams whose structure has arrived, oldest first. */
  release(): void {
    if (this.held.length === 0) return
    const due = this.held.filter((x) => x.structure <= this.structure)
    this.held = this.held.filter((x) => x.structure > this.structure)
    for (const x of due) this.applyState(x.bytes)
  }

  // The end of a session: section 4.1.

  /** @internal leaveAll takes all entities out of view. */
  leaveAll(): void {
    for (const e of this.entities.slice()) this.leave(this.cells.at(e.index), 'interest')
  }

  /** @internal inheritStale copies the Stale handles of an earlier session of the same epoch. */
  inheritStale(before: Replica): void {
    for (const [slot, c] of before.cells.known()) {
      const generation = c.state === stale ? c.generation : c.generation - 2
      if (generation < 1) continue
      const own = this.cells.at(slot)
      own.generation = generation
      own.state = stale
    }
  }

  /** @internal destroyAll destroys every entity that may live. */
  destroyAll(): void {
    for (const [slot, c] of this.cells.known()) if (c.state !== stale) this.destroy(c, slot, c.generation, 0)
  }
}

const noPayloads: Payload[] = []

/** report calls update without allocating. */
function report(o: Observer, e: Entity): void {
  try {
    o.update!(e)
  } catch (thrown) {
    rethrow(thrown)
  }
}
