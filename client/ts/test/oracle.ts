// A server whose viewer sees a part of a world and computes its bodies, and a minimal replica,
// over a link that loses, copies and reorders datagrams. Nothing is encoded.

import assert from 'node:assert/strict'
import type { Program } from '../src/field/program.ts'
import { State } from '../src/motion/columns.ts'
import { auditBody, audited } from '../src/motion/exact.ts'
import { type Extension, type Name, nobody, type Way } from '../src/motion/extension.ts'
import type { Kind } from '../src/motion/kind.ts'
import { PathForm } from '../src/motion/path.ts'
import { Sim, type Source } from '../src/motion/sim.ts'
import type { MotionStats } from '../src/motion/stats.ts'
import { type Datagram, type Record, Replica, type Row } from './moving_replica.ts'
import { codes, kinds, motion, programs } from './moving_world.ts'
import { randomOf } from './random.ts'

const f = Math.fround
const lift = 2

interface Viewed {
  readonly slot: number
  generation: number
  kind: number
  inView: boolean
  exact: boolean // in the latest row
  turned: number // tick of its latest change between exact and ordinary
  acked: number // tick of the newest state that the client has acknowledged
  disturbed: number
  leads: boolean
}

interface Sent {
  slot: number
  source: Source
  leader: Name
  generation: number
}

/** Deliberate errors in the messages for the client. */
interface Lies {
  kinds?: readonly Kind[]
  effect?: (x: Extension) => Extension
}

/** Steps the world, serves the replica and compares. */
export class Oracle {
  readonly replica: Replica
  compared = 0
  diverged = 0
  tick = 0
  private readonly random: () => number
  private readonly sim: Sim
  private readonly entities: Viewed[] = []
  private readonly effects = new Map<number, Sent>()
  private readonly generations = new Map<number, number>()
  private hidden: Sent | null = null // the client never receives it: it disturbs bodies
  private leftAt = 0
  private readonly known = new Map<number, Map<number, State>>() // states by tick and slot
  private records: Record[] = []
  private structure = 0
  private seq = 0
  private stream: { due: number; tick: number; records: Record[] }[] = []
  private datagrams: { due: number; d: Datagram }[] = []
  private acks: { due: number; rows: Row[] }[] = []
  private readonly noted = new Set<number>()
  private checked = 0

  private readonly lies: Lies

  constructor(seed: number, bodies: number, lies: Lies = {}) {
    this.random = randomOf(seed)
    this.lies = lies
    this.sim = new Sim(motion, 0)
    this.replica = new Replica(lies.kinds ?? kinds, () => this.diverged++)
    kinds.forEach((k, i) => this.sim.setKind(i, k))
    codes.forEach((code, number) => {
      this.records.push({ type: 'extension', from: 1, make: () => ({ type: 'program', number, code }) })
    })
    for (let slot = 0; slot < bodies; slot++) {
      const leads = slot < 3
      const kind = leads ? lift : this.below(3)
      const e = { slot, generation: 1, kind, inView: false, exact: true, turned: 0, acked: 0, disturbed: 1, leads }
      this.entities.push(e)
      this.sim.put(slot, kind, this.place(leads))
    }
  }

  get stats(): MotionStats {
    return this.replica.bodies.stats
  }

  private below(n: number): number {
    return Math.floor(this.random() * n)
  }

  private number(scale: number): number {
    return f((2 * this.random() - 1) * scale)
  }

  /** Returns a random state, on the ground or in the air. */
  private place(moves: boolean): State {
    const s = new State()
    Object.assign(s, {
      x: this.number(25),
      y: f(1 + this.random() * 9),
      z: this.number(25),
      awake: moves || this.below(3) > 0,
    })
    if (s.awake) Object.assign(s, { vx: this.number(6), vy: moves ? 0 : this.number(6), vz: this.number(6) })
    return s
  }

