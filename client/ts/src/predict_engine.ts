// The engine of a prediction: which ticks it predicts, compares and predicts again.

import type { Entity, Layout } from './entity.ts'
import { guard } from './guard.ts'
import { type Handle, none } from './handles.ts'
import { State } from './motion/columns.ts'
import { type PredictConfig, type Prediction, PredictionStats, type Step, StepError } from './predict_config.ts'
import { guessInputs } from './predict_guess.ts'
import { InputRing } from './predict_inputs.ts'
import { Effects } from './predict_once.ts'
import { type Agreement, copyOf, Part, zeroOf } from './predict_parts.ts'
import { windowOf } from './predict_window.ts'
import type { Predictor } from './predictor.ts'
import type { Replica } from './replica.ts'
import type { Session } from './session.ts'
import { requireJoined } from './session_errors.ts'
import type { Struct } from './values.ts'

const defaultSnap = 2
/** The time after which half of a misprediction is still drawn, in ms. */
const blendHalfLife = 80
/** The number of snapshots without an own row after which a server has certainly sent a lost one again. */
const resendSnapshots = 9

const scratch = new State()

/**
 * Predicts the entity that a session controls.
 *
 * The rings hold the states of ticks confirmed to newest, and the inputs of later ticks. An
 * input holds from its tick until the next input. C6 to C10 are invariants of client/doc.go.
 */
export class PredictionEngine<S extends Struct, I extends Struct> implements Prediction<S>, Predictor {
  readonly #session: Session
  readonly #components: readonly string[]
  readonly #step: Step<S, I>
  readonly #snap: number
  readonly #undo: PredictConfig['undo']
  #tickHz = 0
  #parts: Part[] = []
  #served: Part[] = [] // those with a component that the server has; empty: nothing is predicted

  #handle: Handle = none // the predicted entity
  #running = false // something is predicted
  #paused = false // the connection is lost: no new ticks until the next state
  #confirmed = 0
  #newest = 0
  #inputs = new InputRing<I>(0) // its window: the confirmed tick, and as many ticks as may be unconfirmed
  #states: (S | undefined)[] = []
  #held!: I // the input in force at the confirmed tick
  #zero!: I // in force before the first input
  #heldTick = 0 // of held; 0: none
  #applied = 0 // newest input that the server had certainly applied at the confirmed tick
  #lastInput = 0 // newest tick in inputs; 0: none
  #lostInput = 0 // lastInput when the connection broke
  #stepping = 0 // tick of the step function's call; 0: no call
  #trying = false // steps have no effects during a search
  #failed: StepError | undefined

  #drawn = false // something was drawn: tick drawnTick, at drawnAt
  #drawnTick = 0
  #drawnAt = 0
  readonly #effects = new Effects()
  readonly #counts = new PredictionStats()

  constructor(session: Session, components: readonly string[], step: Step<S, I>, config: PredictConfig) {
    this.#session = session
    this.#components = components
    this.#step = step
    this.#snap = config.snap || defaultSnap
    this.#undo = config.undo
  }

  // Methods for games.

  get state(): S | undefined {
    return this.#running ? this.#withTexts(copyOf(this.at(this.#newest))) : undefined
  }

