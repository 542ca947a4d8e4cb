// The rows of State datagrams: PROTOCOL.md, sections 8, 9 and 11.3.

import { BitReader } from './bits.ts'
import { fail } from './codes.ts'
import type { Entities } from './entities.ts'
import type { Entity } from './entity.ts'
import type { ExactRows } from './exact_rows.ts'
import * as limit from './limits.ts'
import type { MemoryBudget } from './memory.ts'
import type { State } from './motion/columns.ts'
import { type Observer, type ReplicaStats, reportUpdate } from './observer.ts'
import { Past } from './row_parts.ts'
import type { Codec } from './rows.ts'
import type { Component, Schema } from './schema.ts'
import { Baseline, Fold, type StateHeader } from './state.ts'
import type { Timeline } from './timeline.ts'

const minArena = 4096

/**
 * The rows of the datagram being applied. They are read in steps: headers, entities,
 * baselines, values. If a step fails, the datagram has changed nothing.
 */
export class StateRows {
  readonly #entities: Entities
  readonly #codec: Codec
  readonly #exact: ExactRows | undefined
  readonly #components: readonly Component[]
  readonly #values: number // in a row

  readonly #reader = new BitReader()
  readonly #usual = new Baseline()
  readonly #own = new Baseline()
  readonly #past = new Past()
  readonly #fold = new Fold()
  #count = 0

  // Lists by row. They are never shortened, since growing again would allocate.
  readonly #slots = new Uint32Array(limit.maxRows)
  readonly #ages = new Uint32Array(limit.maxRows) // ticks before the datagram of the newer baseline
  readonly #gaps = new Uint32Array(limit.maxRows) // ticks from the newer baseline to the older one
  readonly #bases = new Int8Array(limit.maxRows) // index of a state, -1 without one
  readonly #olders = new Int8Array(limit.maxRows)
  readonly #anchors = new Int16Array(limit.maxRows) // row of the parent, -1 without one
  readonly #anchorParts = new Int8Array(limit.maxRows)
  readonly #forms = new Uint8Array(limit.maxRows) // of exact states, 0 without one
  readonly #backs = new Uint16Array(limit.maxRows)
  readonly #teleports = new Uint32Array(limit.maxRows) // ticks of teleports, 0 without one
  readonly #current = new Uint8Array(limit.maxRows) // 1: the row became its entity's current state
  readonly #rows: Entity[] = []
  readonly #states: State[] = [] // exact states
  #arena = new Uint32Array(minArena) // decoded values

  constructor(schema: Schema, entities: Entities, codec: Codec, exact: ExactRows | undefined) {
    this.#entities = entities
    this.#codec = codec
    this.#exact = exact
    this.#components = schema.components
    this.#values = schema.values
  }

  get bytes(): number {
    return this.#arena.byteLength
  }