  /** Plays one tick of world, server, link and replica. */
  step(): void {
    this.tick++
    if (this.tick > 3) this.changeEffects()
    const before = new Set(this.hiddenReach())
    this.sim.tick()
    for (const slot of [...before, ...this.hiddenReach()]) this.entities[slot]!.disturbed = this.tick
    for (const [slot, e] of this.effects) if (e.source.last === this.tick) this.effects.delete(slot)
    if (this.hidden?.source.last === this.tick) this.hidden = null
    this.disturb()
    this.remember()
    if (this.tick % 3 === 0) this.snapshot()
    this.deliver()
  }

  /** Returns the slots of the bodies that the hidden effect may move. */
  private hiddenReach(): number[] {
    if (this.hidden === null) return []
    const { source } = this.hidden
    const s = new State()
    return this.entities
      .map((e) => e.slot)
      .filter((slot) => {
        this.sim.state(slot, s)
        const { min, max } = source.program.box!
        const at = [s.x, s.y, s.z].map((x, i) => f(x - source.path.center[i]!))
        return at.every((x, i) => x >= min[i]! && x <= max[i]!)
      })
  }

  private way(from: number): Way {
    const form = this.below(4)
    const v = (scale: number) => Float32Array.of(this.number(scale), this.number(1), this.number(scale))
    const center = Float32Array.of(this.number(20), f(1 + this.random() * 3), this.number(20))
    const none = new Float32Array(3)
    const orbit = form === PathForm.orbit
    const path = {
      form,
      center: form === PathForm.following ? v(2) : center,
      velocity: form === PathForm.linear ? v(15) : none,
      axisU: orbit ? v(9) : none,
      axisV: orbit ? v(9) : none,
      phase: orbit ? this.below(2 ** 32) : 0,
      rate: orbit ? this.below(2 ** 27) : 0,
    }
    const leaders = this.entities.filter((e) => e.leads && e.inView && from > 6)
    if (form === PathForm.following && leaders.length === 0)
      return { path: { ...path, form: PathForm.fixed }, leader: nobody }
    return { path, leader: form === PathForm.following ? leaders[this.below(leaders.length)]! : nobody }
  }

  private changeEffects(): void {
    if (this.hidden !== null && this.below(20) === 0) this.reveal(this.hidden)
    const slot = this.below(8)
    const e = this.effects.get(slot)
    const what = this.below(30)
    if (e === undefined) {
      if (what < 6 && this.hidden?.slot !== slot) this.addEffect(slot)
    } else if (what === 0) {
      this.sim.endEffect(slot, true)
      this.effects.delete(slot)
      this.note({ type: 'ended', effect: { slot, generation: e.generation }, back: 0, left: false })
    } else if (
      what === 4 &&
      this.hidden === null &&
      e.source.program.box !== null &&
      e.source.path.form === PathForm.fixed
    ) {
      this.hidden = e
      this.leftAt = this.tick
      this.effects.delete(slot)
      this.note({ type: 'ended', effect: { slot, generation: e.generation }, back: 0, left: true })
    } else if (what < 3) {
      this.changeEffect(slot, e)
    }
  }

  private addEffect(slot: number): void {
    const generation = (this.generations.get(slot) ?? -1) + 2
    this.generations.set(slot, generation)
    const number = this.below(programs.length)
    const age = this.below(2)
    const life = this.below(2) * (1 + this.below(90))
    const way = this.way(this.tick)
    const program = programs[number]!
    const params = program.defaults
    const mode = this.below(2)
    const layers = this.below(4)
    const source = {
      program,
      params,
      mode,
      layers,
      path: way.path,
      leader: way.leader.slot,
      born: this.tick - age,
      first: this.tick,
      last: life === 0 ? 0 : this.tick + life - 1,
      pathBorn: 0,
    }
    this.sim.setEffect(slot, source, true)
    this.effects.set(slot, { slot, source, leader: way.leader, generation })
    const effect = { slot, generation }
    this.note({
      type: 'added',
      effect,
      program: number,
      mode,
      layers,
      back: 0,
      age,
      life,
      way,
      params: new Float32Array(0),
    })
  }

