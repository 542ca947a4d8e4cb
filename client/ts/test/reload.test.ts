// A session that outlives its page.

import assert from 'node:assert/strict'
import { afterEach, beforeEach, mock, test } from 'node:test'
import { Client } from '../src/client.ts'
import { Code } from '../src/codes.ts'
import { newHandle } from '../src/handles.ts'
import { noStructure } from '../src/limits.ts'
import { Type } from '../src/messages.ts'
import { simulation } from '../src/simulation.ts'
import * as server from './server.ts'
import { Stage } from './stage.ts'

/** The browser's storage of one tab, and its page's listeners. */
let stored: Map<string, string>
let listeners: Map<string, Set<() => void>>
const happen = (name: string): void => {
  for (const f of [...(listeners.get(name) ?? [])]) f()
}

beforeEach(() => {
  stored = new Map()
  listeners = new Map()
  Object.assign(globalThis, {
    document: { hidden: false },
    sessionStorage: {
      getItem: (k: string) => stored.get(k) ?? null,
      setItem: (k: string, v: string) => stored.set(k, v),
      removeItem: (k: string) => stored.delete(k),
    },
    addEventListener: (name: string, f: () => void) => listeners.set(name, (listeners.get(name) ?? new Set()).add(f)),
    removeEventListener: (name: string, f: () => void) => listeners.get(name)?.delete(f),
  })
})
afterEach(() => {
  for (const name of ['document', 'sessionStorage', 'addEventListener', 'removeEventListener'])
    Reflect.deleteProperty(globalThis, name)
})

/** Leaves the page of s. */
function leave(s: Stage): void {
  happen('pagehide')
  assert.equal(s.link.closed, Code.timeout, 'the server waits for the next page')
  listeners.clear()
}

/** Connects from the next page, and returns its Hello. */
async function nextPage(s: Stage, config: Parameters<Stage['config']>[0] = {}): Promise<server.HelloSeen> {
  const connecting = Client.connect(s.config(config))
  connecting.then(
    (c) => (s.client = c),
    () => {},
  )
  await s.dialled(1)
  return s.link.hello()
}

const settle = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
}

test('a reload resumes the session, with an empty view', async () => {
  const first = await new Stage().join({}, { session: 5, room: 'match/17', structure: 0 })
  first.link.deliver(server.structure(1, server.enter(5, 3)))
  first.client.update()
  assert.equal(stored.size, 0, 'a duplicated tab finds nothing')
  leave(first)
  assert.equal(stored.size, 1)

  const second = new Stage()
  const hello = await nextPage(second)
  assert.equal(stored.size, 0)
  assert.deepEqual(
    [hello.session, [...hello.secret], hello.structure, hello.room, hello.epoch],
    [5n, [...new Uint8Array(16).fill(9)], noStructure, 'match/17', 0n],
  )
  second.link.deliver(server.welcome({ session: 5, room: 'match/17', structure: 2, commands: 7 }))
  await settle()
  assert.deepEqual(
    second.states.map((x) => [x.state, x.resumed, x.restored, x.moved, x.newWorld]),
    [['joined', false, true, false, false]],
  )
  second.link.deliver(server.structure(3, server.enter(5, 3)))
  second.client.update()
  assert.equal(second.client.resolve(newHandle(5, 3)), 'live')

  await second.lose()
  const again = second.link.hello()
  assert.deepEqual([again.session, again.structure], [5n, 3], 'and then as any session')
  leave(second)
})

test('what a reload finds ended begins a new session', async () => {
  const first = await new Stage().join({}, { session: 5 })
  leave(first)
  const second = new Stage()
  await nextPage(second)
  second.link.deliver(server.welcome({ session: 6, structure: 0 }))
  await settle()
  assert.deepEqual(
    second.states.map((x) => [x.state, x.restored]),
    [['joined', false]],
  )
  second.client.close()
  happen('pagehide')
  assert.equal(stored.size, 0, 'a session that was left is not kept')
})

test('a room that is gone does not keep the page out', async () => {
  const first = await new Stage().join({ room: 'lobby' }, { session: 5, room: 'match/17' })
  leave(first)
  const second = new Stage()
  assert.equal((await nextPage(second, { room: 'lobby' })).room, 'match/17')
  const rooms: string[] = []
  for (let n = 2; rooms.at(-1) !== 'lobby' && n < 6; n++) {
    second.link.deliver(server.end(Type.refused, Code.noRoom))
    await settle()
    mock.timers.tick(1000)
    await second.dialled(n)
    rooms.push(second.link.hello().room)
  }
  assert.equal(rooms.at(-1), 'lobby')
  second.link.deliver(server.welcome({ session: 8, room: 'lobby' }))
  await settle()
  assert.equal(second.client.state, 'joined')
  second.client.close()
})

test('a page that could not connect leaves the session for the next attempt', async () => {
  const first = await new Stage().join({}, { session: 5 })
  leave(first)
  const down = new Stage()
  down.dead.add('https://game.example:7777/worldd')
  await assert.rejects(Client.connect(down.config({ giveUp: 0 })), /no answer/)
  const second = new Stage()
  assert.equal((await nextPage(second)).session, 5n)
  happen('pagehide')
  assert.equal(stored.size, 1, 'so does a page that was left meanwhile')
})

test('abilities are those with which the session began', async () => {
  for (const [before, after, abilities, session] of [
    [undefined, simulation, 0, 5n],
    [simulation, undefined, 0, 0n],
    [simulation, simulation, 1, 5n],
  ] as const) {
    stored.clear()
    const first = await new Stage().join(before ? { simulation: before } : {}, { session: 5 })
    leave(first)
    const second = new Stage()
    const hello = await nextPage(second, after ? { simulation: after } : {})
    assert.deepEqual([hello.abilities, hello.session], [abilities, session])
    second.link.deliver(server.end(Type.refused, 6))
    await settle()
  }
})

test('resume: false keeps nothing, and storage that throws or has something else does no harm', async () => {
  const s = await new Stage().join({ resume: false })
  happen('pagehide')
  assert.deepEqual([stored.size, s.link.closed], [0, undefined])
  s.client.close()

  const t = await new Stage().join()
  Object.assign(globalThis.sessionStorage, {
    setItem: () => {
      throw new Error('QuotaExceededError')
    },
  })
  happen('pagehide')
  t.client.close()
  for (const text of ['{', '7', '[1,2,3]', '["u","x","7",[],"",true]']) {
    Object.assign(globalThis.sessionStorage, { getItem: () => text })
    const u = await new Stage().join()
    u.client.close()
  }
})

test('a page that is shown again keeps its session to itself', async () => {
  const s = await new Stage().join({}, { session: 5 })
  happen('pagehide')
  assert.equal(stored.size, 1)
  happen('pageshow')
  assert.equal(stored.size, 0)
  s.client.close()
})
