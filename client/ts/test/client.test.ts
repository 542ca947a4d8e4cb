import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { Client } from '../src/client.ts'
import type { Config } from '../src/client_config.ts'
import { WireError } from '../src/codes.ts'
import { newHandle } from '../src/handles.ts'
import { Type } from '../src/messages.ts'
import { hashOf } from '../src/schema_parser.ts'
import { NotJoinedError, ReceiveError } from '../src/session_errors.ts'
import { simulation } from '../src/simulation.ts'
import { schemaText } from './generated/simulation.ts'
import * as server from './server.ts'
import { Stage } from './stage.ts'

test('a client joins, and shows what it is sent', async () => {
  const events: unknown[] = []
  const s = await new Stage().join()
  s.client.on('chime', (tick, e) => events.push([tick, e.Serial]))
  assert.deepEqual(
    s.states.map((x) => x.state),
    ['joined'],
  )
  s.link.deliver(server.structure(1, server.enter(5, 3), Uint8Array.of(5, 1, 200)))
  assert.equal(s.client.replica.all.length, 0, 'changes are made in update only')
  s.client.update()
  const e = s.client.entity(newHandle(5, 3))!
  assert.deepEqual({ ...e.get('purse') }, { Coins: 5 })
  assert.deepEqual({ ...e.get('name') }, { Name: 'Ada' })
  assert.equal(e.kindName, 'crate')
  for (const name of ['kind', 'mask', 'owned', 'texts', 'tick'])
    assert.throws(() => Object.assign(e, { [name]: 9 }), TypeError, `${name} is for reading`)
  assert.equal(e.get('body'), undefined)
  assert.deepEqual(events, [[1, 200]])
  assert.equal(s.client.resolve(newHandle(5, 5)), 'pending')
  s.link.deliver(server.structure(3, server.destroy(5, 3)))
  s.client.update()
  assert.equal(s.client.resolve(newHandle(5, 3)), 'stale')
  s.client.close()
  assert.equal(s.link.next()?.type, Type.bye)
  assert.equal(s.link.closed, 0)
  assert.throws(() => s.client.update(), WireError)
})

test('a refusal rejects with its code', async () => {
  const s = new Stage()
  const connecting = Client.connect(s.config())
  await s.dialled(1)
  s.link.deliver(server.end(Type.refused, 8))
  await assert.rejects(connecting, { code: 8, codeName: 'unauthorized', fault: 'client', retry: false })
  assert.deepEqual(
    s.states.map((x) => x.state),
    ['ended'],
  )
})

test('a lost connection resumes, with entities, handles and counters as they were', async () => {
  const s = await new Stage().join()
  s.link.deliver(server.structure(1, server.enter(5, 3)))
  s.client.update()
  const e = s.client.entity(newHandle(5, 3))
  const asked = s.client.do('buy', { Count: 3 })
  await s.lose()
  assert.equal((await asked).codeName, 'unanswered')
  await assert.rejects(async () => s.client.do('buy'), NotJoinedError)
  assert.equal(s.client.entity(newHandle(5, 3)), e, 'the replica answers meanwhile')
  const hello = s.link.hello()
  assert.deepEqual([hello.session, hello.structure, hello.secret.length, hello.epoch], [1n, 1, 16, 0n])
  assert.equal(hello.schema, s.client.schema.hash)
  s.link.deliver(server.welcome({ resumed: true, text: '', commands: 1, structure: 1 }))
  assert.deepEqual(
    s.states.map((x) => [x.state, x.resumed, x.newWorld]),
    [
      ['joined', false, false],
      ['reconnecting', false, false],
      ['joined', true, false],
    ],
  )
  s.link.deliver(server.structure(2, server.enter(6, 1)))
  s.client.update()
  assert.equal(s.client.replica.all.length, 2)
  s.client.close()
})

test('the causes of deaths reach the game, of entities in view and of others', async () => {
  const destroyed: unknown[] = []
  const s = await new Stage().join({ observer: { destroy: (h, cause) => destroyed.push([h, cause]) } })
  s.link.deliver(server.structure(1, server.enter(5, 3), server.enter(6, 1)))
  s.client.update()
  s.link.deliver(server.structure(3, server.destroy(5, 3, 7), server.destroy(6, 1), server.destroy(9, 1, 255)))
  s.client.update()
  assert.deepEqual(destroyed, [
    [newHandle(5, 3), 7],
    [newHandle(6, 1), 0],
    [newHandle(9, 1), 255],
  ])
  s.client.close()
})

