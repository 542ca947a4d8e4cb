// Computes exact bodies tick by tick: SIMULATING.md beside PROTOCOL.md, section 2.

import { type Budget, cost, maxTickWork } from '../budget.ts'
import { blockPoints } from '../field/machine.ts'
import { type Columns, State } from './columns.ts'
import { type Effects, follows, noNumber } from './effects.ts'
import type { Name } from './extension.ts'
import type { Forces } from './forces.ts'
import type { Kind } from './kind.ts'
import { keepIf } from './lists.ts'
import { Sim } from './sim.ts'
import type { MotionStats } from './stats.ts'
import type { Params } from './stepper.ts'
import type { Track, Tracks } from './track.ts'

/** Moves the bodies of tracks under effects. All bodies are at the same tick. */
export class Computation {
  /** The tick of all bodies, 0 before the first snapshot. */
  now = 0
  readonly #params: Params
  readonly #tracks: Tracks
  readonly #effects: Effects
  readonly #budget: Budget
  readonly #stats: MotionStats
  readonly #sim: Sim // at now
  readonly #past: Sim // computes past ticks, for bodies whose given state is of an earlier tick
  readonly #late: Track[] = [] // the bodies in past
  readonly #state = new State()
  readonly #record = (number: number, s: State): void => this.#tracks.record(number, this.now, s)
  readonly #recordLate = (number: number, s: State): void => {
    const t = this.#tracks.get(number)
    if (t?.late && t.at < this.#past.now) this.#tracks.record(number, this.#past.now, s)
  }

  constructor(params: Params, tracks: Tracks, effects: Effects, budget: Budget, stats: MotionStats) {
    this.#params = params
    this.#tracks = tracks
    this.#effects = effects
    this.#budget = budget
    this.#stats = stats
    this.#sim = new Sim(params, 0)
    this.#past = new Sim(params, 0)
  }

  setKind(kind: number, constants: Kind): void {
    this.#sim.setKind(kind, constants)
    this.#past.setKind(kind, constants)
  }

  /** Removes a body. */
  drop(t: Track): void {
    this.#sim.drop(t.number)
  }

