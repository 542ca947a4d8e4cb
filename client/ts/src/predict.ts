// Prediction of the controlled entity, as in the Go client. Games that do not use it do not
// bundle its code.

import type { Client } from './client.ts'
import type { PredictConfig, Prediction, Step } from './predict_config.ts'
import { PredictionEngine } from './predict_engine.ts'
import { Session } from './session.ts'
import type { Struct } from './values.ts'

/**
 * Predicts the controlled entity from the inputs of setInput, without waiting for the server.
 * A session has at most one prediction, for all entities that it comes to control.
 *
 * The step function moves a player by one tick, as the server's game does. input is the newest
 * input that the game has received from the player, quantised; before the first, all its
 * fields are 0. state has the components by name: state.body.Position[0]. Properties that the
 * function adds are predicted too, but are absent when the prediction starts. States are
 * copied: they must hold plain data. To agree with a server that computes with float32, round
 * each result with Math.fround.
 *
 * @param step - depends on its arguments alone, and calls no method that changes the client
 */
export function predict<S extends Struct = Struct, I extends Struct = Struct>(
  c: Client | Session,
  components: readonly string[],
  step: Step<S, I>,
  config: PredictConfig = {},
): Prediction<S> {
  const session = c instanceof Session ? c : c.session
  const { declared } = session
  if (declared && !declared.input) throw new TypeError('the schema declares no input')
  for (const name of components)
    if (declared && !declared.components.some((x) => x.name === name))
      throw new TypeError(`the schema has no component ${name}`)
  if (components.length === 0 || !((config.snap ?? 0) >= 0))
    throw new RangeError('want a component, and a snap of 0 or more')
  const p = new PredictionEngine<S, I>(session, components, step, config)
  session.attachPrediction(p)
  if (session.welcome) p.restart(session.welcome.tickHz)
  p.reconcile()
  return p
}
