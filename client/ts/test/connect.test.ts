// A connect that is aborted or takes too long.

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { Client } from '../src/client.ts'
import type { Config } from '../src/client_config.ts'
import { Code } from '../src/codes.ts'
import { Type } from '../src/messages.ts'
import * as server from './server.ts'
import { Stage } from './stage.ts'

const turns = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** A client that connects, over a link that the test opens. */
class Attempt {
  readonly stage = new Stage()
  readonly link = new server.Link()
  open: () => void = () => {}
  signal: AbortSignal | undefined
  outcome: unknown = 'pending'

  constructor(config: Partial<Config>) {
    const dial: Config['dial'] = (url, _, signal) => {
      this.stage.urls.push(url)
      this.signal = signal
      return new Promise((resolve) => (this.open = () => resolve(this.link)))
    }
    Client.connect(this.stage.config({ dial, ...config })).then(
      () => (this.outcome = 'joined'),
      (e) => (this.outcome = e),
    )
  }

  get states(): string[] {
    return this.stage.states.map((s) => s.state)
  }
}

test('connect ends at its deadline, while it dials and while it joins', async () => {
  for (const opens of [false, true]) {
    const a = new Attempt({ connectTimeout: 3000 })
    await turns()
    if (opens) a.open()
    await turns()
    mock.timers.tick(2999)
    await turns()
    assert.equal(a.outcome, 'pending')
    mock.timers.tick(1)
    await turns()
    assert.match(`${a.outcome}`, /^WireError: timeout.*not connected after 3 s/)
    assert.equal(a.signal!.aborted, !opens)
    if (!opens) a.open()
    await turns()
    assert.equal(a.link.closed, opens ? Code.timeout : Code.ok, 'a later success is closed')
    if (!opens) assert.equal(a.link.next(), undefined, 'and had no Hello')
    a.link.deliver(server.welcome())
    mock.timers.tick(120_000)
    await turns()
    assert.deepEqual([a.states, a.stage.urls.length], [['ended'], 1])
  }
})

test('by default connect takes ten seconds for each address, and asks silent ones twice', async () => {
  for (const [urls, dials] of [
    [[], 1],
    [['https://b.example:7777/worldd'], 4],
  ] as const) {
    const a = new Attempt({ urls })
    let seconds = 0
    for (; a.outcome === 'pending' && seconds < 30; seconds++) {
      await turns()
      mock.timers.tick(1000)
      await turns()
    }
    assert.ok(seconds >= 10 && seconds <= 10 * (1 + urls.length), `${seconds}`)
    assert.equal((a.outcome as { code: number }).code, Code.timeout)
    assert.equal(a.stage.urls.length, dials)
  }
})

test('connect is aborted, while it dials, joins and waits for hashes or a token, but not later', async () => {
  const before = new AbortController()
  before.abort('no need')
  const none = new Attempt({ signal: before.signal })
  await turns()
  assert.deepEqual([none.outcome, none.stage.urls], ['no need', []])
  for (const opens of [false, true]) {
    const c = new AbortController()
    const a = new Attempt({ signal: c.signal })
    await turns()
    if (opens) a.open()
    await turns()
    c.abort('left the lobby')
    await turns()
    assert.equal(a.outcome, 'left the lobby')
    a.open()
    await turns()
    assert.equal(a.link.closed, Code.ok)
    assert.deepEqual(a.states, ['ended'])
  }
  const c = new AbortController()
  const s = await new Stage().join({ signal: c.signal })
  c.abort()
  s.client.update()
  assert.equal(s.client.state, 'joined')
  s.client.close()
})

test('a server that ends the session right after its Welcome has not admitted the client', async () => {
  const s = new Stage()
  const connecting = Client.connect(s.config())
  await s.dialled(1)
  s.link.deliver(new Uint8Array([...server.welcome(), ...server.end(Type.goodbye, 13)]))
  await assert.rejects(connecting, { code: 13 })
  assert.deepEqual(
    s.states.map((x) => x.state),
    ['joined', 'ended'],
  )
})

test('an attempt to reconnect that never answers is given up, and its late link closed', async () => {
  const late: ((l: server.Link) => void)[] = []
  const s = new Stage()
  const dial: Config['dial'] = (url) => {
    s.urls.push(url)
    if (s.urls.length === 2) return new Promise((resolve) => late.push(resolve))
    s.links.push(new server.Link())
    return Promise.resolve(s.link)
  }
  await s.join({ dial })
  s.link.break(new Error('gone'))
  s.client.update()
  mock.timers.tick(6000)
  await turns()
  assert.equal(s.urls.length, 2)
  mock.timers.tick(5000)
  await turns()
  mock.timers.tick(6000)
  await s.dialled(2)
  const abandoned = new server.Link()
  late[0]!(abandoned)
  await turns()
  assert.deepEqual([abandoned.closed, abandoned.next(), s.urls.length], [Code.ok, undefined, 3])
  s.client.close()
})

test('a command is answered before the frame loop begins, and after it has stopped', async () => {
  const clock = { t: 1e6 }
  const real = performance.now
  performance.now = () => clock.t
  Object.assign(globalThis, { document: { hidden: false } })
  const pass = (ms: number): void => {
    clock.t += ms
    mock.timers.tick(ms)
  }
  try {
    const s = await new Stage().join()
    const first = s.client.do('buy', { Count: 1 })
    s.link.deliver(server.result(1, 0, Uint8Array.of(7, 0, 0)))
    pass(50)
    assert.equal((await first).code, 0)

    s.client.update()
    const second = s.client.do('buy', { Count: 2 })
    s.link.deliver(server.structure(1, server.enter(5, 3)), server.result(2, 0, Uint8Array.of(7, 0, 0)))
    pass(200)
    assert.equal(s.client.replica.all.length, 0, 'frames drive the client')
    pass(50)
    assert.equal((await second).code, 0)
    assert.equal(s.client.replica.all.length, 1)
    s.client.close()
  } finally {
    performance.now = real
    Reflect.deleteProperty(globalThis, 'document')
  }
})

test('a token may be text, and a result says whether the command was executed', async () => {
  const s = await new Stage().join({ token: 'v4.public.é', freshToken: async () => 'next' })
  const oks: boolean[] = []
  for (const code of [0, 33]) {
    const asked = s.client.do('buy', { Count: 1 })
    s.link.deliver(server.result(oks.length + 1, code, code === 0 ? Uint8Array.of(7, 0, 0) : new Uint8Array(0)))
    s.client.update()
    oks.push((await asked).ok)
  }
  const unanswered = s.client.do('buy', { Count: 1 })
  await s.lose()
  oks.push((await unanswered).ok)
  assert.deepEqual(oks, [true, false, false])
  assert.equal(new TextDecoder().decode(s.link.hello().token), 'next')
  s.client.close()
  const t = new Stage()
  const connecting = Client.connect(t.config({ token: 'v4.public.é' }))
  connecting.catch(() => {})
  await t.dialled(1)
  assert.equal(new TextDecoder().decode(t.link.hello().token), 'v4.public.é')
  t.link.deliver(server.welcome())
  ;(await connecting).close()
})
