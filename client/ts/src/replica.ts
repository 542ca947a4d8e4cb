// The client's copy of its interest set: PROTOCOL.md, section 11.

import { type Budget, cost } from './budget.ts'
import { fail } from './codes.ts'
import { Entities, type HandleRange } from './entities.ts'
import type { Entity, Layout } from './entity.ts'
import { EventQueue, type Events } from './events.ts'
import { ExactRows } from './exact_rows.ts'
import { generationOf, indexOf, isProvisional, newHandle, none, type Verdict } from './handles.ts'
import { HeldSnapshots } from './held.ts'
import * as limit from './limits.ts'
import { type Limits, MemoryBudget } from './memory.ts'
import type { Bodies } from './motion/bodies.ts'
import { type Observer, type ReplicaStats, reportUpdate } from './observer.ts'
import type { Provisionals } from './provisionals.ts'
import { Codec, type Received } from './rows.ts'
import type { Schema } from './schema.ts'
import type { Simulation } from './simulation.ts'
import { Acks, StateHeader } from './state.ts'
import { StateRows } from './state_rows.ts'
import { Op, parseStructure, type StructureRecord } from './structure.ts'
import { StructureCheck } from './structure_check.ts'
import type { Tables } from './tables.ts'
import { Timeline } from './timeline.ts'
import type { Payload } from './values.ts'

/** The outcome of a State datagram. */
export type Outcome = 'applied' | 'held' | 'duplicate' | 'unreadable' | 'faulty'

/** The session and world of a replica, and the objects that it uses with its session. */
export interface ReplicaOptions {
  readonly layout: Layout
  readonly tables: Tables
  readonly range: HandleRange
  readonly limits: Limits
  readonly observer: Observer
  readonly events: Events
  readonly provisionals: Provisionals
  readonly stats: ReplicaStats
  readonly budget: Budget
  readonly simulation: Simulation | undefined
}

const noPayloads: Payload[] = []

/** The client's copy of its interest set, and its record of every handle that the server sent. */
export class Replica {
  readonly layout: Layout
  readonly stats: ReplicaStats
  /** @internal The bodies that the client computes; undefined unless the session simulates. */
  readonly bodies: Bodies | undefined
  /** @internal */ readonly acks = new Acks()
  /** @internal The header of the newest datagram. */
  readonly header = new StateHeader()

  readonly #observer: Observer
  readonly #budget: Budget
  readonly #provisionals: Provisionals
  readonly #simulation: Simulation | undefined
  readonly #memory: MemoryBudget
  readonly #codec: Codec
  readonly #entities: Entities
  readonly #events: EventQueue
  readonly #check: StructureCheck
  readonly #rows: StateRows
  readonly #timeline = new Timeline()
  readonly #held = new HeldSnapshots()
  readonly #ackTicks = new Uint32Array(64) // ticks of the snapshots in acks, by number modulo 64
  #structure = 0
  #structureTick = 0
  #ended = false // the world is gone: the rest of the message being applied is dropped
  #fence = 0 // snapshots with a lower structure number are of an earlier room
  #retexted: Entity | undefined // entity whose texts the newest records have changed

