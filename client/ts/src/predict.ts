// Prediction of the controlled entity, as client/predict.go. Games that do not use it do not
// bundle its code.

import type { Client } from './client.ts'
import type { Entity } from './entity.ts'
import { guard } from './guard.ts'
import { type Handle, none } from './handles.ts'
import { State } from './motion/columns.ts'
import { guess } from './predict_guess.ts'
import { Effects } from './predict_once.ts'
import { type Agreement, copyOf, Part, zeroOf } from './predict_parts.ts'
import { windowOf } from './predict_window.ts'
import type { Predictor } from './predictor.ts'
import type { Replica } from './replica.ts'
import { Session } from './session.ts'
import type { Struct } from './values.ts'

/** PredictConfig configures predict. */
export interface PredictConfig {
  /**
   * snap bounds the mispredictions that are blended, in the units of the field: by default 2.
   * A vector or number that was off by more is drawn at its new value at once. Angles and
   * rotations are always blended.
   */
  readonly snap?: number
  /**
   * undo is called for an effect that once has reported and that will not happen: its tick was
   * predicted again and did not ask for it, or was dropped.
   */
  readonly undo?: (tick: number, key: number) => void
}

/** PredictionStats counts what a Prediction did. */
export class PredictionStats {
  /** predicted and confirmed are the newest tick predicted, and whose state the server has sent; 0: none. */
  predicted = 0
  confirmed = 0
  /** agreed counts the states of the server that were as predicted, after quantisation; corrected the others. */
  agreed = 0
  corrected = 0
  /** missed, of corrected, were explained by inputs that the server missed or applied late. */
  missed = 0
  /** replayed counts the ticks that were predicted again. */
  replayed = 0
  /** stalled counts the inputs that were not predicted: too many ticks were unconfirmed. */
  stalled = 0
  /** undone counts effects. */
  undone = 0
}

/** StepError says that the step function threw its cause. The prediction is off; the session continues. */
export class StepError extends Error {
  readonly tick: number

  constructor(tick: number, cause: unknown) {
    super(`the step function threw at tick ${tick}: the prediction is off`, { cause })
    this.name = 'StepError'
    this.tick = tick
  }
}

/** Step moves a player by one tick. It changes state, and not input. */
export type Step<S, I> = (tick: number, state: S, input: I) => void

/**
 * predict predicts the controlled entity from the inputs of setInput, without waiting for the
 * server. A session has at most one Prediction, for all entities that it comes to control.
 *
 * step does what the server's game does once per tick and player, with the newest input that it
 * has received from the player, quantised; before the first, with all fields 0. state has the
 * components by name: state.body.Position[0]. What step adds to it is predicted as well, but is
 * absent when the prediction starts. States are copied: they hold plain data. To agree with a
 * server that computes with float32, round each result with Math.fround.
 *
 * step should depend on its arguments alone, and must not call methods that change the client.
 */
export function predict<S extends Struct = Struct, I extends Struct = Struct>(
  c: Client | Session,
  components: readonly string[],
  step: Step<S, I>,
  config: PredictConfig = {},
): Prediction<S, I> {
  const session = c instanceof Session ? c : c.session
  const { schema } = session
  if (session.prediction) throw new TypeError('the session has a prediction already')
  if (schema && !schema.input) throw new TypeError('the schema declares no input')
  for (const name of components)
    if (schema && !schema.components.some((x) => x.name === name))
      throw new TypeError(`the schema has no component ${name}`)
  if (components.length === 0 || !((config.snap ?? 0) >= 0))
    throw new RangeError('want a component, and a snap of 0 or more')
  const p = new Prediction<S, I>(session, components, step, config)
  session.prediction = p
  if (session.welcome) p.restart(session.welcome.tickHz)
  p.reconcile()
  return p
}

const defaultSnap = 2
/** blendHalfLife is the time after which half of a misprediction is still drawn, in ms. */
const blendHalfLife = 80
/** resendSnapshots is after how many snapshots without an own row a server has sent a lost one again. */
const resendSnapshots = 9

const scratch = new State()

