// The check of a Structure message before it is applied: PROTOCOL.md, section 11.2.

import { BitReader, ByteReader } from './bits.ts'
import { live, stale } from './cells.ts'
import { fail, LimitError } from './codes.ts'
import { bytesOfEntity, bytesOfText, type Entities } from './entities.ts'
import type { Layout } from './entity.ts'
import type { EventQueue } from './events.ts'
import type { ExactRows } from './exact_rows.ts'
import { noText, readText, type Text } from './fields.ts'
import type { MemoryBudget } from './memory.ts'
import type { State } from './motion/columns.ts'
import type { Name } from './motion/extension.ts'
import type { Provisionals } from './provisionals.ts'
import type { Codec } from './rows.ts'
import { type EnterRow, Op, type StructureRecord } from './structure.ts'

/** The state of a slot after the records checked so far. */
interface Plan {
  generation: number
  stale: boolean
  live: boolean
  owned: boolean
  mask: number
}

/** The parts of a replica that a check reads. */
export interface StructureCheckOptions {
  readonly layout: Layout
  readonly entities: Entities
  readonly codec: Codec
  readonly events: EventQueue
  readonly provisionals: Provisionals
  readonly maxEntities: number
  readonly memory: MemoryBudget
  readonly exact: ExactRows | undefined
}

/** Checks that all records of a message can be applied, and decodes their rows and events. */
export class StructureCheck {
  readonly #o: StructureCheckOptions
  readonly #reader = new BitReader()
  readonly #plans = new Map<number, Plan>() // by slot
  readonly #answered = new Set<number>() // provisional handles answered so far
  #liveAfter = 0 // entities in view after the records checked

  constructor(o: StructureCheckOptions) {
    this.#o = o
  }

  /** Throws unless all records can be applied. It changes nothing that the game sees. */
  check(records: readonly StructureRecord[], tick: number): void {
    this.#plans.clear()
    this.#answered.clear()
    this.#liveAfter = this.#o.entities.all.length
    for (const x of records) this.#checkRecord(x, tick)
  }

  #checkRecord(x: StructureRecord, tick: number): void {
    const { entities, events, memory, maxEntities } = this.#o
    if (x.op === Op.event) {
      x.payload = events.read(x.number, false, x.data)
      return
    }
    if (x.op === Op.extension) {
      this.#applyExtension(x, tick)
      return
    }
    if (x.op === Op.answer) {
      this.#checkAnswer(x)
      if (x.detail === 0) return
    }
    if (!entities.inRange(x.index, x.generation)) fail(`a record of ${x.index}v${x.generation}`)
    memory.charge(entities.growth(x.index))
    const c = this.#planOf(x.index)
    if (x.generation < c.generation) return
    switch (x.op) {
      case Op.answer:
        if (x.generation === c.generation && !c.stale)
          fail(`an answer with ${x.index}v${x.generation}, which has entered before`)
        return
      case Op.leave:
        if (x.generation === c.generation) this.#setLive(c, false)
        return
      case Op.text:
        this.#checkText(x, c)
        return
      case Op.enter:
        if (c.stale && x.generation === c.generation)
          fail(`an Enter of ${x.index}v${x.generation}, which was destroyed`)
        x.decoded = this.#decodeEnter(x, tick)
        c.mask = x.decoded.mask
        c.owned = x.owned
    }
    c.generation = x.generation
    c.stale = x.op === Op.destroy
    this.#setLive(c, x.op === Op.enter)
    if (this.#liveAfter > maxEntities) throw new LimitError('maxEntities', maxEntities)
  }

  #planOf(slot: number): Plan {
    let p = this.#plans.get(slot)
    if (!p) {
      const { generation, state, entity } = this.#o.entities.cell(slot)
      p = {
        generation,
        stale: state === stale,
        live: state === live,
        owned: entity?.owned ?? false,
        mask: entity?.mask ?? 0,
      }
      this.#plans.set(slot, p)
    }
    return p
  }

  #setLive(p: Plan, isLive: boolean): void {
    if (p.live !== isLive) this.#liveAfter += isLive ? 1 : -1
    p.live = isLive
  }

  /** Applies an Extension during the check: its effect is invisible before the next complete snapshot. */
  #applyExtension(x: StructureRecord, tick: number): void {
    const { bodies } = this.#exactRows()
    if (!x.extension) return
    const before = bodies.bytes
    bodies.applyExtension(x.extension, tick, (h) => this.#isLive(h))
    this.#o.memory.charge(bodies.bytes - before)
  }

  #exactRows(): ExactRows {
    return this.#o.exact ?? fail('a record of a simulation, in a session that does not simulate')
  }

  /** Reports whether an entity is live after the records checked so far. */
  #isLive(h: Name): boolean {
    const plan = this.#plans.get(h.slot)
    if (plan) return plan.live && plan.generation === h.generation
    return this.#o.entities.inSlot(h.slot)?.generation === h.generation
  }

  #checkAnswer(x: StructureRecord): void {
    if (!this.#o.provisionals.awaitsAnswer(x.number) || this.#answered.has(x.number))
      fail(`an answer to provisional handle ${x.number}, which is not awaited`)
    this.#answered.add(x.number)
  }

  #decodeEnter(x: StructureRecord, tick: number): EnterRow {
    const { memory, codec } = this.#o
    const { schema } = this.#o.layout
    memory.charge(bytesOfEntity + 4 * (2 + schema.values) + schema.texts.length * bytesOfText + 2 * x.data.length)
    const r = this.#reader
    r.reset(x.row)
    const mask = codec.readMask(r)
    const list = new Uint32Array(2 + schema.values)
    codec.readFull(r, mask, x.owned, list, 2)
    const body = x.form < 0 ? null : this.#readExact(x, tick, mask, list)
    r.expectEnd()
    return { list, mask, texts: this.#readTexts(x, mask), body }
  }

  #readExact(x: StructureRecord, tick: number, mask: number, list: Uint32Array): State {
    const exact = this.#exactRows()
    if (x.back >= tick || x.back > exact.header.maxBack) fail(`an exact state of ${x.back} ticks before tick ${tick}`)
    this.#o.memory.charge(exact.bodies.bytesOfNew)
    exact.check(x.kind, mask)
    const body = exact.newState()
    exact.read(this.#reader, x.form + 1, list, 2, body)
    return body
  }

  /** Reads the texts of an Enter (section 7). */
  #readTexts(x: StructureRecord, mask: number): Text[] {
    const r = new ByteReader(x.data)
    const texts = this.#o.layout.schema.texts.map((f) => {
      if (((mask >>> f.component) & 1) === 0 || (f.owner && !x.owned)) return noText(f)
      return readText(f, r.bytes(r.uvarint(f.path, f.max)))
    })
    r.expectEnd()
    return texts
  }

  #checkText(x: StructureRecord, c: Plan): void {
    const f = this.#o.layout.schema.texts[x.number] ?? fail(`text field ${x.number}, which the schema lacks`)
    readText(f, x.data)
    if (!c.live || x.generation !== c.generation) return
    if (((c.mask >>> f.component) & 1) === 0 || (f.owner && !c.owned))
      fail(`${f.path} of an entity that does not have it`)
    this.#o.memory.charge(2 * x.data.length)
  }
}