  constructor(o: ReplicaOptions) {
    const { layout, observer, stats, provisionals } = o
    const { schema } = layout
    this.layout = layout
    this.stats = stats
    this.#observer = observer
    this.#budget = o.budget
    this.#provisionals = provisionals
    this.#simulation = o.simulation
    this.#memory = new MemoryBudget(o.limits.bytes)
    this.#codec = new Codec(schema, o.tables)
    const exact = o.simulation && new ExactRows(o.simulation, layout, this.#codec.received, observer, o.budget)
    this.bodies = exact?.bodies
    this.#entities = new Entities(layout, o.range, observer, stats, this.bodies)
    this.#events = new EventQueue(schema.events, o.events, stats)
    this.#check = new StructureCheck({
      layout,
      entities: this.#entities,
      codec: this.#codec,
      events: this.#events,
      provisionals,
      maxEntities: o.limits.entities,
      memory: this.#memory,
      exact,
    })
    this.#rows = new StateRows(schema, this.#entities, this.#codec, exact)
  }

  /** The server's schema. */
  get schema(): Schema {
    return this.layout.schema
  }

  /** The tick of the newest snapshot applied. */
  get tick(): number {
    return this.#timeline.snapshots.tick
  }

  /** The tick of the newest input that the server had applied at tick, 0 if none. */
  get input(): number {
    return this.#timeline.input
  }

  /** The number of structure records applied. */
  get structure(): number {
    return this.#structure
  }

  /** @internal The tick of the newest Structure message, which may be later than tick. */
  get structureTick(): number {
    return this.#structureTick
  }

  /**
   * By component: rows read since the session began, and bits. Exact states count with the bits
   * that a row would have had.
   */
  get received(): readonly Received[] {
    return this.#codec.received
  }

  /** The entities in view, in no particular order. Only update changes the array. */
  get all(): readonly Entity[] {
    return this.#entities.all
  }

  /** @internal Returns the tick of the n-th applied snapshot before the newest, n below 64. */
  ackTick(n: number): number {
    return this.#ackTicks[Math.max(this.acks.newest - n, 0) % 64]!
  }

  /** Returns the verdict on any handle (section 11.1). */
  resolve(h: bigint): Verdict {
    const real = this.#provisionals.realOf(h)
    return real === none && isProvisional(h)
      ? this.#provisionals.verdictOf(indexOf(h))
      : this.#entities.verdict(indexOf(real), generationOf(real))
  }

  /** Returns the entity of a handle, undefined unless it is live. */
  entity(h: bigint): Entity | undefined {
    const real = this.#provisionals.realOf(h)
    return this.#entities.find(indexOf(real), generationOf(real))
  }

  /** An estimate of the replica's memory, which Limits.bytes bounds. */
  get bytes(): number {
    return this.#entities.bytes + this.#held.bytes + this.#rows.bytes + (this.bodies?.bytes ?? 0)
  }

  // Structure: section 11.2.

  /** Applies a message whole or not at all, then the snapshots that waited for it. */
  applyStructure(body: Uint8Array): void {
    const m = parseStructure(body, this.#simulation)
    if (m.first !== this.#structure + 1) fail(`structure record ${m.first} follows ${this.#structure}`)
    const tick = this.#structureTick + m.ticks
    if (tick > 2 ** 32 - 1) fail('structure of a tick beyond 2^32')
    this.#budget.spend(cost.record * m.records.length)
    this.#memory.begin(this.bytes)
    this.#check.check(m.records, tick)
    this.#structureTick = tick
    for (const x of m.records) {
      this.#reportTexts(x)
      if (this.#ended) return // by a callback
      this.#structure++
      this.#applyRecord(x, tick)
    }
    this.#reportTexts(undefined)
    this.applyDue()
  }

  #applyRecord(x: StructureRecord, tick: number): void {
    switch (x.op) {
      case Op.event:
        if (x.payload) this.#events.deliver(x.number, tick, x.payload)
        return
      case Op.answer:
        this.#provisionals.answer(x.number, x.detail === 0 ? none : newHandle(x.index, x.generation))
        return
      case Op.extension: // the check has applied it
        return
    }
    if (x.generation < this.#entities.cell(x.index).generation) return // its entity is known to be dead
    switch (x.op) {
      case Op.enter:
        if (x.decoded) this.#entities.enter(x, tick, x.decoded, this.#structure)
        break
      case Op.leave: {
        const e = this.#entities.find(x.index, x.generation)
        if (e) this.#entities.leave(e, x.detail === 1 ? 'rule' : 'interest')
        break
      }
      case Op.destroy:
        this.#entities.destroy(x.index, x.generation, x.cause)
        break
      case Op.text:
        this.#setText(x)
    }
  }

  #setText(x: StructureRecord): void {
    const e = this.#entities.find(x.index, x.generation)
    if (!e) return
    this.#entities.setText(e, x.number, x.data)
    this.#retexted = e
  }

  /** Reports the entity whose texts have changed, unless the next record changes them too. */
  #reportTexts(next: StructureRecord | undefined): void {
    const e = this.#retexted
    if (!e || (next?.op === Op.text && next.index === e.index && next.generation === e.generation)) return
    this.#retexted = undefined
    reportUpdate(this.#observer, e)
  }

  /** @internal Delivers the events that wait for a rendered tick. */
  deliverRendered(tick: number): void {
    this.#events.deliverRendered(tick)
  }

  /** @internal Keeps states of the last ticks from now on, for interpolation. */
  keepStates(ticks: number): void {
    this.#timeline.keepStates(ticks)
  }

  /** @internal Notes the tick of the newest render. */
  setShown(tick: number): void {
    this.#timeline.show(tick)
    this.deliverRendered(tick)
  }

  // Snapshots: section 11.3.

  /** Applies a State datagram whole or not at all. It throws if the datagram breaks the protocol. */
  applyState(d: Uint8Array): Outcome {
    const h = this.header
    h.parse(d)
    this.#budget.spend(cost.datagram + cost.row * h.rows)
    if (this.acks.isDuplicate(h.seq) || h.structure < this.#fence) {
      this.stats.duplicates++
      return 'duplicate'
    }
    if (h.structure > this.#structure) {
      this.#held.add(h, d, this.stats) // it may belong to another room
      return 'held'
    }
    if (!this.bodies && (h.complete || h.audited || h.continued || h.exact))
      fail('a State datagram of a simulation, in a session that does not simulate')
    const problem = this.#findRows(h, d)
    if (problem === 'faulty') this.stats.faults++
    if (problem === 'unreadable') this.stats.unreadable++
    if (problem) return problem
    const payloads = this.#readEvents(h)
    this.#rows.decode()
    this.#memory.begin(this.bytes)
    this.#rows.chargeGrowth(this.#memory)
    this.#applySnapshot(h, payloads)
    return 'applied'
  }

  /** Finds the entities and baselines of the rows. It returns why the client cannot read the rows, if so. */
  #findRows(h: StateHeader, d: Uint8Array): 'unreadable' | 'faulty' | undefined {
    const rows = this.#rows
    rows.readHeaders(h, d)
    const load = rows.findEntities(h)
    if (load < 0) return 'unreadable'
    if (rows.fold !== h.fold) return 'faulty'
    if (load > limit.maxLoad) fail(`rows of load ${load}, at most ${limit.maxLoad}`)
    rows.checkExact()
    return rows.findBaselines(h) ? undefined : 'unreadable'
  }

  #readEvents(h: StateHeader): Payload[] {
    if (h.events.length === 0) return noPayloads
    return h.events.map((e) => {
      if (e.age > h.tick) fail(`an event of ${e.age} ticks before tick ${h.tick}`)
      return this.#events.read(e.number, true, e.body)
    })
  }

  /** Applies the decoded rows and events. */
  #applySnapshot(h: StateHeader, payloads: readonly Payload[]): void {
    for (let i = 0; i < h.events.length; i++) {
      const { number, age } = h.events[i]!
      this.#events.deliver(number, h.tick - age, payloads[i]!)
    }
    if (this.#ended) return // by a callback
    this.#timeline.add(h)
    this.#rows.apply(h, this.#timeline, this.stats)
    this.acks.add(h.seq)
    this.#ackTicks[h.seq % 64] = h.tick
    this.stats.snapshots++
    this.bodies?.applySnapshot(h, this.#structure)
    this.#provisionals.snapshotApplied(this.input, this.tick)
    this.#rows.reportUpdates(this.#observer)
  }

  /** @internal The fold of the entities found for the newest datagram. */
  get fold(): number {
    return this.#rows.fold
  }

  /** @internal How many snapshots wait for structure. */
  get waiting(): number {
    return this.#held.length
  }

  /**
   * @internal Continues a session that has moved, after the structure record of its Welcome.
   * The snapshots that overtook the Welcome wait in the last room's replica; applyDue applies
   * them.
   */
  continueFrom(structure: number, lastRoom: Replica | undefined): void {
    this.#fence = this.#structure = structure
    if (lastRoom) this.#held.inherit(lastRoom.#held, structure)
  }

  /** @internal Applies the held datagrams whose structure has arrived, oldest first. */
  applyDue(): void {
    for (const d of this.#held.takeDue(this.#structure)) if (!this.#ended) this.applyState(d)
  }

  // The end of a session: section 4.1.

  /** @internal The ticks between two snapshots, as the Welcome says. */
  get interval(): number {
    return this.#timeline.snapshots.interval
  }

  /** @internal Sets the ticks between two snapshots. */
  setInterval(ticks: number): void {
    this.#timeline.snapshots.setInterval(ticks)
  }

  /** @internal Takes all entities out of view, after the events that wait for renders. */
  leaveAll(): void {
    this.deliverRendered(Infinity)
    this.#entities.leaveAll()
  }

  /** @internal Copies the stale handles of an earlier session of the same epoch. */
  inheritStale(before: Replica): void {
    this.#entities.inheritStale(before.#entities)
  }

  /** @internal Destroys every entity that may be alive, after the events that wait for renders: the world is gone. */
  endWorld(): void {
    this.#ended = true
    this.#retexted = undefined
    this.#rows.dropUpdates()
    this.deliverRendered(Infinity)
    this.#entities.destroyAll()
  }
}