/**
 * Prediction predicts the entity that a session controls.
 *
 * The rings hold the states of ticks confirmed to newest, and the inputs of the ticks after
 * confirmed. An input counts from its tick on until the next one. C6 to C10 are invariants of
 * client/doc.go.
 */
export class Prediction<S extends Struct, I extends Struct> implements Predictor {
  readonly #session: Session
  readonly #components: readonly string[]
  readonly #step: Step<S, I>
  readonly #snap: number
  readonly #undo: PredictConfig['undo']
  #parts: Part[] = [] // none: the schema lacks a component

  #handle: Handle = none // the predicted entity
  #running = false // there is a state
  #paused = false // the connection is lost; until the next state
  #confirmed = 0
  #newest = 0
  #window = 0 // size of the rings: the confirmed tick, and as many as may be unconfirmed
  #ticks = new Uint32Array(0) // of inputs
  #inputs: (I | undefined)[] = []
  #states: (S | undefined)[] = []
  #held!: I // at the confirmed tick
  #heldTick = 0 // of held; 0: none
  #applied = 0 // newest input that the server is known to have applied by the confirmed tick
  #lastInput = 0 // newest tick in inputs; 0: none
  #lostInput = 0 // of lastInput, when the connection broke
  #stepping = 0 // tick of the step function's call; 0: not in it
  #trying = false // steps have no effects
  #failed: StepError | undefined

  #drawn = false // something was drawn: tick drawnTick, at drawnAt
  #drawnTick = 0
  #drawnAt = 0
  #effects = new Effects(0)
  readonly #counts = new PredictionStats()

  /** @internal */
  constructor(session: Session, components: readonly string[], step: Step<S, I>, config: PredictConfig) {
    this.#session = session
    this.#components = components
    this.#step = step
    this.#snap = config.snap || defaultSnap
    this.#undo = config.undo
  }

  // What a game uses.

  /**
   * state returns a copy of the newest predicted state, of stats.predicted, for game rules;
   * undefined while nothing is predicted: no entity is controlled, it is not in view or lacks a
   * component, or there is an error.
   */
  get state(): S | undefined {
    return this.#running ? this.#withTexts(copyOf(this.at(this.#newest))) : undefined
  }

