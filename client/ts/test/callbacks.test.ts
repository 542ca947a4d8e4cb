// Callbacks that close or replace the connection on which they are called.

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import type { StateChange } from '../src/client_config.ts'
import { Code, WireError } from '../src/codes.ts'
import { type Handle, indexOf, newHandle } from '../src/handles.ts'
import { Type } from '../src/messages.ts'
import { MsgpackWriter } from '../src/msgpack.ts'
import { Session } from '../src/session.ts'
import { defaultTables } from '../src/tables.ts'
import * as server from './server.ts'
import { Stage } from './stage.ts'

const tables = await defaultTables()
const first = { ceiling: 99 }
const second = { epoch: 8, floor: 101, ceiling: 199, text: '', structure: 2 }

/** Returns a session that calls f for each entity that enters, leaves or dies. */
function join(f: (s: Session) => void, welcomed = () => {}): Session {
  const call = (): void => f(s)
  const s: Session = new Session({ tables, observer: { enter: call, leave: call, destroy: call } }, { welcomed })
  s.receiveStream(server.welcome(first))
  s.takeStream()
  return s
}

/** Returns the Hello that is all that a session has sent. */
function helloOf(s: Session): server.HelloSeen {
  const link = new server.Link()
  link.sendStream(s.takeStream())
  const hello = link.hello()
  assert.equal(link.next(), undefined, 'nothing else')
  return hello
}

for (const reconnects of [false, true]) {
  test(`a callback during a Welcome ${reconnects ? 'reconnects' : 'closes'}: the next Hello asks for the session that has begun`, () => {
    for (const o of [second, { ...first, session: 6, text: '' }]) {
      let on = false
      let joined = 0
      const s = join(
        (s) => {
          if (!on) return
          s.lost(new Error('closed'))
          if (reconnects) s.reconnect()
        },
        () => joined++,
      )
      s.receiveStream(server.structure(1, server.enter(5, 3)))
      if (o !== second) {
        s.lost(new Error('gone'))
        s.reconnect()
        s.takeStream()
      }
      on = true
      s.receiveStream(server.welcome(o))
      on = false
      assert.deepEqual([s.joined, joined], [false, 1])
      assert.throws(() => s.do('buy', { Count: 1 }), { name: 'NotJoinedError' })
      if (!reconnects) {
        assert.equal(s.takeStream().length, 0)
        s.reconnect()
      }
      const structure = o === second ? 2 : 0
      const hello = helloOf(s)
      assert.deepEqual([hello.session, hello.structure], [o === second ? 1n : 6n, structure])
      s.receiveStream(server.welcome({ ...o, structure, resumed: true }))
      assert.equal(s.joined, true)
    }
  })
}

test('a callback in the middle of a message reconnects: the next Hello has the whole message', () => {
  let on = true
  const s = join((s) => {
    if (!on) return
    on = false
    s.lost(new Error('closed'))
    s.reconnect()
  })
  s.receiveStream(server.structure(1, server.destroy(1, 1), server.destroy(2, 1), server.destroy(3, 1)))
  assert.equal(s.joined, false)
  assert.equal(helloOf(s).structure, 3)
})

test('bytes of a connection that a callback has closed are dropped', () => {
  const control = new MsgpackWriter()
  control.array(1)
  control.u64(5n)
  const rests = [
    server.welcome({ ...first, session: 6 }),
    server.frame(Type.control, control.take()),
    Uint8Array.of(1, 99),
  ]
  for (const rest of rests) {
    for (const reconnects of [false, true]) {
      const s = join((s) => {
        s.lost(new Error('closed'))
        if (reconnects) s.reconnect()
      })
      s.receiveStream(Uint8Array.of(...server.structure(1, server.destroy(5, 1)), ...rest))
      assert.equal(s.joined, false)
      if (!reconnects) {
        s.receiveStream(rest)
        assert.equal(s.joined, false)
        s.reconnect()
      }
      assert.equal(helloOf(s).structure, 1)
      s.receiveStream(server.welcome({ ...first, text: '', structure: 1, resumed: true }))
      assert.equal(s.joined, true)
    }
  }
})

