// The interface between a session and the prediction of its controlled entity.

import type { Struct } from './values.ts'

/** The prediction of a session. Games bundle its code only if they call predict. */
export interface Predictor {
  /** Records the input of a tick and predicts that tick. */
  recordInput(tick: number, input: Struct): void
  /** Compares the prediction with the newest state of the server. It is called after everything received is applied. */
  reconcile(): void
  /** Drops everything at the start of a session, which may have another schema. */
  restart(tickHz: number): void
  /** Freezes the predicted state until the session has resumed and received a state. */
  pause(): void
}