  /**
   * draw returns the state to draw at the newest moment that render returned, and undefined
   * while nothing is predicted: then draw the entity as all others. Motion within a tick is
   * interpolated, and mispredictions are blended: half of an error is gone after 80 ms.
   */
  draw(): S | undefined {
    if (!this.#running) return undefined
    const { at, inputTick } = this.#session.rendered
    const tick = inputTick === 0 ? this.#newest : inputTick
    if (this.#drawn) {
      const passed = Math.max(at - this.#drawnAt, 0)
      const share = 2 ** (-passed / blendHalfLife)
      for (const p of this.#parts) for (let i = 0; i < p.offset.length; i++) p.offset[i] *= share
      // Time passes evenly, but inputs may be made for later or earlier ticks than before.
      const even = this.#drawnTick + (passed * this.#session.welcome!.tickHz) / 1000
      if (even !== tick) this.#blend(this.#interpolate(even), this.#interpolate(tick))
    }
    this.#drawn = true
    this.#drawnTick = tick
    this.#drawnAt = at
    const s = this.#interpolate(tick)
    for (const p of this.#parts) p.addOffset(s[p.component.name])
    return this.#withTexts(s)
  }

  /**
   * once reports whether to start an effect, such as a sound, that step asks for at its tick
   * under a key that is unique in the tick. It is true when the effect is first predicted, not
   * when the tick is predicted again. If that does not ask for the effect, undo is called.
   * Effects of a tick that the server has confirmed are final. once is false outside step, and
   * for more than 8 effects of a tick.
   */
  once(tick: number, key: number): boolean {
    return this.#stepping !== 0 && this.#stepping === tick && !this.#trying && this.#effects.ask(tick, key)
  }

  /** error is set if the step function threw. */
  get error(): StepError | undefined {
    return this.#failed
  }

  /** stats returns the counters since predict. */
  get stats(): Readonly<PredictionStats> {
    const [predicted, confirmed] = this.#running ? [this.#newest, this.#confirmed] : [0, 0]
    return { ...this.#counts, predicted, confirmed }
  }

  // What the session calls.

  /** @internal */
  recordInput(tick: number, input: Struct): void {
    const following = this.#running && !this.#paused
    if (this.#failed || this.#stepping !== 0 || this.#window === 0 || (following && tick <= this.#confirmed)) return
    if (following && tick >= this.#confirmed + this.#window) {
      this.#counts.stalled++
      return
    }
    if (tick < this.#lastInput) this.#forgetInputs((t) => t >= tick) // the server's time went back
    this.#ticks[this.#slotOf(tick)] = this.#lastInput = tick
    this.#inputs[this.#slotOf(tick)] = input as I
    if (following) {
      this.#truncate(tick)
      this.#run(Math.min(tick, this.#newest + 1), tick)
    }
    this.#deliverUndone()
  }

  /** @internal */
  reconcile(): void {
    if (this.#stepping !== 0) return
    const e = this.#entity()
    if (!e || e.handle !== this.#handle) {
      this.#stop()
      this.#handle = e?.handle ?? none
    }
    if (e) {
      const tick = this.#knownUntil(this.#session.replica!, e)
      if (tick > 2 ** 32 - 1 - 2 * this.#window)
        this.#stop() // no later tick can be predicted
      else if (!this.#running) this.#start(e, tick)
      else if (tick > this.#confirmed) this.#confirm(e, tick)
    }
    this.#deliverUndone()
  }

  /** @internal */
  restart(tickHz: number): void {
    this.#stop()
    this.#ticks.fill(0)
    this.#lastInput = 0
    this.#handle = none
    this.#parts = []
    const layout = this.#session.replica?.layout
    const parts = layout && this.#components.flatMap((name) => layout.component(name) ?? [])
    if (layout && parts?.length === this.#components.length && this.#session.inputShape) {
      this.#parts = parts.map((c) => new Part(layout, c))
      this.#held = zeroOf(this.#session.inputShape) as I
    }
    this.#deliverUndone()
    if (this.#parts.length > 0) this.#resize(windowOf(tickHz))
  }

  /** resize makes the rings of that many ticks, while nothing is predicted. */
  #resize(window: number): void {
    if (window === this.#window) return
    this.#window = window
    this.#ticks = new Uint32Array(window)
    this.#inputs = new Array(window)
    this.#states = new Array(window)
    this.#effects = new Effects(window)
  }

  #slotOf(tick: number): number {
    return tick % this.#window
  }

  /** @internal */
  pause(): void {
    this.#paused = true
    this.#lostInput = this.#lastInput
  }

  // The engine.

  /** @internal Returns the state of a tick from the confirmed to the newest. */
  at(tick: number): S {
    return this.#states[this.#slotOf(tick)]!
  }

  #hasInput(tick: number): boolean {
    return this.#ticks[this.#slotOf(tick)] === tick
  }

  /** entity returns the controlled entity if it can be predicted. */
  #entity(): Entity | undefined {
    const { replica, controlled } = this.#session
    if (this.#failed || this.#parts.length === 0) return undefined
    const e = replica?.entity(controlled)
    return e?.owned && this.#parts.every((p) => (e.mask >>> p.component.index) & 1) ? e : undefined
  }

  /**
   * knownUntil returns the newest tick at which e is known to have its current state. Every
   * snapshot has a row of e unless the client has its state, or a snapshot that has it is under
   * way. So a snapshot without such a row repeats the state if none was lost since that, or in
   * the time after which the server sends the row again. Of a computed body a row is sent only
   * after a disturbance.
   */
  #knownUntil(r: Replica, e: Entity): number {
    if (e.isComputed) return Math.max(r.bodies!.exact(e.index, scratch), e.tick)
    const since = r.ackTick(Math.min(r.acks.run, 63))
    const resend = this.#session.welcome ? resendSnapshots * this.#session.intervalTicks : 0
    return r.tick <= e.tick || (e.tick < since && r.tick - since <= resend) ? e.tick : r.tick
  }

  #forgetInputs(which: (tick: number) => boolean): void {
    this.#ticks.forEach((t, i) => {
      if (which(t)) this.#ticks[i] = 0
    })
  }

  /** truncate drops the predicted states after tick. */
  #truncate(tick: number): void {
    for (; this.#newest > Math.max(tick, this.#confirmed); this.#newest--) this.#effects.drop(this.#newest)
  }

  /** target returns the newest tick to predict. */
  #target(): number {
    return Math.max(this.#confirmed, Math.min(this.#lastInput, this.#confirmed + this.#window - 1))
  }

  /** start begins to predict from the state of e at tick. */
  #start(e: Entity, tick: number): void {
    const s: Struct = Object.create(null)
    for (const p of this.#parts) s[p.component.name] = p.zero()
    this.#states[this.#slotOf(tick)] = s as S
    this.#restore(e, tick)
    this.#confirmed = this.#newest = tick
    this.#running = true
    this.#paused = false
    let held = 0
    for (const t of this.#ticks) if (t <= tick && t > held) held = t
    this.#hold(held)
    this.#applied = 0
    this.#noteApplied()
    this.#run(tick + 1, this.#target())
  }

  /** hold makes the recorded input of a tick the held one; 0 is none. */
  #hold(tick: number): void {
    this.#heldTick = tick
    this.#held = tick > 0 ? this.#inputs[this.#slotOf(tick)]! : (zeroOf(this.#session.inputShape!) as I)
  }

  #noteApplied(): void {
    const r = this.#session.replica!
    if (r.tick === this.#confirmed) this.#applied = r.input
  }

  /** stop drops the prediction: the entity died, left view or is no longer controlled. */
  #stop(): void {
    if (!this.#running) return
    this.#truncate(this.#confirmed)
    this.#running = this.#paused = this.#drawn = false
    for (const p of this.#parts) p.offset.fill(0)
  }

  /** resume drops the inputs that were under way when the connection broke, or are too late at tick. */
  #resume(tick: number): void {
    const applied = this.#session.replica!.input
    this.#forgetInputs((t) => t > applied && t <= Math.max(this.#lostInput, tick))
    if (applied !== 0 && this.#hasInput(applied)) this.#hold(applied)
  }

  /** confirm compares the server's state at tick with the predicted one, and corrects the prediction if they differ (C7). */
  #confirm(e: Entity, tick: number): void {
    // If the game makes no inputs, the server holds the last one.
    if (!this.#paused && tick > this.#newest && tick - this.#confirmed < this.#window) this.#run(this.#newest + 1, tick)
    const known = tick <= this.#newest && !this.#paused && this.#running
    const found = known ? this.#compare(e, tick) : 'none'
    if (found !== 'none') this.#counts.agreed++
    if (found === 'exact') {
      this.#accept(tick)
      this.#run(this.#newest + 1, this.#target())
      return
    }
    const before = this.#running && this.#drawn ? this.#interpolate(this.#drawnTick) : undefined
    if (this.#paused) this.#resume(tick)
    if (!known) {
      this.#undoUnapplied(tick)
      this.#states[this.#slotOf(tick)] = copyOf(this.at(this.#newest))
    } else if (found === 'none') {
      if (this.#explained(e, tick)) this.#counts.missed++
      this.#counts.corrected++
    }
    this.#restore(e, tick)
    this.#accept(tick)
    this.#truncate(this.#target())
    this.#run(tick + 1, this.#target())
    if (this.#running && before) this.#blend(before, this.#interpolate(this.#drawnTick))
  }

  /**
   * explained searches inputs with which step gives the server's state at tick, where the server
   * missed some or applied them late, and predicts again up to tick with them. The state then
   * keeps its precision. If there are none, it predicts as if all inputs that the server had
   * applied by then had been in time.
   */
  #explained(e: Entity, tick: number): boolean {
    const r = this.#session.replica!
    const most = Math.min(tick, r.input)
    const from = [this.#heldTick, ...this.#ticks]
      .filter((t) => t >= this.#applied && t <= most && (t > 0 || this.#heldTick === 0))
      .sort((a, b) => b - a)
    if (from.length === 0) return false
    const inputOf = (t: number): I => (t > 0 && this.#hasInput(t) ? this.#inputs[this.#slotOf(t)]! : this.#held)
    this.#trying = true
    const inputs = guess([...new Set(from)], this.#confirmed + 1, tick, (t, input) => {
      if (this.#failed || (t === tick && tick === r.tick && input !== r.input)) return false
      this.#callStep(t, inputOf(input))
      return !this.#failed && (t < tick || this.#compare(e, tick) !== 'none')
    })
    this.#trying = false
    for (let t = this.#confirmed + 1; t <= tick && !this.#failed; t++) {
      const input = inputs ? inputs[t - this.#confirmed - 1] : from.find((in_) => in_ <= t)
      this.#runTick(t, input === undefined ? this.#held : inputOf(input))
    }
    return inputs !== undefined && !this.#failed
  }

  /** accept makes tick the confirmed one. */
  #accept(tick: number): void {
    let t = tick
    const least = Math.max(this.#confirmed, tick - this.#window, 0)
    while (t > least && !this.#hasInput(t)) t--
    if (t > least) this.#hold(t)
    this.#confirmed = tick
    this.#noteApplied()
    this.#paused = false
    this.#newest = Math.max(this.#newest, tick)
  }

  /** run predicts the ticks from a tick whose predecessor has a state. */
  #run(from: number, to: number): void {
    let input = this.#held
    for (let t = this.#confirmed + 1; t <= to && !this.#failed; t++) {
      if (this.#hasInput(t)) input = this.#inputs[this.#slotOf(t)]!
      if (t >= from) this.#runTick(t, input)
    }
  }

  #runTick(t: number, input: I): void {
    if (t <= this.#newest) this.#counts.replayed++
    this.#effects.begin(t)
    this.#callStep(t, input)
    if (this.#failed) return
    this.#effects.end(t)
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
      this.#effects.drop(t)
      this.#stop()
    } finally {
      this.#stepping = 0
    }
  }

  #restore(e: Entity, tick: number): void {
    for (const p of this.#parts) p.adopt(this.at(tick)[p.component.name], e, this.#session.replica!.bodies)
  }

  #compare(e: Entity, tick: number): Agreement {
    let found: Agreement = 'exact'
    for (const p of this.#parts) {
      const part = p.compare(this.at(tick)[p.component.name], e, this.#session.replica!.bodies)
      if (part === 'none') return part
      if (part === 'near') found = part
    }
    return found
  }

  /** withTexts gives s the newest texts. */
  #withTexts(s: S): S {
    const e = this.#entity()
    if (e) for (const p of this.#parts) p.setTexts(s[p.component.name], e)
    return s
  }

  /** interpolate returns the state at a tick with fractions. */
  #interpolate(tick: number): S {
    tick = Math.min(Math.max(tick, this.#confirmed), this.#newest)
    const from = Math.floor(tick)
    if (from === tick) return copyOf(this.at(from))
    const s = copyOf(this.at(from + 1))
    for (const p of this.#parts)
      p.back(this.at(from)[p.component.name], s[p.component.name], from + 1 - tick, this.#snap)
    return s
  }

  /** blend adds to the offset what makes now be drawn as before was. */
  #blend(before: S, now: S): void {
    for (const p of this.#parts) p.blendIn(now[p.component.name], before[p.component.name], this.#snap)
  }

  /** undoUnapplied drops the effects of the ticks up to one that are not predicted again and whose inputs the server has not applied. */
  #undoUnapplied(tick: number): void {
    const first = Math.max(this.#confirmed, this.#session.replica!.input) + 1
    for (let t = first; t <= Math.min(this.#newest, tick); t++) this.#effects.drop(t)
  }

  #deliverUndone(): void {
    for (let u = this.#effects.undone.shift(); u; u = this.#effects.undone.shift()) {
      const { tick, key } = u
      this.#counts.undone++
      guard(() => this.#undo?.(tick, key))
    }
  }
}
