// The entities in view, and the state of every other handle: PROTOCOL.md, sections 11.1 and
// 11.2.

import { type Cell, Cells, live, stale } from './cells.ts'
import { Entity, type Layout } from './entity.ts'
import { readText, type Text } from './fields.ts'
import { guard } from './guard.ts'
import { type Handle, newHandle, type Verdict, verdicts } from './handles.ts'
import type { Bodies } from './motion/bodies.ts'
import type { Observer, ReplicaStats } from './observer.ts'
import type { EnterRow, Reason, StructureRecord } from './structure.ts'

/** Estimated memory of an entity without its states and texts, and of a text without its characters. */
export const bytesOfEntity = 256
export const bytesOfText = 32

const textBytes = (texts: readonly Text[]): number => texts.reduce((n, t) => n + bytesOfText + 2 * t.length, 0)

/** The variable part of an entity's memory: its states and texts. */
const bytesOf = (e: Entity): number => e.bytes + textBytes(e.texts)

/** The handles that a server can send. */
export interface HandleRange {
  readonly generationFloor: number
  readonly generationCeiling: number
  readonly maxSlots: number
}

/** Returns, by component, what it adds to the load of a datagram with a row that has it. */
function loadsOf(layout: Layout): number[] {
  return layout.schema.components.map((c) => {
    const quats = c.fields.filter((f) => f.kind === 'quat').length
    return 2 + Math.floor(c.fields.length / 12) + 2 * quats + (c.parent === '' ? 0 : 6)
  })
}

/** The entities in view, and a record of every slot that the server named. */
export class Entities {
  /** The entities in view, in no particular order. */
  readonly all: Entity[] = []
  readonly #layout: Layout
  readonly #range: HandleRange
  readonly #observer: Observer
  readonly #stats: ReplicaStats
  readonly #bodies: Bodies | undefined
  readonly #cells = new Cells()
  readonly #loads: readonly number[] // by component
  readonly #valuesLoad: number
  #entityBytes = 0

  constructor(layout: Layout, range: HandleRange, observer: Observer, stats: ReplicaStats, bodies: Bodies | undefined) {
    this.#layout = layout
    this.#range = range
    this.#observer = observer
    this.#stats = stats
    this.#bodies = bodies
    this.#loads = loadsOf(layout)
    this.#valuesLoad = Math.floor(layout.schema.values / 256)
  }

  get bytes(): number {
    return this.#cells.bytes + this.#entityBytes
  }

  /** Reports whether the server can send a handle. */
  inRange(index: number, generation: number): boolean {
    const { generationFloor, generationCeiling, maxSlots } = this.#range
    return index < maxSlots && generation >= generationFloor && generation <= generationCeiling
  }

  hasSlot(slot: number): boolean {
    return slot < this.#range.maxSlots
  }