  /** Empties sim and sets its tick. */
  restartAt(tick: number): void {
    this.now = tick
    this.#sim.reset(tick)
    for (const slot of this.#effects.used) {
      for (const v of this.#effects.versionsOf(slot)) v.applied ||= v.from <= tick
      this.#installEffect(this.#sim, slot, tick)
    }
  }

  /** Finds the bodies that effects follow. */
  findLeaders(numberOf: (h: Name) => number): void {
    if (!this.#effects.hasLeaders) return
    for (const slot of this.#effects.used) {
      for (const v of this.#effects.versionsOf(slot)) {
        if (!follows(v)) continue
        const number = numberOf(v.leader)
        if (number === v.source.leader) continue
        v.source.leader = number
        if (v.applied && this.now !== 0) this.#reinstallEffect(slot)
      }
    }
  }

  #reinstallEffect(slot: number): void {
    this.#sim.endEffect(slot, false)
    this.#installEffect(this.#sim, slot, this.now)
  }

  /** Puts the version in force after tick of the effect on a slot into a sim of that tick. It wakes no body. */
  #installEffect(m: Sim, slot: number, tick: number): void {
    const v = this.#effects.versionAfter(slot, tick)
    const source = v?.source
    if (!v || !source) return
    this.#budget.spend(cost.instruction * source.program.code.length)
    const leader = follows(v) && source.leader !== noNumber ? this.#tracks.get(source.leader) : null
    if (!leader) {
      m.setEffect(slot, source, false)
      return
    }
    // The effect's centre is still the leader's position before the tick.
    m.put(leader.number, leader.kind, leader.stateAfter(tick - 1, this.#state))
    m.setEffect(slot, source, false)
    m.put(leader.number, leader.kind, leader.stateAfter(tick, this.#state))
  }

  /**
   * Applies the effect versions that begin at tick to a sim of the tick before. It returns
   * false if that takes too long.
   */
  #applyEffects(m: Sim, slots: readonly number[], tick: number): boolean {
    for (const slot of slots) {
      for (const v of this.#effects.versionsOf(slot)) {
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
   * Computes all bodies up to a tick, or until the budget is spent. It returns false if that
   * leaves them more than a second behind, or a tick takes too long.
   */
  advanceTo(tick: number): boolean {
    const { due } = this.#effects
    const looked = due.reduce((n, slot) => n + this.#effects.versionsOf(slot).length, 0)
    while (this.now < tick) {
      if (this.#budget.spent) return tick - this.now <= this.#params.tickHz
      this.#placeWaiting()
      if (!this.#applyEffects(this.#sim, due, this.now + 1)) return false
      this.now++
      if (!this.#stepSim(this.#sim, looked)) return false
      this.#sim.changed(this.#state, this.#record)
    }
    this.#placeWaiting()
    return true
  }

  /** Puts the bodies whose given state is of sim's tick into sim. */
  #placeWaiting(): void {
    if (this.#tracks.waiting.length === 0) return
    keepIf(this.#tracks.waiting, (t) => {
      if (!t.fresh || t.at !== this.now) return t.fresh
      t.fresh = false
      this.#tracks.startFromGiven(t)
      this.#sim.put(t.number, t.kind, t.given)
      return false
    })
  }

  /**
   * Moves a sim by one tick. It returns false if that takes too long.
   * @param looked - tracks and versions read for the tick
   */
  #stepSim(m: Sim, looked: number): boolean {
    const { awake } = m
    const perEffect = cost.effect + cost.reach * m.length + cost.act * Math.ceil(awake / blockPoints)
    const look = cost.look * (this.#tracks.waiting.length + looked)
    const work = cost.tick + cost.body * awake + perEffect * m.effects + look
    this.#budget.spend(work)
    if (work > maxTickWork) return false
    const { slowest } = this.#effects // ns per point
    const ok = m.tickWithin((1e6 * maxTickWork) / slowest)
    this.#budget.spend(1e-6 * slowest * m.points)
    this.#stats.steps += awake
    return ok
  }

  /**
   * Computes the bodies whose given states are of earlier ticks up to now, under the effects
   * of those ticks. The states of other bodies do not change. It returns false if that takes
   * too long.
   */
  catchUpLate(): boolean {
    this.#late.length = 0
    for (const t of this.#tracks.waiting) {
      if (!t.fresh || t.at > this.now) continue
      t.late = true
      this.#late.push(t)
    }
    this.#applyLateEffects()
    if (this.#late.length === 0) return true
    if (!this.#computeLate()) return false
    this.#tracks.dropComputed()
    return true
  }

  /** Installs the effects whose records arrived after their ticks had been computed. */
  #applyLateEffects(): void {
    for (const slot of this.#effects.due) {
      let late = false
      for (const v of this.#effects.versionsOf(slot)) {
        if (v.applied || v.from > this.now) continue
        v.applied = late = true
      }
      if (late) this.#reinstallEffect(slot)
    }
  }

  /** Computes the late bodies up to now, and puts them into sim. */
  #computeLate(): boolean {
    const { used } = this.#effects
    let from = this.now
    for (const t of this.#late) from = Math.min(from, t.at)
    if (from < this.now) {
      this.#past.reset(from)
      for (const slot of used) this.#installEffect(this.#past, slot, from)
    }
    for (let tick = from; tick < this.now; tick++) {
      if (this.#budget.overdrawn) return false
      this.#placeLate(tick)
      if (!this.#applyEffects(this.#past, used, tick + 1)) return false
      if (!this.#stepSim(this.#past, this.#late.length + 2 * this.#effects.versions)) return false
      this.#stats.rerun += this.#past.awake
      this.#past.changed(this.#state, this.#recordLate)
    }
    for (const t of this.#late) {
      this.#state.copy(t.given)
      if (t.at < this.now) this.#past.state(t.number, this.#state)
      else this.#tracks.startFromGiven(t)
      t.fresh = t.late = false
      this.#sim.put(t.number, t.kind, this.#state)
    }
    return true
  }

  /** Puts the late bodies whose given state is of tick into past, and the leaders of effects. */
  #placeLate(tick: number): void {
    for (const t of this.#late) {
      if (t.at !== tick) continue
      this.#tracks.startFromGiven(t)
      this.#past.put(t.number, t.kind, t.given)
    }
    for (const slot of this.#effects.used) {
      for (const v of this.#effects.versionsOf(slot)) {
        const t = follows(v) ? this.#tracks.get(v.source.leader) : null
        if (t && (!t.late || t.at > tick)) this.#past.put(t.number, t.kind, t.stateAfter(tick, this.#state))
      }
    }
  }

  /** Sets the wind and the acceleration at points in the newest tick: see Sim.forcesAt. */
  forcesAt(points: Columns, kind: Kind, from: number, to: number): Forces {
    return this.#sim.forcesAt(points, kind, from, to)
  }
}
