// Bodies computes the entities whose exact states the server sent, under their effects:
// SIMULATING.md beside PROTOCOL.md, section 2.

import { type Budget, cost } from '../budget.ts'
import { fail } from '../codes.ts'
import { maxBack } from '../limits.ts'
import { Auditor, type Diverge } from './auditor.ts'
import { type Columns, State } from './columns.ts'
import { Computation } from './computation.ts'
import { Effects, noNumber } from './effects.ts'
import type { Extension, Name, Way } from './extension.ts'
import type { Forces } from './forces.ts'
import type { Kind } from './kind.ts'
import { keepIf } from './lists.ts'
import { PathForm } from './path.ts'
import { type Snapshot, SnapshotLog } from './snapshot_log.ts'
import type { MotionStats } from './stats.ts'
import { maxSpeed, type Params } from './stepper.ts'
import { type Track, Tracks } from './track.ts'
import { type Viewed, ViewedEntities } from './viewed.ts'

/** The surroundings that Bodies computes with. */
export interface BodiesOptions {
  /** The motion line of the schema. */
  readonly motion: Params & { readonly maxSpeed: number }
  /** The kinds of the schema. */
  readonly kinds: readonly { readonly body?: Kind | undefined }[]
  /** The budget of the work that the server causes. */
  readonly budget: Budget
  readonly diverge?: Diverge | undefined
}

/**
 * The exact bodies of a replica, which passes on each record and row. All bodies are at the
 * tick of the newest complete snapshot.
 */
export class Bodies {
  readonly stats: MotionStats = { clean: 0, owed: 0, steps: 0, rerun: 0, audited: 0, faults: 0, behind: 0, overruns: 0 }
  readonly #schemaKinds: number
  readonly #kinds = new Set<number>()
  readonly #budget: Budget
  readonly #effects: Effects
  readonly #viewed = new ViewedEntities()
  readonly #tracks: Tracks
  readonly #ghosts: Track[] = [] // of entities that have left, but that effects still follow
  readonly #snapshots = new SnapshotLog()
  readonly #computation: Computation
  readonly #auditor: Auditor
  readonly #before = new State()
  #overrun = false // bodies are lost until a Resync

  /** Throws if the schema contradicts this package about the motion of bodies. */
  constructor(o: BodiesOptions) {
    const { motion: m, kinds, budget } = o
    if (!(m.tickHz >= 1 && m.tickHz <= 1000)) fail(`bodies move at ${m.tickHz} ticks a second`)
    if (m.maxSpeed !== maxSpeed) fail(`the highest speed of bodies is ${m.maxSpeed} m/s, not ${maxSpeed}`)
    const ticks = maxBack(m.tickHz) + 1
    this.#effects = new Effects(ticks)
    this.#schemaKinds = kinds.length
    this.#budget = budget
    this.#tracks = new Tracks(ticks, this.stats)
    this.#computation = new Computation(m, this.#tracks, this.#effects, budget, this.stats)
    this.#auditor = new Auditor(this.stats, budget, o.diverge)
    kinds.forEach((k, i) => {
      if (k.body !== undefined) this.#addKind(i, k.body)
    })
  }

  /** The tick of all bodies, 0 before the first complete snapshot. */
  get now(): number {
    return this.#computation.now
  }

  /** @internal How many tracks wait to be computed. */
  get waiting(): number {
    return this.#tracks.waiting.length
  }

  /** Reports whether entities of a kind can have exact states. */
  hasKind(kind: number): boolean {
    return this.#kinds.has(kind)
  }

  /** The memory of all bodies and effects, for the replica's limit. */
  get bytes(): number {
    return this.#effects.bytes + this.#tracks.bytes + 256 * this.#kinds.size
  }

  /** The memory of one more body. */
  get bytesOfNew(): number {
    return this.#tracks.bytesOfNew
  }