test('a new session of another world destroys everything', async () => {
  const destroyed: bigint[] = []
  const s = await new Stage().join({ observer: { destroy: (h) => destroyed.push(h) } })
  s.link.deliver(server.structure(1, server.enter(5, 3)))
  s.client.update()
  await s.lose()
  s.link.deliver(server.welcome({ epoch: 8, text: '' }))
  assert.deepEqual(destroyed, [newHandle(5, 3)])
  assert.deepEqual(
    s.states.map((x) => [x.state, x.newWorld]),
    [
      ['joined', false],
      ['reconnecting', false],
      ['joined', true],
    ],
  )
  assert.equal(s.client.resolve(newHandle(5, 3)), 'pending', 'the same handle may name another entity there')
  s.client.close()
})

test('a client follows its session to another server, whose secret it does not learn', async () => {
  const s = await new Stage().join({ token: Uint8Array.of(1) })
  s.link.deliver(server.end(Type.goodbye, 23, 'other.example:7778', Uint8Array.of(2)))
  s.client.update()
  mock.timers.tick(1)
  await s.dialled(2)
  assert.equal(s.urls[1], 'https://other.example:7778/worldd')
  const hello = s.link.hello()
  assert.deepEqual(
    [hello.session, hello.secret.length, hello.schema, [...hello.token]],
    [0n, 0, hashOf(server.schemaText), [2]],
  )
  for (const address of ['evil.example/path:1', 'user@evil.example:1', 'no port', 'a:123456']) {
    const t = await new Stage().join()
    t.link.deliver(server.end(Type.goodbye, 23, address))
    assert.throws(() => t.client.update(), { code: 23 }, address)
  }
  s.client.close()
})

test('a client gives up, after the time that its config says', async () => {
  const s = await new Stage().join({ giveUp: 0 })
  s.link.break(new Error('gone'))
  assert.throws(() => s.client.update(), /gone/)
  assert.equal(s.client.state, 'ended')
})

test('a server that breaks the protocol is told so, and left', async () => {
  const s = await new Stage().join()
  s.link.deliver(server.structure(7, server.enter(5, 3)))
  assert.throws(() => s.client.update(), { code: 1 })
  const bye = s.link.next()
  assert.deepEqual([bye?.type, [...bye!.body]], [Type.bye, [0x92, 1, 0xa0]])
  assert.equal(s.link.closed, 1)
})

test('a silent server loses its connection, but a page that slept checks first', async () => {
  let t = 1e6
  const real = performance.now
  performance.now = () => t
  try {
    const s = await new Stage().join()
    s.client.update()
    t += 60_000 // the page was frozen
    s.client.update()
    assert.equal(s.client.state, 'joined')
    for (let i = 0; i < 9; i++) {
      t += 500
      s.client.update()
    }
    assert.equal(s.client.state, 'reconnecting')
    s.client.close()
  } finally {
    performance.now = real
  }
})

test('a stream that brings nothing while snapshots wait for it loses its connection', async () => {
  let t = 1e6
  const real = performance.now
  performance.now = () => t
  try {
    for (const [structure, state] of [
      [0, 'joined'],
      [1, 'reconnecting'],
    ] as const) {
      const s = await new Stage().join()
      s.client.update()
      for (let i = 1; i < 100; i++) {
        t += 50
        s.link.deliverDatagram(server.snapshot(i, 100 + 3 * i, structure), t)
        s.client.update()
      }
      assert.equal(s.client.state, state, `structure ${structure}`)
      s.client.close()
    }
  } finally {
    performance.now = real
  }
})

test('snapshots are acknowledged, and inputs repeated in datagrams of later ticks', async () => {
  let t = 5000
  const real = performance.now
  performance.now = () => t
  try {
    const s = await new Stage().join()
    for (let i = 1; i <= 5; i++) {
      t += 50
      s.link.deliverDatagram(server.snapshot(i, 100 + 3 * i, 0), t)
      s.client.update()
      s.client.setInput({ X: 0.5 })
    }
    const sent = s.link.datagrams.map(server.inputsOf)
    assert.equal(sent.at(-1)!.newest, 5)
    const { ticks } = sent.at(-1)!
    assert.ok(ticks.length >= 3 && ticks.every((tick, i) => i === 0 || tick < ticks[i - 1]!), `${ticks}`)
    assert.ok(ticks[0]! > 115 && ticks[0]! < 130, `an input for tick ${ticks[0]}`)
    assert.throws(() => s.client.setInput(Uint8Array.of(1)), TypeError)
    s.client.close()
  } finally {
    performance.now = real
  }
})

