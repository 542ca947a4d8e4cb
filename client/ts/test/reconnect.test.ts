// When a client tries to connect again.

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { Client } from '../src/client.ts'
import type { WireError } from '../src/codes.ts'
import { Type } from '../src/messages.ts'
import * as server from './server.ts'
import { Stage } from './stage.ts'

test('a first join meets the end of a server', async () => {
  const cases: [ends: number[], joins: boolean, attempts: number, giveUp?: number][] = [
    [[7], true, 2],
    [[7, 7], true, 3],
    [[7, 7, 7], false, 3],
    [[6], false, 1],
    [[7, 6], false, 2],
    [[7], false, 1, 0],
  ]
  for (const [ends, joins, attempts, giveUp] of cases) {
    const s = new Stage()
    const connecting = Client.connect(s.config(giveUp === undefined ? {} : { giveUp }))
    let error: unknown
    connecting.catch((e) => (error = e))
    for (const [i, code] of ends.entries()) {
      await s.dialled(i + 1)
      s.link.deliver(server.end(Type.refused, code, ''))
      mock.timers.tick(600)
    }
    if (joins) {
      await s.dialled(attempts)
      s.link.deliver(server.welcome({}))
      const c = await connecting
      assert.deepEqual(
        s.states.map((x) => x.state),
        ['joined'],
      )
      c.close()
    } else {
      await assert.rejects(connecting)
      assert.equal((error as WireError).code, ends.at(-1))
    }
    assert.equal(s.links.length, attempts)
  }
})

test('connections that last a while keep the first, short delay', async () => {
  const clock = { t: 1e6 }
  const real = performance.now
  performance.now = () => clock.t
  try {
    for (const [lasts, delay] of [
      [3000, 250],
      [10, 5000],
    ] as const) {
      const s = await new Stage().join()
      for (let i = 2; i < 12; i++) {
        clock.t += lasts
        s.link.break(new Error('handed over'))
        s.client.update()
        if (lasts < delay && i === 11) {
          mock.timers.tick(delay / 2 - 1)
          assert.equal(s.links.length, i - 1)
        }
        mock.timers.tick(delay)
        await s.dialled(i)
        s.link.deliver(server.welcome({ text: '', schema: s.link.hello().schema, resumed: true }))
      }
      s.client.close()
    }
  } finally {
    performance.now = real
  }
})