  /**
   * Applies an Extension record of a message with the given tick, while the message is
   * checked: nothing shows effects before the next complete snapshot, and an error ends the
   * session. lives tells whether an entity is Live after the records before.
   */
  applyExtension(x: Extension, tick: number, lives: (h: Name) => boolean): void {
    switch (x.type) {
      case 'program':
        this.#budget.spend(cost.program + cost.code * x.code.length + cost.look * this.#effects.used.length)
        this.#effects.addProgram(x, tick)
        break
      case 'added':
        checkLeader(x.way, lives)
        this.#effects.addEffect(x, tick)
        break
      case 'changed':
        checkLeader(x.way, lives)
        this.#effects.changeEffect(x, tick)
        break
      case 'ended':
        this.#effects.endEffect(x, tick)
        break
      case 'kind':
        if (x.kind < this.#schemaKinds || this.#kinds.has(x.kind)) fail(`kind ${x.kind} is added, which is known`)
        this.#addKind(x.kind, x.body)
    }
  }

  #addKind(kind: number, constants: Kind): void {
    this.#kinds.add(kind)
    this.#computation.setKind(kind, constants)
  }

  /** Applies an Enter with the entity's state after a tick, or null for an ordinary entity. */
  applyEnter(h: Name, kind: number, tick: number, s: State | null): void {
    let viewed = this.#viewed.find(h.slot)
    if (viewed && viewed.generation !== h.generation) {
      this.removeEntity(h.slot)
      viewed = undefined
    }
    viewed ??= this.#viewed.add(h, kind, tick)
    viewed.kind = kind
    viewed.tick = tick
    if (s === null) this.#makeOrdinary(viewed)
    else this.#beginTrack(viewed, viewed.track ?? this.#newTrack(viewed), tick, s)
  }

  /**
   * Applies a row that became the newest state of a slot's entity.
   * @param s - null for an ordinary one
   * @param teleport - the tick of the teleport of which the row tells; 0: none
   */
  applyRow(slot: number, tick: number, s: State | null, teleport = 0): void {
    const viewed = this.#viewed.find(slot)
    if (!viewed) return
    viewed.tick = tick
    if (s === null) {
      this.#makeOrdinary(viewed)
      return
    }
    this.stats.owed++
    if (viewed.track) this.#tracks.giveState(viewed.track, tick, s)
    else this.#beginTrack(viewed, this.#newTrack(viewed), tick, s)
    viewed.track?.leap.note(teleport, tick, s)
  }

