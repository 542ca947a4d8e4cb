// The motion of an exact body: its states of the last ticks.

import { State } from './columns.ts'
import { keepIf } from './lists.ts'
import type { MotionStats } from './stats.ts'

/** Keeps a state for each of the last ticks. */
export class Ring {
  readonly #floats: Float32Array
  readonly #rest: Uint32Array
  readonly #awake: Uint8Array

  constructor(ticks: number) {
    this.#floats = new Float32Array(6 * ticks)
    this.#rest = new Uint32Array(ticks)
    this.#awake = new Uint8Array(ticks)
  }

  set(tick: number, s: State): void {
    const i = tick % this.#rest.length
    const f = this.#floats
    f[6 * i] = s.x
    f[6 * i + 1] = s.y
    f[6 * i + 2] = s.z
    f[6 * i + 3] = s.vx
    f[6 * i + 4] = s.vy
    f[6 * i + 5] = s.vz
    this.#rest[i] = s.rest
    this.#awake[i] = s.awake ? 1 : 0
  }

  get(tick: number, s: State): State {
    const i = tick % this.#rest.length
    const f = this.#floats
    s.x = f[6 * i]!
    s.y = f[6 * i + 1]!
    s.z = f[6 * i + 2]!
    s.vx = f[6 * i + 3]!
    s.vy = f[6 * i + 4]!
    s.vz = f[6 * i + 5]!
    s.rest = this.#rest[i]!
    s.awake = this.#awake[i] !== 0
    return s
  }
}

/** Lends rings, and takes them back for reuse. */
export class Rings {
  readonly ticks: number
  readonly #free: Ring[] = []

  constructor(ticks: number) {
    this.ticks = ticks
  }

  take(): Ring {
    return this.#free.pop() ?? new Ring(this.ticks)
  }

  give(r: Ring | null): void {
    if (r !== null && this.#free.length < 256) this.#free.push(r)
  }
}

const rested = new State()

/** The newest teleport of a body. */
export class Leap {
  #tick = 0 // of the teleport, 0 without one
  #landed = 0 // tick of the first state received since
  readonly #state = new State() // that state

  /** Notes the tick of a teleport, 0 for none, of which the server told with a state. */
  note(teleport: number, tick: number, s: State): void {
    if (teleport === 0 || teleport < this.#tick || (teleport === this.#tick && tick >= this.#landed)) return
    this.#tick = teleport
    this.#landed = tick
    this.#state.copy(s)
  }

  forget(): void {
    this.#tick = this.#landed = 0
  }

  /** Reports whether the body has landed in a tick: its way there shows no motion. */
  endsAt(tick: number): boolean {
    return this.#landed === tick
  }

  /**
   * Sets s to the state to show at a moment from the tick before the teleport until the body has landed.
   * It returns false at other moments.
   * @param from - the state after the moment's tick
   */
  stateAt(moment: number, from: State, s: State): boolean {
    if (this.#tick === 0 || moment < this.#tick - 1 || moment >= this.#landed) return false
    s.copy(moment < this.#tick ? from : this.#state)
    return true
  }
}

/** An exact body. */
export class Track {
  slot = 0
  generation = 0
  readonly number: number // of the body in a Sim
  kind = 0
  readonly given = new State() // newest state that the server sent, after tick at
  at = 0
  fresh = false // the body has not been computed from given yet
  ghost = false // the entity has left, but an effect still follows it in ticks to compute
  lost = false // the body is not computed: computing took too long
  late = false // the body is being computed from at to now
  readonly leap = new Leap()

  // ring holds the states of ticks first to last; null means that the body had the state given
  // in all of them. The state has not changed after last.
  ring: Ring | null = null
  first = 0
  last = 0

  constructor(number: number) {
    this.number = number
  }

  /** Replaces all states by one. */
  begin(tick: number, s: State): void {
    this.first = this.last = tick
    this.ring?.set(tick, s)
  }

  /** Sets s to the state after a tick, or to the earliest known one if tick precedes it. */
  stateAfter(tick: number, s: State): State {
    if (this.ring === null) return s.copy(this.given)
    return this.ring.get(Math.min(Math.max(tick, this.first), this.last), s)
  }

  /** Begins to keep states. */
  keepStates(rings: Rings): Ring {
    if (this.ring === null) {
      this.ring = rings.take()
      this.ring.set(this.last, this.given)
    }
    return this.ring
  }

  /** Sets the state after a tick and forgets later ones. */
  record(tick: number, s: State, rings: Rings): void {
    const ring = this.keepStates(rings)
    const { ticks } = rings
    if (tick <= this.first) {
      this.begin(tick, s)
      return
    }
    this.last = Math.min(this.last, tick - 1)
    if (this.last < tick - 1) {
      ring.get(this.last, rested)
      for (let i = Math.max(this.last + 1, tick - ticks + 1); i < tick; i++) ring.set(i, rested)
    }
    ring.set(tick, s)
    this.last = tick
    if (tick - this.first >= ticks) this.first = tick - ticks + 1
  }
}

/** The least length of waiting at which tracks that need not wait are removed. */
const minWaiting = 64

const bytesOfTrack = 400
const bytesOfState = 29

/** The exact bodies by number, and those whose given states wait to be computed. */
export class Tracks {
  /** Tracks to be computed from their given state; some are computed already. */
  readonly waiting: Track[] = []
  readonly #numbered: (Track | null)[] = []
  readonly #free: number[] = [] // numbers
  readonly #rings: Rings
  readonly #stats: MotionStats

  /** @param ticks - the number of ticks for which states are kept */
  constructor(ticks: number, stats: MotionStats) {
    this.#rings = new Rings(ticks)
    this.#stats = stats
  }

  /** Tracks by number; null: the number is free. */
  get numbered(): readonly (Track | null)[] {
    return this.#numbered
  }

  get bytes(): number {
    return this.#numbered.length * this.bytesOfNew
  }

  /** The memory of one more track. */
  get bytesOfNew(): number {
    return bytesOfTrack + this.#rings.ticks * bytesOfState
  }

  get(number: number): Track | null {
    return this.#numbered[number] ?? null
  }

  create(): Track {
    const t = new Track(this.#free.pop() ?? this.#numbered.length)
    this.#numbered[t.number] = t
    return t
  }

  remove(t: Track): void {
    this.#numbered[t.number] = null
    this.#free.push(t.number)
    this.#rings.give(t.ring)
    t.fresh = false
  }

  /** Sets the server's state after a tick. The track keeps its earlier states. */
  giveState(t: Track, tick: number, s: State): void {
    t.keepStates(this.#rings)
    this.#setGiven(t, tick, s)
  }

  /** Sets the server's state after a tick, and forgets earlier ones. */
  begin(t: Track, tick: number, s: State): void {
    t.begin(tick, s)
    t.leap.forget()
    this.#setGiven(t, tick, s)
  }

  #setGiven(t: Track, tick: number, s: State): void {
    t.given.copy(s)
    t.at = tick
    t.lost = false
    if (t.fresh) return
    t.fresh = true
    if (this.waiting.length >= 2 * this.#stats.clean + minWaiting) this.dropComputed()
    this.waiting.push(t)
  }

  /** Removes the tracks that are no longer fresh from waiting. */
  dropComputed(): void {
    keepIf(this.waiting, (t) => t.fresh)
  }

  /** Forgets the states of a track after its given one. */
  startFromGiven(t: Track): void {
    if (t.ring !== null) t.record(t.at, t.given, this.#rings)
  }

  /** Records the state of a track after a tick. */
  record(number: number, tick: number, s: State): void {
    this.#numbered[number]?.record(tick, s, this.#rings)
  }
}