  private changeEffect(slot: number, e: Sent): void {
    const way = this.below(2) === 0 ? this.way(this.tick) : null
    const scalars = e.source.program.params.length > 0 && way === null
    const params = scalars ? e.source.params.map((x, i) => (i % 4 === 0 ? f(x * 0.75) : x)) : null
    if (params !== null)
      e.source.program.params.forEach((p, i) => p.scalar && params.fill(params[4 * i]!, 4 * i, 4 * i + 4))
    if (way === null && (params === null || !e.source.program.allows(params))) return
    const source = { ...e.source }
    if (way !== null) Object.assign(source, { path: way.path, pathBorn: this.tick, leader: way.leader.slot })
    if (params !== null) source.params = params
    this.sim.setEffect(slot, source, true)
    this.effects.set(slot, { ...e, source, leader: way?.leader ?? e.leader })
    const sent = params === null ? null : numbersOf(source.program, params)
    this.note({ type: 'changed', effect: { slot, generation: e.generation }, back: 0, way, params: sent })
  }

  /** Sends an effect that had left again, in its state after some tick. */
  private reveal(e: Sent): void {
    const { source, slot, generation } = e
    const { program, params, mode, layers, path, born, last } = source
    const from = this.tick - this.below(Math.min(this.tick - this.leftAt, 50) + 1)
    if (from - born < 2) return // it would count as new
    this.hidden = null
    this.effects.set(slot, e)
    const life = last === 0 ? 0 : last - from + 1
    const way = { path, leader: nobody }
    const added = {
      effect: { slot, generation },
      program: programs.indexOf(program),
      mode,
      layers,
      age: from - born,
      life,
      way,
    }
    const record: Extension = { type: 'added', ...added, back: 0, params: numbersOf(program, params) }
    this.records.push({ type: 'extension', from, make: (back) => ({ ...record, back }) })
  }

  private note(x: Extension): void {
    const told = this.lies.effect?.(x) ?? x
    this.records.push({ type: 'extension', from: this.tick, make: (back) => ({ ...told, back }) as Extension })
  }

  /** Moves and replaces bodies as a game would. */
  private disturb(): void {
    const e = this.entities[this.below(this.entities.length)]!
    const what = this.below(12)
    if (e.leads || what > 3) return
    const s = new State()
    this.sim.state(e.slot, s)
    if (what === 0) {
      Object.assign(s, this.place(false))
      e.generation += 2
      if (e.inView) this.leave(e, { slot: e.slot, generation: e.generation - 2 })
    } else {
      Object.assign(s, { vx: this.number(9), vy: this.number(9), awake: true, rest: 0 })
    }
    this.sim.put(e.slot, e.kind, s)
    e.disturbed = this.tick
  }

  private leave(e: Viewed, h: Name): void {
    e.inView = false
    this.records.push({ type: 'gone', h })
  }

  private remember(): void {
    const states = new Map<number, State>()
    for (const { slot } of this.entities) {
      const s = new State()
      this.sim.state(slot, s)
      states.set(slot, s)
    }
    this.known.set(this.tick, states)
    this.known.delete(this.tick - 200)
  }

  /** Returns a tick from whose state all later ones follow under the effects. */
  private past(e: Viewed): number {
    const oldest = Math.max(e.disturbed, this.tick - 60, e.turned, 1)
    return this.below(3) === 0 ? oldest + this.below(this.tick - oldest + 1) : this.tick
  }

  private stateOf(e: Viewed, at: number): State | null {
    return e.exact ? new State().copy(this.known.get(at)!.get(e.slot)!) : null
  }

  private snapshot(): void {
    for (const e of this.entities) {
      if (e.inView ? !this.follows(e.slot) && this.below(60) === 0 : this.below(9) === 0) {
        if (e.inView) this.leave(e, { slot: e.slot, generation: e.generation })
        else this.enter(e)
      }
    }
    if (this.records.length > 0) {
      const due = Math.max(this.tick + this.below(4), this.stream.at(-1)?.due ?? 0)
      const turn = ({ type }: Record) => (type === 'enter' ? 0 : type === 'extension' ? 1 : 2)
      this.stream.push({ due, tick: this.tick, records: this.records.sort((a, b) => turn(a) - turn(b)) })
      this.structure += this.records.length
      this.records = []
    }
    this.sendRows()
  }

