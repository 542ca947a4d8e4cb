// Sim computes bodies and effects tick by tick: world/motion/MOTION.md, to the bit.

import { blockPoints } from '../field/machine.ts'
import type { Program } from '../field/program.ts'
import { Columns, type State } from './columns.ts'
import { contains, type Effect, Forces } from './forces.ts'
import { feels, type Kind } from './kind.ts'
import { checkPath, type Path, PathForm, pathAt } from './path.ts'
import { type Params, Stepper } from './stepper.ts'

/** An effect over its whole life. */
export interface Source {
  readonly program: Program
  readonly params: Float32Array // four lanes for each parameter of the program
  readonly mode: number
  readonly layers: number // 0 to 2^32-1
  readonly path: Path
  readonly leader: number // number of the body that the effect follows
  readonly born: number // tick from which the path and the program's time count
  readonly first: number // first tick in which it acts
  readonly last: number // last tick in which it acts; 0 for no limit
  readonly pathBorn: number // tick from which a changed path counts; 0: born
}

/** An effect of a Sim, on a slot. */
class Acting implements Effect {
  readonly slot: number
  readonly center = new Float32Array(3)
  readonly program: Program
  readonly params: Float32Array
  readonly mode: number
  readonly layers: number
  readonly source: Source
  readonly changing: boolean
  time = 0

  constructor(slot: number, s: Source) {
    this.slot = slot
    this.source = s
    this.program = s.program
    this.params = s.params
    this.mode = s.mode
    this.layers = s.layers
    this.changing = s.program.changesWithTime(s.params)
  }
}

function bySlot(a: Acting, b: Acting): number {
  return a.slot - b.slot
}

/** The order in which effects are summed. */
function bySum(a: Acting, b: Acting): number {
  return a.mode - b.mode || a.layers - b.layers || a.slot - b.slot
}

/** Inserts e into a sorted list. */
function insert(list: Acting[], e: Acting, order: (a: Acting, b: Acting) => number): void {
  let at = list.length
  while (at > 0 && order(list[at - 1]!, e) > 0) at--
  list.splice(at, 0, e)
}

/**
 * Moves free bodies and effects. The caller chooses the numbers of bodies and the slots of
 * effects; memory is proportional to the largest of each. Ticks do not allocate.
 */
export class Sim {
  now: number // last tick
  awake = 0 // rows below it are awake
  readonly #stepper: Stepper
  readonly #bodies = new Columns()
  #rowOf = new Int32Array(64).fill(-1) // by number; -1 for none
  #settled = new Uint32Array(64) // numbers of the bodies that fell asleep in the last tick
  #settledCount = 0
  #rested = new Uint32Array(64) // scratch of settling
  readonly #trial = new Columns() // scratch, blockPoints rows
  readonly #slots: (Acting | null)[] = []
  readonly #bySlot: Acting[] = []
  readonly #ordered: Acting[] = [] // by mode, layers, slot
  readonly #forces = new Forces()
  readonly #old = new Float32Array(3)
  readonly #moved = new Float32Array(3)

  /** Makes an empty Sim after a tick. */
  constructor(p: Params, tick: number) {
    for (let i = 0; i < blockPoints; i++) this.#trial.add()
    this.#stepper = new Stepper(p)
    this.now = tick
  }

  /** Removes all bodies and effects, and sets the last tick. */
  reset(tick: number): void {
    const b = this.#bodies
    for (let row = 0; row < b.length; row++) this.#rowOf[b.number[row]!] = -1
    this.now = tick
    this.awake = this.#settledCount = b.length = 0
    this.#slots.length = this.#bySlot.length = this.#ordered.length = 0
  }

  /** Sets the constants of a kind. */
  setKind(kind: number, constants: Kind): void {
    const { kinds } = this.#stepper
    while (kinds.length <= kind) kinds.push(constants) // kinds between have no bodies
    kinds[kind] = constants
  }

  get length(): number {
    return this.#bodies.length
  }

  /** Returns the number of effects. */
  get effects(): number {
    return this.#bySlot.length
  }

  /** Adds or corrects a body, with its state after the last tick. */
  put(number: number, kind: number, s: State): void {
    let row = this.#row(number)
    if (row < 0) row = this.#add(number)
    this.#bodies.kind[row] = kind
    this.#bodies.set(row, s)
    if (s.awake && row >= this.awake) {
      this.#swap(row, this.awake++)
    } else if (!s.awake && row < this.awake) {
      this.#swap(row, --this.awake)
    }
  }

