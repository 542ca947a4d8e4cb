// Bodies computes the entities whose exact states the server sent, and what effects do to
// them: PROTOCOL.md, section 11.7.

import { type Budget, cost, maxTickWork } from '../budget.ts'
import { fail } from '../codes.ts'
import { blockPoints } from '../field/machine.ts'
import { type Columns, State } from './columns.ts'
import { Effects, follows, keepIf, keptTicks, noNumber } from './effects.ts'
import { auditBody, audited } from './exact.ts'
import type { Extension, Name, Way } from './extension.ts'
import type { Forces } from './forces.ts'
import type { Kind } from './kind.ts'
import { PathForm } from './path.ts'
import { Sim } from './sim.ts'
import { type Snapshot, SnapshotLog } from './snapshot_log.ts'
import { maxSpeed, type Params } from './stepper.ts'
import { Rings, Track } from './track.ts'

/** minWaiting is how many tracks wait before those that need not are dropped. */
const minWaiting = 64

const bytesOfTrack = 400
const bytesOfState = 29

/** MotionStats counts what was computed. */
export interface MotionStats {
  clean: number // bodies in view that are computed now
  owed: number // exact states received in rows
  steps: number // body-ticks computed, of bodies that were awake
  rerun: number // of these, past ticks: of bodies whose states were older than the others
  audited: number // audits that could be checked
  faults: number // of these, those that failed
  behind: number // snapshots for which there was no time to compute up to their tick
  overruns: number // times that computing took too long and waited for a Resync
}

/** Seat is an entity in view, exact or ordinary. */
interface Seat extends Name {
  kind: number
  tick: number // of its newest state
  index: number // in seats
  track: Track | null // null: ordinary
}

/** Options of Bodies. */
export interface BodiesOptions {
  readonly motion: Params & { readonly maxSpeed: number } // of the schema
  readonly kinds: readonly { readonly body?: Kind }[] // of the schema
  /** budget is that of the work that the server causes. */
  readonly budget: Budget
  /** diverge hears of the first audit that fails after one that agreed. */
  readonly diverge?: (tick: number, handles: readonly Name[]) => void
}

/** Bodies is kept by a replica, which calls it for each record and row. All bodies are at the tick of the newest complete snapshot. */
export class Bodies {
  readonly stats: MotionStats = { clean: 0, owed: 0, steps: 0, rerun: 0, audited: 0, faults: 0, behind: 0, overruns: 0 }
  now = 0 // tick of sim; 0: none
  readonly #options: BodiesOptions
  readonly #kinds = new Map<number, Kind>()
  readonly #sim: Sim
  readonly #again: Sim // computes past ticks
  readonly #effects = new Effects()
  readonly #rings: Rings

  readonly #seats: Seat[] = []
  readonly #seatOf = new Map<number, Seat>() // by slot
  readonly #numbered: (Track | null)[] = []
  readonly #free: number[] = [] // numbers
  readonly #waiting: Track[] = [] // fresh ones, and some that are not any more
  readonly #ghosts: Track[] = [] // of entities that have gone, but lead
  readonly #redone: Track[] = []
  readonly #audit: Track[] = []

  readonly #snapshots = new SnapshotLog()
  #overrun = false // bodies are lost: Resync
  #diverged = false // the newest audit failed: Resync
  #reported = false // and diverge knows
  readonly #budget: Budget

  readonly #state = new State()
  readonly #before = new State()
  readonly #record = (number: number, s: State): void => this.#numbered[number]!.record(this.now, s, this.#rings)
  readonly #rewrite = (number: number, s: State): void => {
    const t = this.#numbered[number]!
    if (t.late && t.at < this.#again.now) t.record(this.#again.now, s, this.#rings)
  }