  /** Reports whether an effect follows an entity. */
  private follows(slot: number): boolean {
    return [...this.effects.values()].some((e) => e.source.path.form === PathForm.following && e.leader.slot === slot)
  }

  private enter(e: Viewed): void {
    e.inView = e.exact = true
    e.turned = 0
    e.acked = this.past(e)
    const h = { slot: e.slot, generation: e.generation }
    this.records.push({ type: 'enter', h, kind: e.kind, at: e.acked, state: this.stateOf(e, e.acked) })
  }

  private sendRows(): void {
    const owed = this.entities.filter((e) => e.inView && (e.disturbed > e.acked || !e.exact || e.turned > e.acked))
    const most = 1 + this.below(12)
    for (let from = 0; from === 0 || from < owed.length; from += most) {
      const rows = owed.slice(from, from + most)
      const complete = from + most >= owed.length
      if (from > 2 * most && !complete) return // the rest is sent with the next snapshot
      this.send(rows, from > 0, complete)
    }
  }

  private send(entities: Viewed[], continued: boolean, complete: boolean): void {
    const rows = entities.map((e) => {
      const exact = e.leads || this.below(5) > 0
      if (exact !== e.exact) {
        e.exact = exact
        e.turned = this.tick
      }
      const at = this.past(e)
      return { h: { slot: e.slot, generation: e.generation }, at, state: this.stateOf(e, at) }
    })
    this.seq++
    const d = {
      seq: this.seq,
      tick: this.tick,
      structure: this.structure,
      complete,
      continued,
      audited: complete,
      audit: complete ? this.audit() : 0,
      rows,
    }
    if (this.below(8) === 0) return // lost
    this.datagrams.push({ due: this.tick + this.below(8), d })
    if (this.below(10) === 0) this.datagrams.push({ due: this.tick + this.below(12), d })
  }

  private audit(): number {
    let sum = 0
    for (const e of this.entities) {
      if (!e.inView || !e.exact || !audited(e.slot, this.seq)) continue
      sum = auditBody(sum, e.slot, e.generation, this.known.get(this.tick)!.get(e.slot)!)
    }
    return sum
  }

  private deliver(): void {
    while (this.stream.length > 0 && this.stream[0]!.due <= this.tick) {
      const { tick, records } = this.stream.shift()!
      this.replica.receiveStructure(tick, records)
      this.check()
    }
    const due = this.datagrams.filter((d) => d.due <= this.tick)
    this.datagrams = this.datagrams.filter((d) => d.due > this.tick)
    for (const { d } of due) {
      this.replica.receive(d)
      this.check()
    }
    for (const [seq, rows] of this.replica.acked) {
      if (this.noted.has(seq)) continue
      this.noted.add(seq)
      this.acks.push({ due: this.tick + 3, rows })
    }
    for (const { rows } of this.acks.filter((a) => a.due <= this.tick)) {
      for (const { h, at } of rows) {
        const e = this.entities[h.slot]!
        if (e.generation === h.generation && e.inView) e.acked = Math.max(e.acked, at)
      }
    }
    this.acks = this.acks.filter((a) => a.due > this.tick)
  }

  /** Compares the computed bodies with the world's after a complete snapshot. */
  private check(): void {
    const { bodies } = this.replica
    if (bodies.now === this.checked) return
    this.checked = bodies.now
    if (this.lies.kinds ?? this.lies.effect) return
    const s = new State()
    for (const { slot } of this.entities) {
      const tick = bodies.newestState(slot, s)
      if (tick === 0) continue
      assert.deepEqual(s, this.known.get(tick)!.get(slot), `tick ${this.tick}, computed ${tick}, slot ${slot}`)
      this.compared++
    }
  }
}

/** Returns parameters in the form of records. */
function numbersOf(p: Program, params: Float32Array): Float32Array {
  return Float32Array.from(p.params.flatMap((q, i) => [...params.subarray(4 * i, 4 * i + (q.scalar ? 1 : 4))]))
}