  /** Sets s to a body's state after the last tick, and returns false if there is no such body. */
  state(number: number, s: State): boolean {
    const row = this.#row(number)
    if (row < 0) return false
    this.#bodies.get(row, s)
    s.awake = row < this.awake
    return true
  }

  /** Removes the body with a number, if there is one. */
  drop(number: number): void {
    let row = this.#row(number)
    if (row < 0) return
    if (row < this.awake) {
      this.#swap(row, --this.awake)
      row = this.awake
    }
    this.#swap(row, this.#bodies.length - 1)
    this.#rowOf[number] = -1
    this.#bodies.length--
  }

  /**
   * Adds or replaces the effect on a slot. It acts from the next tick on, or from its first
   * tick if that is later. If wake is set, the bodies in the old and the new reach wake now.
   * It throws if parameters do not fit the program, or the path is invalid.
   */
  setEffect(slot: number, s: Source, wake: boolean): void {
    const wrong = checkPath(s.path)
    if (wrong !== '') throw new RangeError(`motion: ${wrong}`)
    if (s.params.length !== s.program.defaults.length) {
      throw new RangeError(`motion: ${s.params.length} lanes of parameters, not ${s.program.defaults.length}`)
    }
    this.endEffect(slot, wake)
    while (this.#slots.length <= slot) this.#slots.push(null)
    const e = new Acting(slot, s)
    this.#slots[slot] = e
    insert(this.#bySlot, e, bySlot)
    insert(this.#ordered, e, bySum)
    if (!this.#centerAt(s, e.center)) e.center.set(s.path.center)
    if (wake) this.#wake(e, e.center)
  }

  /** Removes the effect on a slot, if there is one. If wake is set, the bodies in its reach wake now. */
  endEffect(slot: number, wake: boolean): void {
    const e = this.#slots[slot]
    if (!e) return
    this.#slots[slot] = null
    this.#bySlot.splice(this.#bySlot.indexOf(e), 1)
    this.#ordered.splice(this.#ordered.indexOf(e), 1)
    if (wake) this.#wake(e, e.center)
  }

  /** Moves everything by one tick. */
  tick(): void {
    this.tickWithin(Infinity)
  }

  /**
   * Is tick, unless effects had to be evaluated at more than most points. It then returns
   * false and leaves the tick unfinished; only reset may follow.
   */
  tickWithin(most: number): boolean {
    this.now++
    this.#moveEffects()
    this.#gatherForces()
    for (let from = 0; from < this.awake; from += blockPoints) {
      const to = Math.min(from + blockPoints, this.awake)
      this.#forces.sum(this.#bodies, this.#stepper.kinds, from, to)
      if (this.#forces.points > most) return false
      this.#stepper.step(this.#bodies, this.#forces, from, to)
    }
    if (!this.#settle(most)) return false
    for (let i = 0; i < this.#bySlot.length; ) {
      const e = this.#bySlot[i]!
      if (e.source.last === this.now) this.endEffect(e.slot, true)
      else i++
    }
    return true
  }

  /** Returns the number of points at which the last tick evaluated effects. */
  get points(): number {
    return this.#forces.points
  }

  /**
   * Calls f with the state of each body that the last tick may have changed: awake bodies, and
   * those that fell asleep. It reuses s for each.
   */
  changed(s: State, f: (number: number, s: State) => void): void {
    const b = this.#bodies
    for (let row = 0; row < this.awake; row++) {
      b.get(row, s)
      s.awake = true
      f(b.number[row]!, s)
    }
    for (let i = 0; i < this.#settledCount; i++) {
      const number = this.#settled[i]!
      if (this.state(number, s)) f(number, s)
    }
  }

  /**
   * Sets the wind and acceleration at points, as bodies of kind felt them in the last tick. It
   * reads rows [from, to), at most blockPoints, and sets the first planes of the result.
   */
  forcesAt(points: Columns, kind: Kind, from: number, to: number): Forces {
    this.#forces.sum(points, [kind], from, to)
    return this.#forces
  }

  /** Moves the centres of effects and wakes the bodies in their old and new reach. */
  #moveEffects(): void {
    const old = this.#old
    const moved = this.#moved
    for (let i = 0; i < this.#bySlot.length; i++) {
      const e = this.#bySlot[i]!
      if (!this.#centerAt(e.source, moved)) continue
      const c = e.center
      if (c[0] === moved[0] && c[1] === moved[1] && c[2] === moved[2]) continue
      old.set(c)
      c.set(moved)
      this.#wake(e, old)
    }
  }

  /**
   * Sets to to an effect's centre in the tick now, or in its first tick if that is later. It
   * returns false if the effect follows a body that does not exist, and so stands still.
   */
  #centerAt(s: Source, to: Float32Array): boolean {
    const from = s.pathBorn === 0 ? s.born : s.pathBorn
    pathAt(s.path, Math.max(this.now, s.first, from) - from, this.#stepper.params.tickHz, to)
    if (s.path.form !== PathForm.following) return true
    const row = this.#row(s.leader)
    if (row < 0) return false
    to[0]! += this.#bodies.x[row]!
    to[1]! += this.#bodies.y[row]!
    to[2]! += this.#bodies.z[row]!
    return true
  }

  /** Collects the effects that act in this tick. */
  #gatherForces(): void {
    this.#forces.reset()
    for (let i = 0; i < this.#ordered.length; i++) {
      const e = this.#ordered[i]!
      if (e.source.first > this.now) continue
      e.time = this.#stepper.seconds(this.now - e.source.born)
      this.#forces.add(e)
    }
  }

  /** Wakes the bodies that feel e and are in its reach, with its centre at the present position or at old. */
  #wake(e: Acting, old: Float32Array): void {
    const b = this.#bodies
    for (let row = 0; row < b.length; row++) {
      if (row < this.awake && b.rest[row] === 0) continue // true for most bodies: nothing to change
      if (!feels(this.#stepper.kinds[b.kind[row]!]!, e.layers)) continue
      const x = b.x[row]!
      const y = b.y[row]!
      const z = b.z[row]!
      if (!contains(e, e.center, x, y, z) && !contains(e, old, x, y, z)) continue
      b.rest[row] = 0
      if (row >= this.awake) this.#swap(row, this.awake++) // with a row that the loop has visited
    }
  }

  /**
   * Counts the rest of awake bodies, and puts rested bodies to sleep that stay still, within
   * the limit of tickWithin.
   */
  #settle(most: number): boolean {
    const stepper = this.#stepper
    const forces = this.#forces
    const b = this.#bodies
    const rested = this.#rested
    let n = 0
    this.#settledCount = 0
    for (let row = this.awake - 1; row >= 0; row--) {
      if (!stepper.countRest(b, row)) continue
      if (forces.changeAt(b, stepper.kinds[b.kind[row]!]!, row)) b.rest[row] = 0
      else rested[n++] = row
    }
    for (let from = 0; from < n; from += blockPoints) {
      if (!this.#settleBlock(from, Math.min(from + blockPoints, n), most)) return false
    }
    return true
  }

  /** Settles a block of rested rows, which descend. */
  #settleBlock(from: number, to: number, most: number): boolean {
    const stepper = this.#stepper
    const forces = this.#forces
    const b = this.#bodies
    const trial = this.#trial
    const rested = this.#rested
    for (let i = 0; i < to - from; i++) {
      const row = rested[from + i]!
      trial.x[i] = b.x[row]!
      trial.y[i] = b.y[row]!
      trial.z[i] = b.z[row]!
      trial.vx[i] = trial.vy[i] = trial.vz[i] = 0
      trial.kind[i] = b.kind[row]!
    }
    forces.sum(trial, stepper.kinds, 0, to - from)
    if (forces.points > most) return false
    stepper.step(trial, forces, 0, to - from)
    for (let i = 0; i < to - from; i++) {
      const row = rested[from + i]!
      if (!stepper.isHeld(trial, forces, i, b, row)) {
        b.rest[row] = 0
        continue
      }
      this.#settled[this.#settledCount++] = b.number[row]!
      b.fallAsleep(row)
      this.#swap(row, --this.awake)
    }
    return true
  }

  #row(number: number): number {
    return number < this.#rowOf.length ? this.#rowOf[number]! : -1
  }

  /** Adds a sleeping row. */
  #add(number: number): number {
    const row = this.#bodies.add()
    if (number >= this.#rowOf.length) {
      const old = this.#rowOf
      this.#rowOf = new Int32Array(Math.max(2 * old.length, number + 1)).fill(-1)
      this.#rowOf.set(old)
    }
    if (row >= this.#settled.length) {
      const old = this.#settled
      this.#settled = new Uint32Array(this.#bodies.x.length)
      this.#settled.set(old)
      this.#rested = new Uint32Array(this.#settled.length)
    }
    this.#rowOf[number] = row
    this.#bodies.number[row] = number
    return row
  }

  #swap(i: number, j: number): void {
    if (i === j) return
    const { number } = this.#bodies
    this.#bodies.swap(i, j)
    this.#rowOf[number[i]!] = i
    this.#rowOf[number[j]!] = j
  }
}