/** Returns a stage whose client closes when it enters a state. */
async function closesWhen(state: StateChange['state']): Promise<Stage> {
  const s: Stage = new Stage()
  return s.join({
    state: (x) => {
      s.states.push(x)
      if (x.state === state) s.client.close()
    },
  })
}

test('a client that a callback closes reports its end once, and dials no more', async () => {
  for (const [name, lose] of Object.entries<(s: Stage) => void>({
    'the link breaks': (s) => s.link.break(new Error('gone')),
    'the server sends it elsewhere': (s) => s.link.deliver(server.end(Type.goodbye, 23, 'elsewhere.example:7')),
  })) {
    const s = await closesWhen('reconnecting')
    lose(s)
    assert.throws(() => s.client.update(), { code: 0 }, name)
    mock.timers.tick(60_000)
    for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve))
    assert.equal(s.links.length, 1, name)
    assert.deepEqual(
      s.states.map((x) => x.state),
      ['joined', 'reconnecting', 'ended'],
      name,
    )
  }
})

test('a client that a callback closes while its link breaks reports its end once', async () => {
  for (const error of [new Error('gone'), new WireError(Code.badMessage)]) {
    const s: Stage = new Stage()
    await s.join({ observer: { destroy: () => s.client.close() } })
    s.link.deliver(server.structure(1, server.destroy(5, 3)))
    s.link.break(error)
    assert.throws(() => s.client.update(), { code: 0 })
    mock.timers.tick(60_000)
    for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve))
    assert.equal(s.links.length, 1)
    assert.deepEqual(
      s.states.map((x) => x.state),
      ['joined', 'ended'],
    )
  }
})

test('after a callback has ended the world, the rest of its message is dropped', () => {
  const calls: string[] = []
  const note = (name: string, slot: number): void => {
    calls.push(`${name} ${slot}`)
    if (name === 'enter') s.lost(new WireError(Code.epochMismatch))
  }
  const s: Session = new Session({
    tables,
    observer: {
      enter: (e) => note('enter', e.index),
      leave: (h) => note('leave', indexOf(h)),
      destroy: (h) => note('destroy', indexOf(h)),
    },
  })
  s.receiveStream(server.welcome(first))
  s.receiveStream(server.structure(1, server.enter(5, 3), server.enter(6, 3)))
  assert.deepEqual(calls, ['enter 5', 'destroy 5'])
  assert.equal(s.resolve(newHandle(6, 3)), 'stale')
})

test('after an event has ended the world, nothing enters', () => {
  const calls: string[] = []
  const s: Session = new Session({ tables, observer: { enter: (e) => calls.push(`enter ${e.index}`) } })
  s.events.on('chime', () => s.lost(new WireError(Code.epochMismatch)))
  s.receiveStream(server.welcome(first))
  s.receiveStream(server.structure(1, Uint8Array.of(5, 1, 200), server.enter(5, 3)))
  assert.deepEqual(calls, [])
  assert.equal(s.replica!.all.length, 0)
  assert.equal(s.welcome, undefined)
})

test('a callback ends the world at the Welcome of another session: that is dropped too', () => {
  const calls: string[] = []
  let on = false
  const note = (name: string, h: Handle): void => {
    calls.push(`${name} ${indexOf(h)}`)
    if (!on) return
    on = false
    s.lost(new WireError(Code.epochMismatch))
  }
  const s: Session = new Session({
    tables,
    observer: { leave: (h) => note('leave', h), destroy: (h) => note('destroy', h) },
  })
  s.receiveStream(server.welcome(first))
  s.receiveStream(server.structure(1, server.enter(5, 3), server.enter(6, 3)))
  s.lost(new Error('gone'))
  s.reconnect()
  s.takeStream()
  on = true
  s.receiveStream(server.welcome({ ...first, session: 6, text: '' }))
  assert.deepEqual(calls.sort(), ['destroy 5', 'destroy 6', 'leave 5'])
  assert.deepEqual([s.welcome, s.replica!.all.length], [undefined, 0])
  s.reconnect()
  assert.equal(helloOf(s).session, 0n)
})