test('what a callback throws does not stop the replica half way', async () => {
  const thrown: unknown[] = []
  globalThis.reportError = (e: unknown) => thrown.push(e)
  const s = await new Stage().join({
    observer: {
      enter() {
        throw new Error('mine')
      },
    },
  })
  s.link.deliver(server.structure(1, server.enter(5, 3), server.enter(6, 3)))
  s.client.update()
  assert.equal(s.client.replica.all.length, 2)
  assert.equal(thrown.length, 2)
  s.client.close()
})

test('answers are structs', async () => {
  const s = await new Stage().join()
  const asked = s.client.do('buy', { Count: 99 })
  const m = s.link.next()!
  assert.equal(m.type, Type.command)
  s.link.deliver(server.result(1, 0, Uint8Array.of(7, 0, 0)))
  s.client.update()
  const r = await asked
  assert.deepEqual([r.code, { ...r.answer }], [0, { Left: 7 }])
  s.client.close()
})

test('the limits of the replica are checked, and the error says whose they are', async () => {
  for (const limits of [
    { maxEntities: 0 },
    { maxEntities: -1 },
    { maxEntities: 1.5 },
    { maxEntities: NaN },
    { maxBytes: 0 },
    { maxBytes: 2 ** 20 - 1 },
    { maxBytes: Infinity },
  ]) {
    const [name, n] = Object.entries(limits)[0]!
    await assert.rejects(
      Client.connect(new Stage().config(limits)),
      (e) => e instanceof RangeError && e.message.startsWith(`${name} is ${n}: in the client's config, give`),
      name,
    )
  }
  const s = await new Stage().join({ maxEntities: 1, maxBytes: 2 ** 20 })
  s.client.close()
})

test('snapshots without news that were not sent are no delay, and lost ones are', async () => {
  const clock = { t: 1e6 }
  const real = performance.now
  performance.now = () => clock.t
  try {
    const s = await new Stage().join()
    let [seq, tick] = [0, 100]
    const snapshotAfter = (intervals: number, lost = 0): void => {
      clock.t += 50 * intervals
      tick += 3 * intervals
      s.link.deliverDatagram(server.snapshot((seq += 1 + lost), tick, 0), clock.t)
      s.client.update()
    }
    for (let i = 0; i < 20; i++) snapshotAfter(1)
    const { delay } = s.client.linkStats
    for (let i = 0; i < 20; i++) snapshotAfter(5)
    assert.ok(s.client.linkStats.delay <= delay + 1, `${s.client.linkStats.delay} ms, before ${delay}`)
    for (let i = 0; i < 3; i++) snapshotAfter(5, 4)
    assert.ok(s.client.linkStats.delay > 200, `${s.client.linkStats.delay} ms`)
    s.client.close()
  } finally {
    performance.now = real
  }
})

const simulated = { text: schemaText, simulate: true }

/** Delivers n snapshots with wrong audits, apart ms after one another. */
function audits(s: Stage, clock: { t: number }, first: number, n: number, apart: number): void {
  for (let i = first; i < first + n && s.client.state === 'joined'; i++) {
    clock.t += apart
    s.link.deliverDatagram(server.snapshot(i, 100 + 60 * i, 0, 1), clock.t)
    s.client.update()
  }
}

test('a client whose audits keep failing begins a session that does not simulate', async () => {
  const clock = { t: 1e6 }
  const real = performance.now
  performance.now = () => clock.t
  try {
    const s = await new Stage().join({ simulation }, simulated)
    audits(s, clock, 1, 9, 2000)
    assert.equal(s.client.state, 'joined')
    await s.lose()
    const hello = s.link.hello()
    assert.deepEqual([hello.abilities, hello.session], [1, 1n])
    s.link.deliver(
      server.welcome({ ...simulated, text: '', schema: hello.schema, resumed: true, structure: hello.structure }),
    )
    const { link } = s
    audits(s, clock, 10, 1, 2000)
    assert.equal(s.client.state, 'reconnecting')
    assert.equal((s.states.at(-1)!.error as Error).name, 'DivergedError')
    const sent = []
    for (let m = link.next(); m; m = link.next()) sent.push(m.type)
    assert.deepEqual([sent.at(-1), link.closed], [Type.bye, 0])
    mock.timers.tick(6000)
    await s.dialled(3)
    const ordinary = s.link.hello()
    assert.deepEqual([ordinary.abilities, ordinary.session, ordinary.secret.length], [0, 0n, 0])
    s.link.deliver(server.welcome({ text: '', schema: hello.schema, session: 2 }))
    assert.equal(s.client.replica.bodies, undefined)
    await s.lose()
    const again = s.link.hello()
    assert.deepEqual([again.abilities, again.session], [0, 2n])
    s.client.close()
  } finally {
    performance.now = real
  }
})

