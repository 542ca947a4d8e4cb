// Compares what a client predicted of its avatar, which is exact, with what the server did.

import { type Avatar, type Motion, type Stick, steer } from '../../page/steering.ts'
import type { Client } from '../../src/index.ts'
import { State } from '../../src/motion/columns.ts'
import { predict } from '../../src/predict.ts'
import { PredictionEngine } from '../../src/predict_engine.ts'

/** The motion of avatars in the world storm. */
const motion: Motion = { tickHz: 60, speed: 6, halfX: 256, halfZ: 256 }

/** Predicts the controlled entity of a client. */
export class Foretold {
  /** Counts ticks whose prediction had the bits of the server's state. */
  equal = 0
  readonly different: string[] = []
  readonly prediction: PredictionEngine<{ body: Avatar }, Stick & Record<string, number>>
  private readonly client: Client
  private readonly state = new State()
  private exact = false // the newest confirmed state had the server's bits

  constructor(c: Client) {
    this.client = c
    const p = predict<{ body: Avatar }, Stick & Record<string, number>>(c, ['body'], (_, s, stick) =>
      steer(motion, s.body, stick),
    )
    if (!(p instanceof PredictionEngine)) throw new Error('a prediction of another kind')
    this.prediction = p
  }

  /**
   * Updates the client, and compares. Not compared are ticks for which the server lacked an
   * input, and those after a state that came in a row, without its last bits.
   */
  update(): void {
    const { client: c, prediction, state: s } = this
    const { confirmed, predicted, corrected } = prediction.stats
    const before = new Map<number, number[]>()
    for (let t = confirmed + 1; t <= predicted; t++) {
      const { Position, Velocity } = prediction.at(t).body
      before.set(t, [...Position, ...Velocity])
    }
    c.update()
    if (prediction.stats.confirmed === confirmed) return
    const e = c.entity(c.controlled)
    const tick = e ? c.replica.bodies!.newestState(e.index, s) : 0
    const foretold = before.get(tick)
    if (this.exact && foretold && prediction.stats.corrected === corrected) {
      const is = [s.x, s.y, s.z, s.vx, s.vy, s.vz]
      if (foretold.every((v, i) => v === is[i])) this.equal++
      else if (this.different.length < 20) this.different.push(`tick ${tick}: ${is} after ${foretold} was predicted`)
    }
    this.exact = tick === prediction.stats.confirmed
  }
}
