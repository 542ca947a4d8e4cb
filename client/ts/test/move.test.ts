// Moves to another room on one connection: PROTOCOL.md, section 4.2.

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { newHandle } from '../src/handles.ts'
import { version } from '../src/limits.ts'
import { FrameReader, Type } from '../src/messages.ts'
import { Session } from '../src/session.ts'
import type { SessionConfig, SessionHooks, WelcomeKind } from '../src/session_config.ts'
import { simulation } from '../src/simulation.ts'
import { defaultTables } from '../src/tables.ts'
import { schemaText as simulated } from './generated/simulation.ts'
import * as server from './server.ts'
import { Stage } from './stage.ts'

const first = { ceiling: 99, room: 'lobby' }
const second = { epoch: 8, floor: 101, ceiling: 199, text: '', structure: 2, room: 'match/1' }

/** Returns a session in the first room with one entity in view. */
async function join(
  more: Partial<SessionConfig> = {},
  o: server.WelcomeOptions = {},
  hooks: SessionHooks = {},
): Promise<Session> {
  const s = new Session({ tables: await defaultTables(), ...more }, hooks)
  s.receiveStream(server.welcome({ ...first, ...o }))
  s.receiveStream(server.structure(1, server.enter(5, 3)))
  s.takeStream()
  return s
}

/** Returns the types of the messages that a session sent. */
function sent(s: Session): number[] {
  const frames = new FrameReader()
  frames.feed(s.takeStream())
  const types: number[] = []
  while (frames.next()) types.push(frames.type)
  return types
}

test('a move makes every handle stale, and starts all but the session again', async () => {
  const seen: string[] = []
  const s = await join({
    observer: { destroy: (h) => seen.push(`destroy ${h}`), enter: (e) => seen.push(`enter ${e.handle}`) },
    result: (r) => seen.push(r.codeName),
  })
  s.receiveDatagram(server.snapshot(4, 200, 1), 0)
  const provisional = s.provisional()
  s.do('buy', { Count: 1 })
  s.takeStream()
  seen.length = 0
  s.receiveStream(server.welcome(second))
  assert.deepEqual(sent(s), [Type.arrived])
  const old = newHandle(5, 3)
  assert.deepEqual(seen, [`destroy ${old}`, 'unanswered'])
  assert.deepEqual(
    [
      s.resolve(old),
      s.resolve(newHandle(900, 1)),
      s.resolve(newHandle(5, 101)),
      s.resolve(newHandle(5, 201)),
      s.resolve(provisional),
    ],
    ['stale', 'stale', 'pending', 'stale', 'stale'],
  )
  assert.deepEqual(
    [s.replica!.structure, s.replica!.tick, s.replica!.acks.newest, s.controlled, s.welcome!.room],
    [2, 0, 0, 0n, 'match/1'],
  )
  assert.equal(server.inputsOf(s.input(0)!).structure, 2)

  // Late snapshots of the old room change neither clock nor acknowledgements.
  assert.equal(s.receiveDatagram(server.snapshot(5, 203, 1), 0), 'duplicate')
  assert.equal(s.serverTick(0), 0)
  assert.equal(s.receiveDatagram(server.snapshot(6, 9, 2), 0), 'applied')
  assert.deepEqual([s.replica!.tick, s.replica!.acks.newest, s.replica!.acks.low], [9, 6, 0])
  s.receiveStream(server.structure(3, server.enter(5, 101)))
  assert.equal(s.resolve(newHandle(5, 101)), 'live')
  assert.equal(s.resolve(old), 'stale')
})

test('snapshots that overtook the move are applied after it', async () => {
  const s = await join()
  assert.equal(s.receiveDatagram(server.snapshot(4, 200, 1), 0), 'applied')
  assert.equal(s.receiveDatagram(server.snapshot(6, 9, 2), 0), 'held')
  assert.equal(s.receiveDatagram(server.snapshot(7, 12, 3), 0), 'held')
  s.receiveStream(server.welcome(second))
  assert.deepEqual([s.replica!.tick, s.replica!.acks.newest, s.replica!.waiting], [9, 6, 1])
  s.receiveStream(server.structure(3, server.enter(5, 101)))
  assert.deepEqual([s.replica!.tick, s.replica!.acks.newest, s.replica!.waiting], [12, 7, 0])
})

test('a snapshot that overtook the move does not change the clock', async () => {
  const s = await join()
  assert.equal(s.receiveDatagram(server.snapshot(4, 200, 1), 0), 'applied')
  const before = s.serverTick(0)
  assert.equal(s.receiveDatagram(server.snapshot(5, 90_000, 2), 0), 'held')
  assert.equal(s.serverTick(0), before)
})

test('rooms may differ in schema, and in whether they simulate', async () => {
  const s = await join({ simulation })
  assert.equal(s.replica!.bodies, undefined)
  assert.equal(s.receiveDatagram(server.snapshot(6, 9, 2, 1), 0), 'held', 'complete, as only the next room may send')
  s.receiveStream(server.welcome({ ...second, text: simulated, simulate: true }))
  assert.ok(s.replica!.bodies)
  assert.equal(s.schema!.text, simulated)
  assert.equal(s.replica!.tick, 9)
  s.receiveStream(server.welcome({ ...first, epoch: 9, structure: 3 }))
  assert.deepEqual(sent(s).filter((t) => t === Type.arrived).length, 2)
  assert.equal(s.receiveDatagram(server.snapshot(7, 12, 2, 1), 0), 'duplicate', 'of the room before')
  assert.equal(s.replica!.bodies, undefined)
})