  #stateOf(index: number, generation: number): number {
    if (generation % 2 === 0 || !this.inRange(index, generation)) return stale
    const c = this.#cells.peek(index)
    if (!c || c.generation < generation) return 0
    return c.generation > generation ? stale : c.state
  }

  /** Returns the verdict on a handle that is not provisional. */
  verdict(index: number, generation: number): Verdict {
    return verdicts[this.#stateOf(index, generation)]!
  }

  /** Returns the live entity of a handle. */
  find(index: number, generation: number): Entity | undefined {
    return this.#stateOf(index, generation) === live ? this.inSlot(index) : undefined
  }

  /** Returns the live entity of a slot. */
  inSlot(slot: number): Entity | undefined {
    return this.#cells.peek(slot)?.entity
  }

  /** Returns the cell of a slot, allocating it if needed. */
  cell(slot: number): Cell {
    return this.#cells.at(slot)
  }

  /** Returns the memory that a call of cell would allocate. */
  growth(slot: number): number {
    return this.#cells.growth(slot)
  }

  /** Counts memory that an entity's states have allocated. */
  addBytes(bytes: number): void {
    this.#entityBytes += bytes
  }

  /** Applies an Enter, which is structure record number. */
  enter(x: StructureRecord, tick: number, row: EnterRow, number: number): void {
    const c = this.#cells.at(x.index)
    let e = c.entity
    if (e?.generation === x.generation) this.#entityBytes -= bytesOf(e)
    else {
      this.#replace(c, x.generation)
      e = new Entity(x.index, x.generation, this.#layout, this.#bodies)
      e.place = this.all.length
      this.all.push(e)
      this.#entityBytes += bytesOfEntity
    }
    const { kind, owned } = x
    const { mask, texts } = row
    const load = this.#loads.reduce((n, load, i) => n + ((mask >>> i) & 1) * load, 1 + this.#valuesLoad)
    e.beginView({ kind, mask, owned, texts, number, load }, row.list, tick - x.back)
    this.#bodies?.applyEnter({ slot: x.index, generation: x.generation }, x.kind, tick - x.back, row.body)
    this.#entityBytes += bytesOf(e)
    c.enter(e)
    this.#stats.enters++
    const entered = e
    if (this.#observer.enter) guard(() => this.#observer.enter?.(entered))
  }

  /** Takes an entity out of view. */
  leave(e: Entity, why: Reason): void {
    const c = this.#cells.at(e.index)
    this.#remove(c, e)
    this.#stats.leaves++
    guard(() => this.#observer.leave?.(e.handle, why))
  }

  /** Makes a handle and all earlier ones of its slot stale, even if the server never sent it. */
  destroy(index: number, generation: number, cause: number): void {
    const c = this.#cells.at(index)
    if (c.state === stale && generation === c.generation) return // repeated
    this.#replace(c, generation)
    c.kill(generation)
    this.#reportDestroyed(newHandle(index, generation), cause)
  }

  /** Removes the live entity of a cell, if any, from its slot. It is dead unless it has that generation. */
  #replace(c: Cell, generation: number): void {
    const e = c.entity
    if (!e) return
    this.#remove(c, e)
    c.kill(c.generation) // before the callback, which may call resolve
    if (e.generation !== generation) this.#reportDestroyed(e.handle, 0)
  }

  #reportDestroyed(h: Handle, cause: number): void {
    this.#stats.destroys++
    guard(() => this.#observer.destroy?.(h, cause))
  }

  #remove(c: Cell, e: Entity): void {
    this.#entityBytes -= bytesOfEntity + bytesOf(e)
    this.#bodies?.removeEntity(e.index)
    const last = this.all.pop()
    if (last && last !== e) {
      this.all[e.place] = last
      last.place = e.place
    }
    c.hide()
  }

  /** Sets a text of an entity. The bytes must have been checked. */
  setText(e: Entity, number: number, bytes: Uint8Array): void {
    const text = readText(this.#layout.schema.texts[number]!, bytes)
    this.#entityBytes += 2 * (text.length - e.texts[number]!.length)
    e.setText(number, text)
    this.#stats.texts++
  }

  // The end of a session: PROTOCOL.md, section 4.1.

  /** Takes all entities out of view. */
  leaveAll(): void {
    // A callback may end the world, which destroys the entities that have not left.
    for (const e of this.all.slice()) if (this.#cells.at(e.index).entity === e) this.leave(e, 'interest')
  }

  /** Destroys every entity that may be alive. */
  destroyAll(): void {
    for (const [slot, c] of this.#cells.known()) if (c.state !== stale) this.destroy(slot, c.generation, 0)
  }

  /** Copies the stale handles of an earlier session of the same epoch. */
  inheritStale(before: Entities): void {
    for (const [slot, c] of before.#cells.known()) {
      const generation = c.state === stale ? c.generation : c.generation - 2
      if (generation < 1) continue
      this.#cells.at(slot).kill(generation)
    }
  }
}
