// The player's own avatar. It is predicted in games whose avatars move as the demo's.

import { type Client, type FieldCorrections, type Message, type Prediction, predict } from '../src/index.ts'
import { type Avatar, type Motion, type Stick, steer } from './steering.ts'

type State = { body: Avatar }

/** The part of the demo's answer to the command describe that steering needs. */
interface Rules {
  readonly Speed: number
  readonly HalfX: number
  readonly HalfZ: number
}

function has(m: Message | undefined, ...paths: string[]): boolean {
  return m !== undefined && paths.every((path) => m.fields.some((f) => f.path === path))
}

interface AvatarStats {
  readonly ahead: number
  readonly agreed: number
  readonly corrected: number
  readonly late: number
  readonly fields: readonly FieldCorrections[]
}

/** Predicts the entity that the client controls. */
export class OwnAvatar {
  readonly #client: Client
  #motion: Motion | undefined
  #prediction: Prediction<State> | undefined

  constructor(c: Client) {
    this.#client = c
    void this.ask()
  }

  /** Asks the game how avatars move. Call it at the start of each session. */
  async ask(): Promise<void> {
    const c = this.#client
    this.#motion = undefined
    const describe = c.schema.commands.find((k) => k.name === 'describe')
    if (!has(c.schema.input, 'X', 'Z') || !describe?.args || !has(describe.answer, 'Speed', 'HalfX', 'HalfZ')) return
    const { answer } = await c.do('describe')
    if (!answer || !c.welcome) return
    const { Speed, HalfX, HalfZ } = answer as unknown as Rules
    this.#motion = { tickHz: c.welcome.tickHz, speed: Speed, halfX: HalfX, halfZ: HalfZ }
    this.#prediction ??= predict<State, Stick>(c, ['body'], (_, state, stick) => {
      if (this.#motion) steer(this.#motion, state.body, stick)
    })
  }

  /** Whether the game has answered how avatars move. */
  get isPredicted(): boolean {
    return this.#motion !== undefined
  }

  /** Returns where to draw the avatar after render. It is undefined while the avatar is not predicted. */
  draw(): readonly number[] | undefined {
    return this.#motion && this.#prediction?.draw()?.body.Position
  }

  /**
   * The ticks that the prediction is ahead of the server, and counts of the server's states:
   * those that agreed, those that corrected it, the corrections due to late inputs, and the
   * corrected fields.
   */
  get stats(): AvatarStats {
    const s = this.#prediction?.stats
    return s
      ? { ahead: s.predicted - s.confirmed, agreed: s.agreed, corrected: s.corrected, late: s.missed, fields: s.fields }
      : { ahead: 0, agreed: 0, corrected: 0, late: 0, fields: [] }
  }
}