test('a move is checked', async () => {
  for (const [why, o] of Object.entries<server.WelcomeOptions>({
    'the same epoch': { epoch: 7 },
    'another session': { session: 2 },
    resumed: { resumed: true },
    commands: { commands: 1 },
    'structure of a new session': { structure: 0 },
    'structure of before': { structure: 1 },
    'a structure record is missing': { structure: 3 },
    'a text that the client has': { text: server.schemaText },
    'no text of another schema': { schema: 5n },
    'another version': { protocol: version + 1 },
    'other tables': { tables: 1 },
    simulate: { simulate: true },
  })) {
    const s = await join()
    assert.throws(() => s.receiveStream(server.welcome({ ...second, ...o })), { code: 1 }, why)
  }
})

test('a client reports its move, and reconnects to the room that it is in', async () => {
  const s = await new Stage().join({ room: 'lobby' }, first)
  s.link.deliver(server.structure(1, server.enter(5, 3)), server.welcome(second))
  s.client.update()
  assert.deepEqual(
    s.states.map((x) => [x.state, x.moved, x.newWorld]),
    [
      ['joined', false, false],
      ['joined', true, false],
    ],
  )
  assert.equal(s.client.welcome!.room, 'match/1')
  await s.lose()
  const hello = s.link.hello()
  assert.deepEqual([hello.room, hello.session, hello.structure], ['match/1', 1n, 2])
  s.link.deliver(server.welcome({ ...second, resumed: true }))
  assert.deepEqual(
    s.states.slice(2).map((x) => [x.state, x.resumed, x.moved]),
    [
      ['reconnecting', false, false],
      ['joined', true, false],
    ],
  )

  // The room has ended: a server that has come back after a crash would open it for those who know its run.
  await s.lose()
  const byRoom = s.link.hello()
  assert.deepEqual([byRoom.room, byRoom.epoch], ['match/1', 0n])
  s.link.deliver(server.end(Type.refused, 24))
  mock.timers.tick(6000)
  await s.dialled(4)
  const byRun = s.link.hello()
  assert.deepEqual([byRun.room, byRun.epoch], ['match/1', s.client.welcome!.epoch])
  s.link.deliver(server.end(Type.refused, 24))
  mock.timers.tick(6000)
  await s.dialled(5)
  assert.equal(s.link.hello().room, 'lobby')
  s.link.deliver(server.end(Type.refused, 24))
  assert.equal(s.client.state, 'ended', 'asked once more')
})

test('a session that moved and came back while its client was away begins again', async () => {
  const s = await new Stage().join({}, first)
  s.link.deliver(server.structure(1, server.enter(5, 3), server.enter(6, 5)), server.structure(3, server.destroy(6, 5)))
  s.client.update()
  await s.lose()
  s.link.deliver(server.welcome({ ...first, text: '', structure: 9 }))
  assert.deepEqual(s.states.at(-1), { state: 'joined', resumed: false, restored: true, moved: false, newWorld: false })
  assert.deepEqual([s.client.resolve(newHandle(5, 3)), s.client.resolve(newHandle(6, 5))], ['pending', 'stale'])
  s.link.deliver(server.structure(10, server.enter(5, 3)))
  s.client.update()
  assert.equal(s.client.resolve(newHandle(5, 3)), 'live')
  s.client.close()
})

test('nothing that callbacks send at a move is of the old room', async () => {
  let refused = 0
  const refuses = () => {
    assert.throws(() => s.do('buy', { Count: 1 }), { name: 'NotJoinedError' })
    refused++
  }
  const hooks = { welcomed: (kind: WelcomeKind) => void (kind === 'moves' && s.do('buy', { Count: 2 })) }
  const s: Session = await join({ observer: { destroy: refuses }, result: refuses }, {}, hooks)
  s.do('buy', { Count: 1 })
  s.takeStream()
  s.receiveStream(server.welcome(second))
  assert.equal(refused, 2)
  assert.deepEqual(sent(s), [Type.arrived, Type.command])
})

test('a session that moved while its client was away begins in the other room', async () => {
  const s = await new Stage().join({}, first)
  s.link.deliver(server.structure(1, server.enter(5, 3)))
  s.client.update()
  await s.lose()
  assert.equal(s.link.hello().structure, 1)
  s.link.deliver(server.welcome({ ...second, structure: 7 }))
  assert.deepEqual(
    s.states.slice(1).map((x) => [x.state, x.resumed, x.moved, x.newWorld]),
    [
      ['reconnecting', false, false, false],
      ['joined', false, true, false],
    ],
  )
  assert.equal(s.link.next(), undefined, 'no Arrived')
  assert.equal(s.client.resolve(newHandle(5, 3)), 'stale')
  s.link.deliver(server.structure(8, server.enter(6, 101)))
  s.client.update()
  assert.equal(s.client.replica.all.length, 1)
  s.client.close()

  for (const o of [{ session: 2 }, { structure: 1 }]) {
    const t = await new Stage().join({}, first)
    t.link.deliver(server.structure(1, server.enter(5, 3)))
    t.client.update()
    await t.lose()
    t.link.deliver(server.welcome({ ...second, structure: 7, ...o }))
    assert.equal(t.client.state, 'ended', JSON.stringify(o))
  }
})
