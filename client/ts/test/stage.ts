// A client with links and a clock that the test controls.

import assert from 'node:assert/strict'
import { mock } from 'node:test'
import { Client } from '../src/client.ts'
import type { Config, StateChange } from '../src/client_config.ts'
import { defaultTables } from '../src/tables.ts'
import * as server from './server.ts'

await defaultTables() // load them first: afterwards clients wait for no I/O

mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A client and the links that it has dialled. */
export class Stage {
  readonly links: server.Link[] = []
  readonly urls: string[] = []
  readonly states: StateChange[] = []
  /** Addresses that refuse, and ones that never answer. */
  readonly dead = new Set<string>()
  readonly silent = new Set<string>()
  client!: Client

  get link(): server.Link {
    return this.links.at(-1)!
  }

  config(more: Partial<Config> = {}): Config {
    return {
      url: 'https://game.example:7777/worldd',
      state: (s) => this.states.push(s),
      dial: async (url) => {
        this.urls.push(url)
        if (this.dead.has(url)) throw new Error('no answer')
        if (this.silent.has(url)) await new Promise(() => {})
        this.links.push(new server.Link())
        return this.link
      },
      ...more,
    }
  }

  async join(more: Partial<Config> = {}, welcome: server.WelcomeOptions = {}): Promise<this> {
    const connecting = Client.connect(this.config(more))
    await this.dialled(1)
    assert.deepEqual([this.link.hello().schema], [0n])
    this.link.deliver(server.welcome(welcome))
    this.client = await connecting
    return this
  }

  /** Waits for the nth connection to be attached. */
  async dialled(n: number): Promise<void> {
    for (let i = 0; i < 1000 && (this.links.length < n || !this.links[n - 1]!.arrived); i++) await turn()
    assert.equal(this.links.length, n)
  }

  /** Breaks the connection, and waits for the next one. */
  async lose(): Promise<void> {
    const n = this.links.length
    this.link.break(new Error('gone'))
    this.client.update()
    assert.equal(this.client.state, 'reconnecting')
    mock.timers.tick(6000)
    await this.dialled(n + 1)
  }
}
