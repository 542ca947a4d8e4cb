// The configuration of a prediction, and its interface for games.

import type { Struct } from './values.ts'

/** The configuration of predict. */
export interface PredictConfig {
  /**
   * The largest misprediction that is blended, in the units of the field: by default 2. A
   * vector or number with a larger error is drawn at its new value at once. Angles and
   * rotations are always blended.
   */
  readonly snap?: number
  /**
   * Called for an effect that once has reported and that will not happen: its tick was
   * dropped, or predicted again without the effect.
   */
  readonly undo?: (tick: number, key: number) => void
}

/**
 * The corrections of one field of the predicted entity. The distance of a correction is how far
 * the server's value is from the predicted one: in the units of the field, in radians for angles
 * and rotations, 1 for booleans and handles, and Infinity if one of the two is not finite.
 */
export interface FieldCorrections {
  /** The names as the game declares them: body, Position[0]. */
  readonly component: string
  readonly field: string
  count: number
  /** The tick of the newest correction, and its distance. */
  tick: number
  last: number
  /** The largest distance. */
  largest: number
}

/** Counts the work of a prediction. */
export class PredictionStats {
  /** The newest tick predicted, 0: none. */
  predicted = 0
  /** The newest tick whose state the server has sent, 0: none. */
  confirmed = 0
  /** The states of the server that equalled the prediction after quantisation. */
  agreed = 0
  /** The states of the server that differed. */
  corrected = 0
  /** The corrections due to inputs that the server missed or applied late. */
  missed = 0
  /** The ticks that were predicted again. */
  replayed = 0
  /** The inputs that were not predicted because too many ticks were unconfirmed. */
  stalled = 0
  /** The effects for which undo was called. */
  undone = 0
  /** The fields of the states that differed, in the order of their first corrections. */
  fields: FieldCorrections[] = []
}

/** Reports that the step function threw cause. The prediction is off; the session continues. */
export class StepError extends Error {
  readonly tick: number

  constructor(tick: number, cause: unknown) {
    super(`the step function threw at tick ${tick}: the prediction is off`, { cause })
    this.name = 'StepError'
    this.tick = tick
  }
}

/** Moves a player by one tick. It changes state, not input. */
export type Step<S, I> = (tick: number, state: S, input: I) => void

/** The prediction of the entity that a session controls. */
export interface Prediction<S extends Struct> {
  /**
   * A copy of the newest predicted state, at tick stats.predicted, for game rules. It is
   * undefined while nothing is predicted: no entity is controlled, it is not in view or lacks
   * a component, or there is an error.
   */
  readonly state: S | undefined
  /**
   * Returns the state to draw at the newest moment that render returned. It is undefined while
   * nothing is predicted: then draw the entity as all others. Motion within a tick is
   * interpolated. Mispredictions are blended: half of an error is gone after 80 ms.
   */
  draw(): S | undefined
  /**
   * Reports whether to start an effect, such as a sound, that step asks for at its tick under
   * a key that is unique in the tick. It is true when the effect is first predicted, and false
   * when the tick is predicted again. If the tick's new prediction does not ask for the
   * effect, undo is called. Effects of a tick that the server has confirmed are final. It is
   * false outside step, and for more than 8 effects of a tick.
   */
  once(tick: number, key: number): boolean
  /** Set if the step function threw. */
  readonly error: StepError | undefined
  /** The counters since predict. */
  readonly stats: Readonly<PredictionStats>
}