  draw(): S | undefined {
    if (!this.#running) return undefined
    const { at, inputTick } = this.#session.rendered
    const tick = inputTick === 0 ? this.#newest : inputTick
    if (this.#drawn) {
      const passed = Math.max(at - this.#drawnAt, 0)
      const share = 2 ** (-passed / blendHalfLife)
      for (const p of this.#parts) for (let i = 0; i < p.offset.length; i++) p.offset[i]! *= share
      // Time passes evenly, but an input may be made for a later or earlier tick than expected.
      const even = this.#drawnTick + (passed * this.#tickHz) / 1000
      if (even !== tick) this.#blendFrom(this.#interpolate(even), this.#interpolate(tick))
    }
    this.#drawn = true
    this.#drawnTick = tick
    this.#drawnAt = at
    const s = this.#interpolate(tick)
    for (const p of this.#parts) p.addOffset(s[p.component.name])
    return this.#withTexts(s)
  }

  once(tick: number, key: number): boolean {
    return this.#stepping !== 0 && this.#stepping === tick && !this.#trying && this.#effects.askFor(tick, key)
  }

  get error(): StepError | undefined {
    return this.#failed
  }

  get stats(): Readonly<PredictionStats> {
    return Object.assign(copyOf(this.#counts), this.#running && { predicted: this.#newest, confirmed: this.#confirmed })
  }

  // Methods for the session.

  recordInput(tick: number, input: Struct): void {
    const following = this.#running && !this.#paused
    if (this.#failed || this.#stepping !== 0 || this.#inputs.window === 0) return
    if (following && tick >= this.#confirmed + this.#inputs.window) {
      this.#counts.stalled++
      return
    }
    if (tick < this.#lastInput) this.#inputs.forget(tick) // the server's time went back
    this.#lastInput = tick
    this.#inputs.add(tick, input as I)
    // The server may apply an earlier one too, late.
    if (following && tick > this.#confirmed) {
      this.#dropAfter(tick)
      this.#runTicks(Math.min(tick, this.#newest + 1), tick)
    }
    this.#deliverUndone()
  }

  reconcile(): void {
    if (this.#stepping !== 0) return
    const e = this.#predictable()
    const { controlled } = this.#session
    if (!e || e.handle !== this.#handle) this.#dropPrediction()
    if (controlled !== this.#handle) {
      this.#handle = controlled
      this.#effects.forgetAll()
    }
    if (e) {
      const tick = this.#knownUntil(this.#replica, e)
      if (tick > 2 ** 32 - 1 - 2 * this.#inputs.window)
        this.#dropPrediction() // no further tick can be predicted
      else if (!this.#running) this.#startAt(e, tick)
      else if (tick > this.#confirmed) this.#confirmState(e, tick)
    }
    this.#deliverUndone()
  }

  restart(tickHz: number): void {
    this.#tickHz = tickHz
    this.#dropPrediction()
    this.#inputs.clear()
    this.#lastInput = 0
    this.#handle = none
    this.#effects.forgetAll()
    this.#parts = []
    this.#served = []
    const layout = this.#session.replica?.layout
    const input = layout?.schema.input
    if (layout && input) {
      this.#makeParts(layout)
      this.#zero = zeroOf(input.shape) as I
      this.#held = this.#zero
    }
    if (this.#served.length > 0) this.#resizeRings(windowOf(tickHz))
    this.#deliverUndone()
  }

  /** Makes the parts of a state. A component that only the game declares is predicted without corrections. */
  #makeParts(layout: Layout): void {
    const declared = this.#session.declared?.components
    for (const name of this.#components) {
      const served = layout.component(name)
      const c = served ?? declared?.find((x) => x.name === name)
      if (!c) {
        this.#served = []
        return
      }
      const part = new Part(layout, c)
      this.#parts.push(part)
      if (served) this.#served.push(part)
    }
  }

  /** Makes rings of window ticks. Nothing may be predicted. */
  #resizeRings(window: number): void {
    if (window === this.#inputs.window) return
    this.#inputs = new InputRing(window)
    this.#states = new Array(window)
    this.#effects.resize(window)
  }

  get #replica(): Replica {
    return requireJoined(this.#session.replica)
  }

  #slotOf(tick: number): number {
    return tick % this.#inputs.window
  }

  pause(): void {
    this.#paused = true
    this.#lostInput = this.#lastInput
  }

  // The engine.

  /** Returns the state of a tick, from the confirmed to the newest. */
  at(tick: number): S {
    const s = this.#states[this.#slotOf(tick)]
    if (!s) throw new Error(`tick ${tick} is not predicted`)
    return s
  }

  /** Returns the controlled entity if it can be predicted. */
  #predictable(): Entity | undefined {
    const { replica, controlled } = this.#session
    if (this.#failed || this.#served.length === 0) return undefined
    const e = replica?.entity(controlled)
    return e?.owned && this.#served.every((p) => (e.mask >>> p.component.index) & 1) ? e : undefined
  }

  /**
   * Returns the newest tick at which e is known to have its current state. Each snapshot has a
   * row of e, unless the client has acknowledged e's state or a snapshot with that state is
   * under way. So a snapshot without the row confirms the current state if no snapshot was
   * lost since that state, or after resendSnapshots, when the server has sent a lost row
   * again. The server sends rows of a computed body only after a disturbance.
   */
  #knownUntil(r: Replica, e: Entity): number {
    if (r.bodies && e.isComputed) return Math.max(r.bodies.newestState(e.index, scratch), e.tick)
    const since = r.ackTick(Math.min(r.acks.run, 63))
    const resent = r.tick - since > resendSnapshots * r.interval
    return r.tick <= e.tick || (e.tick < since && !resent) ? e.tick : r.tick
  }

  /** Drops the predicted states after tick. */
  #dropAfter(tick: number): void {
    for (; this.#newest > Math.max(tick, this.#confirmed); this.#newest--) this.#effects.dropTick(this.#newest)
  }

  /** Returns the newest tick to predict. */
  #newestTarget(): number {
    return Math.max(this.#confirmed, Math.min(this.#lastInput, this.#confirmed + this.#inputs.window - 1))
  }

  /** Begins to predict from the state of e at tick. */
  #startAt(e: Entity, tick: number): void {
    const s: Struct = Object.create(null)
    for (const p of this.#parts) s[p.component.name] = p.zero()
    this.#states[this.#slotOf(tick)] = s as S
    this.#adoptState(e, tick)
    this.#confirmed = this.#newest = tick
    this.#running = true
    this.#paused = false
    this.#applied = 0
    this.#noteApplied()
    const isKnown = this.#replica.tick === tick
    this.#holdInput(isKnown && this.#applied === 0 ? 0 : this.#inputs.newestUntil(tick))
    this.#runTicks(tick + 1, this.#newestTarget())
  }

  /** Copies the recorded input of a tick to the held one; tick 0 is none. */
  #holdInput(tick: number): void {
    this.#heldTick = tick
    this.#held = this.#inputs.get(tick) ?? this.#zero
  }

  #noteApplied(): void {
    const r = this.#replica
    if (r.tick === this.#confirmed) this.#applied = r.input
  }

  /** Drops the prediction: the entity died, left view or is no longer controlled. */
  #dropPrediction(): void {
    if (!this.#running) return
    this.#dropAfter(this.#confirmed)
    this.#running = this.#paused = this.#drawn = false
    for (const p of this.#parts) p.offset.fill(0)
  }

  /** Drops the inputs that were under way when the connection broke or are too late at tick. */
  #dropLostInputs(tick: number): void {
    const applied = this.#replica.input
    this.#inputs.forget(applied + 1, Math.max(this.#lostInput, tick))
    if (this.#inputs.has(applied)) this.#holdInput(applied)
  }

  /** Compares the server's state at tick with the predicted one, and corrects the prediction if they differ (C7). */
  #confirmState(e: Entity, tick: number): void {
    // The game makes no inputs, and the server repeats the last one.
    if (!this.#paused && tick > this.#newest && tick - this.#confirmed < this.#inputs.window)
      this.#runTicks(this.#newest + 1, tick)
    const known = tick <= this.#newest && !this.#paused && this.#running
    const found = known ? this.#compareState(e, tick) : 'none'
    if (found !== 'none') this.#counts.agreed++
    if (found === 'exact') {
      this.#acceptTick(tick)
      this.#runTicks(this.#newest + 1, this.#newestTarget())
      return
    }
    const before = this.#running && this.#drawn ? this.#interpolate(this.#drawnTick) : undefined
    const isTeleported = e.teleported > this.#confirmed
    if (this.#paused) this.#dropLostInputs(tick)
    if (!known) {
      this.#undoUnapplied(tick)
      this.#states[this.#slotOf(tick)] = copyOf(this.at(this.#newest))
    } else if (found === 'none') {
      for (const p of this.#served) p.countCorrections(this.at(tick)[p.component.name], e, tick, this.#counts.fields)
      if (this.#explainWithInputs(e, tick)) this.#counts.missed++
      this.#counts.corrected++
    }
    this.#adoptState(e, tick)
    this.#acceptTick(tick)
    this.#dropAfter(this.#newestTarget())
    this.#runTicks(tick + 1, this.#newestTarget())
    if (this.#running && before) this.#blendFrom(before, this.#interpolate(this.#drawnTick))
    if (isTeleported) for (const p of this.#parts) p.offset.fill(0)
  }

  /**
   * Searches for inputs, some missed or applied late, with which step gives the server's state
   * at tick. It predicts up to tick with them, so that the state keeps its full precision. If
   * it finds none, it predicts as if every input that the server had applied had been in time.
   */
  #explainWithInputs(e: Entity, tick: number): boolean {
    const r = this.#replica
    const most = Math.min(tick, r.input)
    const from = [0, this.#heldTick, ...this.#inputs.keys()]
      .filter((t) => t >= this.#applied && t <= most)
      .sort((a, b) => b - a)
    if (from.length === 0) return false
    const inputOf = (t: number): I => (t === 0 ? this.#zero : (this.#inputs.get(t) ?? this.#held))
    this.#trying = true
    const inputs = guessInputs([...new Set(from)], this.#confirmed + 1, tick, (t, input) => {
      if (this.#failed || (t === tick && tick === r.tick && input !== r.input)) return false
      this.#callStep(t, inputOf(input))
      return !this.#failed && (t < tick || this.#compareState(e, tick) !== 'none')
    })
    this.#trying = false
    for (let t = this.#confirmed + 1; t <= tick && !this.#failed; t++) {
      const input = inputs ? inputs[t - this.#confirmed - 1] : from.find((in_) => in_ <= t)
      this.#runTick(t, input === undefined ? this.#held : inputOf(input))
    }
    return inputs !== undefined && !this.#failed
  }

  /** Makes tick the confirmed one. */
  #acceptTick(tick: number): void {
    let held = this.#inputs.newestUntil(tick)
    const isNew = held > this.#confirmed
    this.#confirmed = tick
    this.#noteApplied()
    if (!isNew) held = this.#applied // it may be later than its tick, which was confirmed before
    if (held > this.#heldTick && this.#inputs.has(held)) this.#holdInput(held)
    this.#paused = false
    this.#newest = Math.max(this.#newest, tick)
  }

  /** Predicts the ticks from from to to. The tick before from must have a state. */
  #runTicks(from: number, to: number): void {
    let input = this.#held
    for (let t = this.#confirmed + 1; t <= to && !this.#failed; t++) {
      input = this.#inputs.get(t) ?? input
      if (t >= from) this.#runTick(t, input)
    }
  }

  #runTick(t: number, input: I): void {
    if (t <= this.#newest) this.#counts.replayed++
    this.#effects.beginTick(t)
    this.#callStep(t, input)
    if (this.#failed) return
    this.#effects.endTick(t)
    this.#newest = Math.max(this.#newest, t)
  }

  #callStep(t: number, input: I): void {
    const s = copyOf(this.at(t - 1))
    this.#states[this.#slotOf(t)] = s
    this.#stepping = t
    try {
      this.#step(t, s, input)
    } catch (cause) {
      this.#failed = new StepError(t, cause)
      this.#effects.dropTick(t)
      this.#dropPrediction()
    } finally {
      this.#stepping = 0
    }
  }

  #adoptState(e: Entity, tick: number): void {
    for (const p of this.#served) p.adoptFrom(this.at(tick)[p.component.name], e)
  }

  #compareState(e: Entity, tick: number): Agreement {
    let found: Agreement = 'exact'
    for (const p of this.#served) {
      const part = p.compareWith(this.at(tick)[p.component.name], e)
      if (part === 'none') return part
      if (part === 'near') found = part
    }
    return found
  }

  /** Sets the texts in s to the newest, and returns s. */
  #withTexts(s: S): S {
    const e = this.#predictable()
    if (e) for (const p of this.#served) p.setTexts(s[p.component.name], e)
    return s
  }

  /** Returns the state at a fractional tick. */
  #interpolate(tick: number): S {
    tick = Math.min(Math.max(tick, this.#confirmed), this.#newest)
    const from = Math.floor(tick)
    if (from === tick) return copyOf(this.at(from))
    const s = copyOf(this.at(from + 1))
    for (const p of this.#parts)
      p.moveBack(this.at(from)[p.component.name], s[p.component.name], from + 1 - tick, this.#snap)
    return s
  }

  /** Adds the difference between before and now to the offset, so that the drawn state does not change. */
  #blendFrom(before: S, now: S): void {
    for (const p of this.#parts) p.blendIn(now[p.component.name], before[p.component.name], this.#snap)
  }

  /**
   * Drops the effects of ticks not after tick that are not predicted again, if the server has
   * not applied their inputs.
   */
  #undoUnapplied(tick: number): void {
    const first = Math.max(this.#confirmed, this.#replica.input) + 1
    for (let t = first; t <= Math.min(this.#newest, tick); t++) this.#effects.dropTick(t)
  }

  #deliverUndone(): void {
    for (const { tick, key } of this.#effects.undone.splice(0)) {
      this.#counts.undone++
      guard(() => this.#undo?.(tick, key))
    }
  }
}