  /** constructor throws if the schema's bodies move otherwise than in this package. */
  constructor(o: BodiesOptions) {
    const m = o.motion
    if (!(m.tickHz >= 1 && m.tickHz <= 1000)) fail(`bodies move at ${m.tickHz} ticks a second`)
    if (m.maxSpeed !== maxSpeed) fail(`the highest speed of bodies is ${m.maxSpeed} m/s, not ${maxSpeed}`)
    this.#options = o
    this.#budget = o.budget
    let ticks = keptTicks // or more, for 0.75 s
    while (ticks < 512 && ticks < 0.75 * m.tickHz) ticks *= 2
    this.#rings = new Rings(ticks)
    this.#sim = new Sim(m, 0)
    this.#again = new Sim(m, 0)
    o.kinds.forEach((k, i) => k.body !== undefined && this.#addKind(i, k.body))
  }

  /** @internal How many tracks wait to be computed. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** hasKind reports whether entities of a kind can have exact states. */
  hasKind(kind: number): boolean {
    return this.#kinds.has(kind)
  }

  /** bytes is the memory of all bodies and effects, for the replica's limit. */
  get bytes(): number {
    return (
      this.#effects.bytes +
      128 * this.#effects.slots.size +
      this.#numbered.length * this.bytesOfNew +
      256 * this.#kinds.size
    )
  }

  /** bytesOfNew is the memory of one more body. */
  get bytesOfNew(): number {
    return bytesOfTrack + this.#rings.ticks * bytesOfState
  }

  /**
   * extend applies an Extension record of a message of that tick, while the message is
   * checked: nothing shows effects before the next complete snapshot, and an error ends the
   * session. lives says which entities are Live after the records before it.
   */
  extend(x: Extension, tick: number, lives: (h: Name) => boolean): void {
    switch (x.type) {
      case 'program':
        this.#budget.spend(cost.program + cost.code * x.code.length + cost.look * this.#effects.used.length)
        this.#effects.addProgram(x, tick)
        break
      case 'added':
        checkLeader(x.way, lives)
        this.#effects.add(x, tick)
        break
      case 'changed':
        checkLeader(x.way, lives)
        this.#effects.change(x, tick)
        break
      case 'ended':
        this.#effects.end(x, tick)
        break
      case 'kind':
        if (x.kind < this.#options.kinds.length || this.#kinds.has(x.kind))
          fail(`kind ${x.kind} is added, which is known`)
        this.#addKind(x.kind, x.body)
    }
  }

  #addKind(kind: number, constants: Kind): void {
    this.#kinds.set(kind, constants)
    this.#sim.setKind(kind, constants)
    this.#again.setKind(kind, constants)
  }

  /** entered applies an Enter with the entity's state after a tick, null for an ordinary one. */
  entered(h: Name, kind: number, tick: number, s: State | null): void {
    let seat = this.#seatOf.get(h.slot)
    if (seat !== undefined && seat.generation !== h.generation) {
      this.gone(h.slot)
      seat = undefined
    }
    if (seat === undefined) {
      seat = { slot: h.slot, generation: h.generation, kind, tick, index: this.#seats.length, track: null }
      this.#seatOf.set(h.slot, seat)
      this.#seats.push(seat)
    }
    seat.kind = kind
    seat.tick = tick
    if (s === null) this.#release(seat)
    else this.#give(seat, tick, s, true)
  }

  /** updated applies a row that became the newest state of a slot's entity. */
  updated(slot: number, tick: number, s: State | null): void {
    const seat = this.#seatOf.get(slot)!
    seat.tick = tick
    if (s === null) {
      this.#release(seat)
      return
    }
    this.stats.owed++
    this.#give(seat, tick, s, false)
  }

  /** gone removes the entity of a slot, which left or died. */
  gone(slot: number): void {
    const seat = this.#seatOf.get(slot)
    if (seat === undefined) return
    this.#release(seat)
    this.#seatOf.delete(slot)
    const last = this.#seats.pop()!
    if (last !== seat) {
      last.index = seat.index
      this.#seats[seat.index] = last
    }
  }

  /** release makes an entity ordinary. */
  #release(seat: Seat): void {
    const t = seat.track
    if (t === null) return
    seat.track = null
    this.stats.clean--
    const leader = this.#effects.leader(t)
    if (leader !== undefined) {
      leader.ghost = t
      t.ghost = true
      this.#ghosts.push(t)
    } else {
      this.#forget(t)
    }
  }

  /** forget removes a body. */
  #forget(t: Track): void {
    this.#numbered[t.number] = null
    this.#free.push(t.number)
    this.#sim.drop(t.number)
    this.#rings.give(t.ring)
    t.fresh = false
  }