  #newTrack(viewed: Viewed): Track {
    this.#budget.spend(cost.track)
    this.stats.clean++
    viewed.track = this.#tracks.create()
    return viewed.track
  }

  /** Begins the track of an entity with a state. */
  #beginTrack(viewed: Viewed, t: Track, tick: number, s: State): void {
    t.slot = viewed.slot
    t.generation = viewed.generation
    t.kind = viewed.kind
    this.#computation.drop(t)
    this.#tracks.begin(t, tick, s)
  }

  /** Removes the entity of a slot. It left or died. */
  removeEntity(slot: number): void {
    const viewed = this.#viewed.find(slot)
    if (!viewed) return
    this.#makeOrdinary(viewed)
    this.#viewed.remove(viewed)
  }

  #makeOrdinary(viewed: Viewed): void {
    const t = viewed.track
    if (t === null) return
    viewed.track = null
    this.stats.clean--
    const leader = this.#effects.leaderOf(t)
    if (leader) {
      leader.ghost = t
      t.ghost = true
      this.#ghosts.push(t)
    } else this.#removeTrack(t)
  }

  #removeTrack(t: Track): void {
    this.#computation.drop(t)
    this.#tracks.remove(t)
  }

  /**
   * Notes an applied snapshot. If it completes the newest complete snapshot, with all that are
   * linked to it, all bodies are computed up to that tick.
   * @param structure - the client's structure number
   */
  applySnapshot(h: Snapshot, structure: number): void {
    this.#snapshots.add(h)
    const s = this.#snapshots.findComplete(h.seq, this.now)
    if (s) this.#computeUpTo(s, structure)
  }

  /**
   * Computes all bodies up to the tick of a snapshot, and checks its audit. If the budget is
   * spent, the bodies stay at the tick that they have reached, and a later snapshot continues
   * from there. Bodies more than a second behind stand still until the server sends their
   * states again.
   */
  #computeUpTo(s: Snapshot, structure: number): void {
    if (this.#budget.spent) {
      this.stats.behind++
      return
    }
    this.#budget.spend(cost.snapshot + cost.look * (this.waiting + 2 * this.#effects.versions))
    const computation = this.#computation
    computation.findLeaders((h) => this.#numberOf(h))
    if (this.now === 0) computation.restartAt(s.tick)
    if (!computation.catchUpLate() || !computation.advanceTo(s.tick)) this.#giveUp(s.tick)
    else if (this.now < s.tick) this.stats.behind++
    this.#effects.dropSettled()
    this.#effects.forgetOld(this.now)
    if (this.#ghosts.length > 0) this.#dropGhosts()
    if (s.audited && s.structure === structure && this.now === s.tick && !this.#budget.spent)
      this.#auditor.check(s, this.#viewed.all)
  }

  #dropGhosts(): void {
    keepIf(this.#ghosts, (t) => {
      const leads = this.#effects.leaderOf(t) !== undefined
      if (!leads) this.#removeTrack(t)
      return leads
    })
  }

  /** Returns the number of an entity's body. */
  #numberOf(h: Name): number {
    const viewed = this.#viewed.find(h.slot)
    const t = viewed?.generation === h.generation ? viewed.track : null
    return (t ?? this.#effects.leaderOf(h)?.ghost)?.number ?? noNumber
  }

  /** Continues at a tick without bodies: all stand still until the server sends their states again. */
  #giveUp(tick: number): void {
    const { numbered } = this.#tracks
    this.stats.overruns++
    this.#overrun = true
    this.#budget.spend(cost.look * numbered.length)
    this.#computation.restartAt(tick)
    for (const t of numbered) {
      if (t !== null && (!t.fresh || t.at <= tick)) {
        t.lost = true
        t.fresh = t.late = false
      }
    }
    this.#tracks.dropComputed()
  }

  /** Whether the server should send all states again. */
  get needsResync(): boolean {
    return this.#overrun || this.#auditor.diverged
  }

  /** Notes that the client has asked the server for all states. */
  noteResync(): void {
    this.#overrun = this.#auditor.diverged = false
  }

  /**
   * Sets s to the newest state of the body in a slot. It returns the tick after which the
   * server's body had that state, to the bit; 0 if the slot's entity is not computed.
   */
  newestState(slot: number, s: State): number {
    const t = this.#viewed.find(slot)?.track
    if (!t || t.lost) return 0
    if (t.fresh) {
      s.copy(t.given)
      return t.at
    }
    t.stateAfter(this.now, s)
    return this.now
  }

  /** Sets the wind and acceleration at points in the newest tick: see Sim.forcesAt. */
  forcesAt(points: Columns, kind: Kind, from: number, to: number): Forces {
    return this.#computation.forcesAt(points, kind, from, to)
  }

  /** Reports whether the entity in a slot is exact. */
  isComputed(slot: number): boolean {
    return Boolean(this.#viewed.find(slot)?.track)
  }

  /**
   * Sets s to the state of a body at a moment. It returns false for ordinary entities.
   * @param moment - in ticks with fractions
   * @param extrapolate - the most ticks by which motion continues beyond the newest state
   * @param from - receives the state before the moment
   * @param to - receives the state after the moment
   */
  stateAt(slot: number, moment: number, extrapolate: number, s: State, from: State, to: State): boolean {
    const t = this.#viewed.find(slot)?.track
    if (!t) return false
    const now = t.fresh ? Math.max(this.now, t.last) : this.now
    const tick = Math.floor(Math.min(Math.max(moment, 0), 2 ** 32 - 2))
    t.stateAfter(Math.min(tick, now), from)
    if (t.leap.stateAt(moment, from, s)) return true
    if (tick < now) {
      mix(from, t.stateAfter(tick + 1, to), moment - tick, s)
      return true
    }
    to.copy(from)
    if (t.leap.endsAt(now)) {
      s.copy(from)
      return true
    }
    mix(t.stateAfter(Math.max(now - 1, 0), this.#before), from, 1 + Math.min(moment - now, extrapolate), s)
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

/** Checks that the entity that an effect follows will be Live. */
function checkLeader(way: Way | null, lives: (h: Name) => boolean): void {
  if (way !== null && way.path.form === PathForm.following && !lives(way.leader)) {
    fail(`an effect follows ${way.leader.slot}v${way.leader.generation}, which is not in view`)
  }
}