  /** Reads the headers of the rows in a datagram. */
  readHeaders(h: StateHeader, d: Uint8Array): void {
    const r = this.#reader
    r.reset(d, h.rest, d.length)
    this.#count = h.rows
    if (h.rows === 0) return
    const k = r.bits(4)
    this.#usual.read(r, h.tick)
    let next = 0
    let ordinary = 0
    for (let i = 0; i < h.rows; i++) {
      const slot = next + r.golomb(k)
      const b = this.#readBaseline(h.tick)
      this.#readForm(i, h, b.age)
      if (this.#forms[i] === 0) ordinary++
      r.check()
      if (!this.#entities.hasSlot(slot)) fail(`a row of slot ${slot}`)
      this.#slots[i] = slot
      this.#ages[i] = b.age
      this.#gaps[i] = b.gap
      this.#teleports[i] = 0
      next = slot + 1
    }
    for (const t of h.teleports) this.#teleports[t.row] = h.tick - t.age
    if (h.exact && ordinary === h.rows) fail('a State datagram announces exact rows and has none')
  }

  #readBaseline(tick: number): Baseline {
    const r = this.#reader
    const usual = this.#usual
    if (r.bits(1) === 0) return usual
    const own = this.#own
    own.read(r, tick)
    if (own.age === usual.age && own.gap === usual.gap) r.refuse('an own baseline equals the usual one')
    return own
  }

  #readForm(i: number, h: StateHeader, age: number): void {
    this.#forms[i] = this.#backs[i] = 0
    if (!h.exact || !this.#exact) return
    const { header } = this.#exact
    header.read(this.#reader, h.tick, age)
    this.#forms[i] = header.form
    this.#backs[i] = header.back
  }

  /** Finds and folds the entities of the rows, and returns their load, or -1 if the client lacks one. */
  findEntities(h: StateHeader): number {
    const rows = this.#rows
    const fold = this.#fold
    let load = 0
    fold.reset()
    for (let i = 0; i < this.#count; i++) {
      const e = this.#entities.inSlot(this.#slots[i]!)
      if (!e || e.entered > h.structure) return -1
      rows[i] = e
      fold.add(e.index, e.generation)
      load += e.load
    }
    return load
  }

  /** The fold of the entities found. */
  get fold(): number {
    return this.#fold.value
  }

  /** Checks that the entities of exact rows may have exact states. */
  checkExact(): void {
    const exact = this.#exact
    if (!exact) return
    for (let i = 0; i < this.#count; i++) {
      if (this.#forms[i] !== 0) exact.check(this.#rows[i]!.kind, this.#rows[i]!.mask)
    }
  }

  /** Finds the baselines and anchors of the rows. It returns false if the client lacks a baseline. */
  findBaselines(h: StateHeader): boolean {
    for (let i = 0; i < this.#count; i++) {
      this.#bases[i] = this.#olders[i] = this.#anchors[i] = -1
      const age = this.#ages[i]!
      if (age === 0) continue
      const base = this.#rows[i]!.indexOfState(h.tick - age)
      if (base < 0) return false
      this.#bases[i] = base
      const gap = this.#gaps[i]!
      if (gap === 0) continue
      const older = this.#rows[i]!.indexOfState(h.tick - age - gap)
      if (older < 0) return false
      this.#olders[i] = older
    }
    for (let i = 0; i < this.#count; i++) this.#findAnchor(i)
    return true
  }

  /** Returns the first component of row i that has a parent line, -1 without one. */
  #parentPart(i: number): number {
    if (this.#bases[i]! < 0) return -1
    const components = this.#components
    const { mask } = this.#rows[i]!
    for (let c = 0; c < components.length; c++) {
      if (components[c]!.parent !== '' && (mask >>> c) & 1) return c
    }
    return -1
  }

  /** Returns the index of the parent's handle in the base of row i. */
  #holderAt(i: number, part: number): number {
    return this.#rows[i]!.valuesAt(this.#bases[i]!) + this.#components[part]!.holder
  }

  #findAnchor(i: number): void {
    const part = this.#parentPart(i)
    if (part < 0) return
    const at = this.#holderAt(i, part)
    const values = this.#rows[i]!.all
    const generation = values[at + 1]
    const a = this.#rowOf(values[at]!)
    if (generation === 0 || a < 0) return
    const e = this.#rows[a]!
    if (e.generation !== generation || !this.#sameTicks(a, i) || ((e.mask >>> part) & 1) === 0) return
    const own = this.#parentPart(a)
    if (own >= 0 && e.all[this.#holderAt(a, own) + 1] !== 0) return
    this.#anchors[i] = a
    this.#anchorParts[i] = part
  }

  /** Reports whether two rows have states of the same ticks. */
  #sameTicks(i: number, k: number): boolean {
    return this.#ages[i] === this.#ages[k] && this.#gaps[i] === this.#gaps[k] && this.#backs[i] === this.#backs[k]
  }

  /** Returns the row of a slot, -1 without one. */
  #rowOf(slot: number): number {
    let from = 0
    let to = this.#count
    while (from < to) {
      const middle = (from + to) >> 1
      if (this.#slots[middle]! < slot) from = middle + 1
      else to = middle
    }
    return from < this.#count && this.#slots[from] === slot ? from : -1
  }

  /** Decodes all rows, those without an anchor first. */
  decode(): void {
    const n = this.#values * this.#count
    if (this.#arena.length < n) this.#arena = new Uint32Array(Math.max(n, 2 * this.#arena.length))
    let anchored = 0
    for (let i = 0; i < this.#count; i++) {
      if (this.#anchors[i]! < 0) this.#decodeRow(i)
      else anchored++
    }
    for (let i = 0; i < this.#count && anchored > 0; i++) if (this.#anchors[i]! >= 0) this.#decodeRow(i)
    this.#reader.expectEnd()
  }

  #decodeRow(i: number): void {
    const n = this.#values
    const e = this.#rows[i]!
    const from = this.#reader.taken
    if (this.#ages[i] === 0) this.#codec.readFull(this.#reader, e.mask, e.owned, this.#arena, i * n)
    else this.#codec.read(this.#reader, e.mask, e.owned, this.#pastOf(i, e), this.#arena, i * n)
    if (this.#forms[i] !== 0) this.#readExact(i)
    e.bits += this.#reader.taken - from
  }

  #pastOf(i: number, e: Entity): Past {
    const p = this.#past
    p.age = this.#ages[i]! - this.#backs[i]!
    p.gap = this.#gaps[i]!
    p.values = e.all
    p.base = e.valuesAt(this.#bases[i]!)
    p.older = this.#gaps[i] === 0 ? -1 : e.valuesAt(this.#olders[i]!)
    p.anchor = -1
    const a = this.#anchors[i]!
    if (a >= 0) {
      const carrier = this.#rows[a]!
      p.anchor = this.#anchorParts[i]!
      p.anchorNow = this.#arena
      p.now = a * this.#values
      p.anchorPast = carrier.all
      p.anchorBase = carrier.valuesAt(this.#bases[a]!)
      p.anchorOlder = this.#gaps[a] === 0 ? -1 : carrier.valuesAt(this.#olders[a]!)
    }
    return p
  }

  #readExact(i: number): void {
    const exact = this.#exact
    if (!exact) return
    while (this.#states.length <= i) this.#states.push(exact.newState())
    exact.read(this.#reader, this.#forms[i]!, this.#arena, i * this.#values, this.#states[i]!)
  }

  /** Charges the memory that the states of the rows can take. */
  chargeGrowth(memory: MemoryBudget): void {
    const bodies = this.#exact?.bodies
    for (let i = 0; i < this.#count; i++) {
      memory.charge(this.#rows[i]!.growth)
      if (this.#forms[i] !== 0 && bodies && !bodies.isComputed(this.#slots[i]!)) memory.charge(bodies.bytesOfNew)
    }
  }

  /** Stores the decoded states in their entities. */
  apply(h: StateHeader, timeline: Timeline, stats: ReplicaStats): void {
    const bodies = this.#exact?.bodies
    const n = this.#values
    for (let i = 0; i < this.#count; i++) {
      const e = this.#rows[i]!
      if (this.#gaps[i] !== 0) e.noteBaseline(h.tick - this.#ages[i]! - this.#gaps[i]!)
      const bytes = e.bytes
      const tick = h.tick - this.#backs[i]!
      const teleport = this.#teleports[i]!
      const current = e.addState(tick, timeline.blendFrom(tick, e.tick), teleport, this.#arena, i * n, timeline.span)
      this.#current[i] = current ? 1 : 0
      this.#entities.addBytes(e.bytes - bytes)
      if (current) {
        stats.rows++
        bodies?.applyRow(e.index, tick, this.#forms[i]! === 0 ? null : this.#states[i]!, teleport)
      } else stats.rowsLate++
    }
  }

  /** Drops the rows whose updates have not been reported. */
  dropUpdates(): void {
    this.#count = 0
  }

  /** Reports the entities whose current state has changed. */
  reportUpdates(o: Observer): void {
    if (!o.update) return
    for (let i = 0; i < this.#count; i++) if (this.#current[i] !== 0) reportUpdate(o, this.#rows[i]!)
  }
}