  /** give sets the exact state of an entity after a tick. entered says that earlier ones are forgotten. */
  #give(seat: Seat, tick: number, s: State, entered: boolean): void {
    let t = seat.track
    if (t === null) {
      this.#budget.spend(cost.track)
      t = new Track(this.#free.pop() ?? this.#numbered.length)
      this.#numbered[t.number] = t
      seat.track = t
      this.stats.clean++
      entered = true
    }
    if (entered) {
      t.slot = seat.slot
      t.generation = seat.generation
      t.kind = seat.kind
      t.given.copy(s)
      t.begin(tick, s)
      this.#sim.drop(t.number)
    } else {
      t.keep(this.#rings) // its earlier state until tick
    }
    t.given.copy(s)
    t.at = tick
    t.lost = false
    if (t.fresh) return
    t.fresh = true
    if (this.#waiting.length >= 2 * this.stats.clean + minWaiting) this.#dropComputed()
    this.#waiting.push(t)
  }

  /** dropComputed drops the tracks from waiting that are not fresh any more. */
  #dropComputed(): void {
    keepIf(this.#waiting, (t) => t.fresh)
  }

  /**
   * applied notes an applied snapshot, and computes all bodies up to the tick of a complete
   * one if that is the newest and all that are linked to it were applied. structure is the
   * client's structure number.
   */
  applied(h: Snapshot, structure: number): void {
    this.#snapshots.add(h)
    const s = this.#snapshots.findComplete(h.seq, this.now)
    if (s) this.#complete(s, structure)
  }

  /**
   * complete computes all bodies up to the tick of a snapshot, and checks its audit. If the budget
   * is spent, the bodies stay at the tick that they have reached, and a later snapshot computes on
   * from there. If that is more than a second ago, they stand still until the server sends their
   * states again.
   */
  #complete(s: Snapshot, structure: number): void {
    if (this.#budget.spent) {
      this.stats.behind++
      return
    }
    this.#budget.spend(cost.snapshot + cost.look * (this.#waiting.length + 2 * this.#effects.versions))
    this.#findLeaders()
    if (this.now === 0) this.#restart(s.tick)
    if (!this.#catchUp() || !this.#advance(s.tick)) this.#giveUp(s.tick)
    else if (this.now < s.tick) this.stats.behind++
    this.#effects.settle()
    this.#effects.prune(this.now - Math.min(this.now, keptTicks))
    if (this.#ghosts.length > 0) this.#dropGhosts()
    if (s.audited && s.structure === structure && this.now === s.tick && !this.#budget.spent) this.#checkAudit(s)
  }

  #dropGhosts(): void {
    keepIf(this.#ghosts, (t) => {
      const leads = this.#effects.leader(t) !== undefined
      if (!leads) this.#forget(t)
      return leads
    })
  }

  /** findLeaders finds the bodies that effects follow. */
  #findLeaders(): void {
    if (!this.#effects.hasLeaders) return
    for (const slot of this.#effects.used) {
      for (const v of this.#effects.slots.get(slot)!.versions) {
        if (!follows(v)) continue
        const number = this.#numberOf(v.leader)
        if (number === v.source!.leader) continue
        v.source!.leader = number
        if (v.applied && this.now !== 0) {
          this.#sim.endEffect(slot, false)
          this.#install(this.#sim, slot, this.now)
        }
      }
    }
  }

  /** numberOf returns the number of an entity's body. */
  #numberOf(h: Name): number {
    const seat = this.#seatOf.get(h.slot)
    const t = seat?.generation === h.generation ? seat.track : null
    return (t ?? this.#effects.leader(h)?.ghost)?.number ?? noNumber
  }

  /** restart empties sim at a tick. */
  #restart(tick: number): void {
    this.now = tick
    this.#sim.reset(tick)
    for (const slot of this.#effects.used) {
      for (const v of this.#effects.slots.get(slot)!.versions) v.applied ||= v.from <= tick
      this.#install(this.#sim, slot, tick)
    }
  }

  /** giveUp empties sim at a tick: all bodies stand still until the server sends their states again. */
  #giveUp(tick: number): void {
    this.stats.overruns++
    this.#overrun = true
    this.#budget.spend(cost.look * this.#numbered.length)
    this.#restart(tick)
    for (const t of this.#numbered) {
      if (t !== null && (!t.fresh || t.at <= tick)) {
        t.lost = true
        t.fresh = t.late = false
      }
    }
    this.#dropComputed()
  }

  /** install puts the effect on a slot, as it is after a tick, into a sim of that tick. It wakes nothing. */
  #install(m: Sim, slot: number, tick: number): void {
    const v = this.#effects.slots.get(slot)!.after(tick)
    if (v === null) return
    const source = v.source!
    this.#budget.spend(cost.instruction * source.program.code.length)
    if (!follows(v) || source.leader === noNumber) {
      m.setEffect(slot, source, false)
      return
    }
    // The centre is still where the leader was before the tick.
    const leader = this.#numbered[source.leader]!
    m.put(leader.number, leader.kind, leader.state(tick - 1, this.#state))
    m.setEffect(slot, source, false)
    m.put(leader.number, leader.kind, leader.state(tick, this.#state))
  }

  /** apply applies the versions of effects from a tick on to a sim of the tick before. It returns false if that takes too long. */
  #apply(m: Sim, slots: readonly number[], tick: number): boolean {
    for (const slot of slots) {
      for (const v of this.#effects.slots.get(slot)!.versions) {
        if (v.from !== tick) continue
        this.#budget.spend(cost.effect + cost.look * m.effects)
        if (v.wakesOld || v.wakesNew) this.#budget.spend(2 * cost.reach * m.length)
        if (v.source !== null) this.#budget.spend(cost.instruction * v.source.program.code.length)
        if (this.#budget.overdrawn) return false
        m.endEffect(slot, v.wakesOld)
        if (v.source !== null) m.setEffect(slot, v.source, v.wakesNew)
        v.applied = true
      }
    }
    return true
  }

  /**
   * advance computes all bodies up to a tick, or until the budget is spent. It returns false if
   * that leaves them more than a second behind, or if a tick takes too long.
   */
  #advance(tick: number): boolean {
    while (this.now < tick) {
      if (this.#budget.spent) return tick - this.now <= this.#options.motion.tickHz
      this.#put()
      if (!this.#apply(this.#sim, this.#effects.due, this.now + 1)) return false
      this.now++
      if (!this.#tick(this.#sim, this.#effects.due.length > 0 ? this.#effects.versions : 0)) return false
      this.#sim.changed(this.#state, this.#record)
    }
    this.#put()
    return true
  }

  /** put gives sim the states of its tick. */
  #put(): void {
    if (this.#waiting.length === 0) return
    keepIf(this.#waiting, (t) => {
      if (!t.fresh || t.at !== this.now) return t.fresh
      t.fresh = false
      this.#start(t)
      this.#sim.put(t.number, t.kind, t.given)
      return false
    })
  }

  /** tick moves a sim by one tick, before which so many tracks and versions were looked at. It returns false if that takes too long. */
  #tick(m: Sim, looked: number): boolean {
    const { awake } = m
    const perEffect = cost.effect + cost.reach * m.length + cost.act * Math.ceil(awake / blockPoints)
    const work = cost.tick + cost.body * awake + perEffect * m.effects + cost.look * (this.#waiting.length + looked)
    this.#budget.spend(work)
    if (work > maxTickWork) return false
    const { slowest } = this.#effects // in ns
    const ok = m.tickWithin((1e6 * maxTickWork) / slowest)
    this.#budget.spend(1e-6 * slowest * m.points)
    this.stats.steps += awake
    return ok
  }

  /**
   * catchUp computes the bodies whose states are of earlier ticks up to now, by the effects
   * of those ticks. Nothing else changes in ticks computed before. It returns false if that
   * takes too long.
   */
  #catchUp(): boolean {
    this.#redone.length = 0
    for (const t of this.#waiting) {
      if (!t.fresh || t.at > this.now) continue
      t.late = true
      this.#redone.push(t)
    }
    this.#replaceLate()
    if (this.#redone.length === 0) return true
    if (!this.#computeAgain()) return false
    this.#dropComputed()
    return true
  }

  /** replaceLate brings the effects whose records arrived after their ticks were computed up to now. */
  #replaceLate(): void {
    for (const slot of this.#effects.due) {
      let late = false
      for (const v of this.#effects.slots.get(slot)!.versions) {
        if (v.applied || v.from > this.now) continue
        v.applied = late = true
      }
      if (late) {
        this.#sim.endEffect(slot, false)
        this.#install(this.#sim, slot, this.now)
      }
    }
  }

  /** computeAgain computes redone up to now and puts them into sim. */
  #computeAgain(): boolean {
    let from = this.now
    for (const t of this.#redone) from = Math.min(from, t.at)
    if (from < this.now) {
      this.#again.reset(from)
      for (const slot of this.#effects.used) this.#install(this.#again, slot, from)
    }
    for (let tick = from; tick < this.now; tick++) {
      if (this.#budget.overdrawn) return false
      this.#putAgain(tick)
      if (!this.#apply(this.#again, this.#effects.used, tick + 1)) return false
      if (!this.#tick(this.#again, this.#redone.length + 2 * this.#effects.versions)) return false
      this.stats.rerun += this.#again.awake
      this.#again.changed(this.#state, this.#rewrite)
    }
    for (const t of this.#redone) {
      this.#state.copy(t.given)
      if (t.at < this.now) this.#again.state(t.number, this.#state)
      else this.#start(t)
      t.fresh = t.late = false
      this.#sim.put(t.number, t.kind, this.#state)
    }
    return true
  }

  /** putAgain puts the bodies that begin at a tick, and those that effects follow. */
  #putAgain(tick: number): void {
    for (const t of this.#redone) {
      if (t.at !== tick) continue
      this.#start(t)
      this.#again.put(t.number, t.kind, t.given)
    }
    for (const slot of this.#effects.used) {
      for (const v of this.#effects.slots.get(slot)!.versions) {
        const t = follows(v) ? this.#numbered[v.source!.leader] : null
        if (t && (!t.late || t.at > tick)) this.#again.put(t.number, t.kind, t.state(tick, this.#state))
      }
    }
  }

  /** start forgets the states of a body after the one that was given. */
  #start(t: Track): void {
    if (t.ring !== null) t.record(t.at, t.given, this.#rings)
  }

  /** checkAudit compares the audit of a complete snapshot with the bodies computed. */
  #checkAudit(s: Snapshot): void {
    this.#audit.length = 0
    this.#budget.spend(cost.look * this.#seats.length)
    for (const seat of this.#seats) {
      if (!audited(seat.slot, s.seq)) continue
      const t = seat.track
      if (seat.tick > s.tick || t?.lost) return // what the entity was at the tick is not known
      if (t !== null) this.#audit.push(t)
    }
    this.#audit.sort((a, b) => a.slot - b.slot)
    let sum = 0
    for (const t of this.#audit) sum = auditBody(sum, t.slot, t.generation, t.state(s.tick, this.#state))
    this.stats.audited++
    if (sum === s.audit) {
      this.#diverged = this.#reported = false
      return
    }
    this.stats.faults++
    this.#diverged = true
    if (this.#reported) return
    this.#reported = true
    this.#options.diverge?.(
      s.tick,
      this.#audit.map(({ slot, generation }) => ({ slot, generation })),
    )
  }

  /** needsResync reports once that the server should send all states again. */
  needsResync(): boolean {
    const need = this.#overrun || this.#diverged
    this.#overrun = this.#diverged = false
    return need
  }

  /**
   * exact sets s to the newest state of the body in a slot and returns the tick after which
   * the server's body had it, to the bit; 0 if the slot's entity is not computed.
   */
  exact(slot: number, s: State): number {
    const t = this.#seatOf.get(slot)?.track
    if (!t || t.lost) return 0
    if (t.fresh) {
      s.copy(t.given)
      return t.at
    }
    t.state(this.now, s)
    return this.now
  }

  /** forcesAt sets the wind and acceleration at points in the newest tick: see Sim.forcesAt. */
  forcesAt(points: Columns, kind: Kind, from: number, to: number): Forces {
    return this.#sim.forcesAt(points, kind, from, to)
  }

  /** isComputed reports whether the entity in a slot is exact. */
  isComputed(slot: number): boolean {
    return Boolean(this.#seatOf.get(slot)?.track)
  }

  /**
   * at sets to to the state next to a moment, and s to the state in the moment, in ticks with
   * fractions, at most extrapolate ticks beyond the newest. from has the state before, which
   * tells jumps. It returns false for ordinary entities.
   */
  at(slot: number, moment: number, extrapolate: number, s: State, from: State, to: State): boolean {
    const t = this.#seatOf.get(slot)?.track
    if (!t) return false
    const now = t.fresh ? Math.max(this.now, t.last) : this.now
    const tick = Math.floor(Math.min(Math.max(moment, 0), 2 ** 32 - 2))
    t.state(Math.min(tick, now), from)
    if (tick < now) {
      mix(from, t.state(tick + 1, to), moment - tick, s)
      return true
    }
    to.copy(from)
    mix(t.state(Math.max(now - 1, 0), this.#before), from, 1 + Math.min(moment - now, extrapolate), s)
    return true
  }
}

function mix(a: State, b: State, share: number, s: State): void {
  s.copy(b)
  s.x = a.x + (b.x - a.x) * share
  s.y = a.y + (b.y - a.y) * share
  s.z = a.z + (b.z - a.z) * share
  s.vx = a.vx + (b.vx - a.vx) * share
  s.vy = a.vy + (b.vy - a.vy) * share
  s.vz = a.vz + (b.vz - a.vz) * share
}

/** checkLeader checks that an effect follows an entity that will be Live. */
function checkLeader(way: Way | null, lives: (h: Name) => boolean): void {
  if (way !== null && way.path.form === PathForm.following && !lives(way.leader)) {
    fail(`an effect follows ${way.leader.slot}v${way.leader.generation}, which is not in view`)
  }
}