test('a client keeps a session that diverges seldom, or that it could not replace', async () => {
  const clock = { t: 1e6 }
  const real = performance.now
  performance.now = () => clock.t
  try {
    const cases: [Partial<Config>, apart: number][] = [
      [{}, 31_000],
      [{ token: Uint8Array.of(1) }, 1000],
      [{ giveUp: 0 }, 1000],
    ]
    for (const [config, apart] of cases) {
      const s = await new Stage().join({ simulation, ...config }, simulated)
      audits(s, clock, 1, 30, apart)
      assert.equal(s.client.state, 'joined')
      assert.equal(s.client.replica.bodies!.stats.faults, 30)
      s.client.close()
    }
  } finally {
    performance.now = real
  }
})

test('a client follows its first server elsewhere, as after joining', async () => {
  const s = new Stage()
  const connecting = Client.connect(s.config())
  await s.dialled(1)
  s.link.deliver(server.end(Type.refused, 23, 'other.example:7778', Uint8Array.of(2)))
  mock.timers.tick(1)
  await s.dialled(2)
  assert.equal(s.urls[1], 'https://other.example:7778/worldd')
  assert.deepEqual([...s.link.hello().token], [2])
  s.link.deliver(server.welcome({}))
  const c = await connecting
  assert.deepEqual(
    s.states.map((x) => x.state),
    ['joined'],
  )
  c.close()
})

test('a client that closes while it waits for a token dials no more', async () => {
  let give: (token: Uint8Array) => void = () => {}
  const s = await new Stage().join({ freshToken: () => new Promise((resolve) => (give = resolve)) })
  s.link.break(new Error('gone'))
  s.client.update()
  mock.timers.tick(6000)
  s.client.close()
  give(Uint8Array.of(1))
  for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(s.links.length, 1)
})

test('a stream that takes no more loses its connection, in the next update', async () => {
  for (const how of ['update', 'do']) {
    const s = await new Stage().join()
    s.link.sendStream = () => {
      throw new WireError(10, 'too many')
    }
    const asked = how === 'do' ? s.client.do('buy', { Count: 1 }) : undefined
    if (how === 'update') s.link.deliver(server.structure(1, server.enter(5, 3)))
    assert.equal(s.client.state, 'joined', how)
    s.client.update()
    assert.equal(s.client.state, 'reconnecting', how)
    if (asked) assert.equal((await asked).codeName, 'unanswered')
    s.client.close()
  }
})

test('an exception that the server causes ends the client, and does not connect again', async () => {
  const cause = new TypeError('of this package')
  const broken = () => {
    throw cause
  }
  for (const during of ['Welcome', 'update', 'Welcome of another session'] as const) {
    const stage = new Stage()
    const config = {
      simulation: { ...simulation, readExtension: broken, ...(during !== 'update' && { newBodies: broken }) },
    }
    if (during === 'Welcome') {
      const connecting = Client.connect(stage.config(config))
      await stage.dialled(1)
      stage.link.deliver(server.welcome(simulated))
      await assert.rejects(connecting, ReceiveError)
    } else {
      await stage.join(config, during === 'update' ? simulated : {})
      if (during === 'update') {
        stage.link.deliver(server.structure(1, Uint8Array.of(7)))
        assert.throws(() => stage.client.update(), ReceiveError)
      } else {
        await stage.lose()
        stage.link.deliver(server.welcome({ ...simulated, session: 2, epoch: 9 }))
      }
    }
    const { state, error } = stage.states.at(-1)!
    assert.equal(state, 'ended', during)
    assert.ok(error instanceof ReceiveError && error.code === 1 && error.cause === cause)
    assert.match(error.message, /the client threw TypeError: of this package/)
    const links = stage.links.length
    assert.equal(stage.link.closed, 1)
    mock.timers.tick(120_000)
    for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve))
    assert.equal(stage.links.length, links)
  }
})
