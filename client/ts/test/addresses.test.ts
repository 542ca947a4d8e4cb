// A client that has several addresses.

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { Client } from '../src/client.ts'
import { Code, WireError } from '../src/codes.ts'
import { dialFirst } from '../src/dial.ts'
import { Type } from '../src/messages.ts'
import * as server from './server.ts'
import { Stage } from './stage.ts'

const [a, b, c] = ['a', 'b', 'c'].map((name) => `https://${name}.example:7777/worldd`) as [string, string, string]

/** Lets time pass until the client has dialled so many times. */
async function dials(s: Stage, n: number): Promise<void> {
  for (let i = 0; i < 100 && s.urls.length < n; i++) {
    mock.timers.tick(1000)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal(s.urls.length, n)
}

test('a first join tries each address once', async () => {
  const cases: [why: string, prepare: (s: Stage) => void, first: number | undefined, urls: string[], joins: boolean][] =
    [
      ['dead', (s) => s.dead.add(a), undefined, [a, b], true],
      ['silent', (s) => s.silent.add(a), undefined, [a, b], true],
      ['shuts down', () => {}, 7, [a, b], true],
      ['full', () => {}, 6, [a, b], true],
      ['no Welcome', () => {}, 0, [a, b], true],
      ['all dead', (s) => s.dead.add(a).add(b), undefined, [a, b], false],
    ]
  for (const [why, prepare, first, urls, joins] of cases) {
    const s = new Stage()
    prepare(s)
    const connecting = Client.connect(s.config({ url: a, urls: [b] }))
    connecting.catch(() => {})
    if (first !== undefined) await s.dialled(1)
    if (first) s.link.deliver(server.end(Type.refused, first, ''))
    await dials(s, 2)
    if (joins) {
      await s.dialled(first === undefined ? 1 : 2)
      s.link.deliver(server.welcome({}))
      ;(await connecting).close()
    } else await assert.rejects(connecting, /no answer/)
    assert.deepEqual(s.urls, urls, why)
  }
})

test('a lost session is looked for at its server, and then at each address, which may learn its secret', async () => {
  const s = await new Stage().join({ url: a, urls: [b], token: Uint8Array.of(5) })
  s.dead.add(a)
  s.link.break(new Error('gone'))
  s.client.update()
  await dials(s, 3)
  await s.dialled(2)
  assert.deepEqual(s.urls.slice(1), [a, b])
  assert.equal(s.link.hello().session, 1n)
  s.link.deliver(server.end(Type.refused, 23, 'a.example:7777', new Uint8Array([7])))
  s.dead.clear()
  await dials(s, 4)
  await s.dialled(3)
  assert.deepEqual([s.urls[3], s.link.hello().session], [a, 1n], 'a redirection to one of its addresses')
  s.link.deliver(server.welcome({ resumed: true, text: '' }))

  s.link.deliver(server.end(Type.goodbye, 23, 'c.example:7777'))
  s.client.update()
  await dials(s, 5)
  await s.dialled(4)
  assert.deepEqual([s.urls[4], s.link.hello().session], [c, 0n], 'a server elsewhere')
  s.link.deliver(server.welcome({ text: '' }))

  s.link.break(new WireError(Code.moved))
  s.client.update()
  await dials(s, 6)
  await s.dialled(5)
  assert.equal(s.urls[5], c, 'asked again: the close has overtaken the message with the address')
  s.link.deliver(server.welcome({ resumed: true, text: '' }))

  s.link.break(new Error('gone'))
  s.client.update()
  await dials(s, 7)
  await s.dialled(6)
  s.link.deliver(server.end(Type.refused, 23, 'd.example:7777', undefined, 'the session may be there'))
  await dials(s, 8)
  await s.dialled(7)
  assert.deepEqual([s.urls[7], s.link.hello().session], ['https://d.example:7777/worldd', 1n], 'its room is there')
  s.link.deliver(server.welcome({ resumed: true, text: '' }))

  s.link.deliver(server.end(Type.goodbye, 23, 'e.example:7777', undefined, 'the session may be there'))
  s.client.update()
  await dials(s, 9)
  await s.dialled(8)
  assert.equal(s.urls[8], 'https://e.example:7777/worldd')
  const hello = s.link.hello()
  assert.deepEqual([hello.session, ...hello.token], [1n, 5], 'its room has moved there: with its own token')
  s.link.deliver(server.welcome({ resumed: true, text: '' }))

  s.dead.add('https://e.example:7777/worldd')
  s.link.break(new Error('gone'))
  s.client.update()
  await dials(s, 11)
  await s.dialled(9)
  assert.deepEqual(s.urls.slice(9), ['https://e.example:7777/worldd', a], 'back to its addresses')
  assert.deepEqual([...s.link.hello().token], [5], 'with its own token again')
  s.client.close()
})

test('a server that does not answer costs half a second, and then the next one is asked too', async () => {
  const s = await new Stage().join({ url: a, urls: [b] })
  s.silent.add(a)
  s.link.break(new Error('gone'))
  s.client.update()
  const after = async (ms: number): Promise<string[]> => {
    mock.timers.tick(ms)
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
    return s.urls.slice(1)
  }
  assert.deepEqual(await after(250), [a])
  assert.deepEqual(await after(500), [a, b])
  await s.dialled(2)
  assert.equal(s.link.hello().session, 1n)
  s.link.deliver(server.welcome({ resumed: true, text: '' }))
  s.link.break(new Error('gone'))
  s.client.update()
  assert.deepEqual((await after(1000)).slice(2), [b], 'it is the present one')
  s.client.close()
})

test('a server that answers after another one has its connection closed', async () => {
  const links = new Map([a, b].map((url) => [url, new server.Link()]))
  const open = new Map<string, () => void>()
  const signals: AbortSignal[] = []
  const dial = (url: string, signal: AbortSignal): Promise<server.Link> => {
    signals.push(signal)
    return new Promise((resolve) => open.set(url, () => resolve(links.get(url)!)))
  }
  const first = dialFirst([a, b], dial, new AbortController().signal)
  mock.timers.tick(500)
  open.get(b)!()
  assert.equal((await first)[1], b)
  open.get(a)!()
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(
    [a, b].map((url) => links.get(url)!.closed),
    [Code.ok, undefined],
  )
  assert.deepEqual(
    signals.map((s) => s.aborted),
    [true, false],
  )
})

test('a client whose pass is void asks for the room that the pass was for, and for its own room if that one is refused', async () => {
  const refusals: [code: number, asks: string][] = [
    [0, 'match/1'],
    [Code.unauthorized, 'lobby'],
    [Code.noRoom, 'lobby'],
    [Code.roomClosed, 'lobby'],
  ]
  for (const [code, asks] of refusals) {
    const s = await new Stage().join({ url: a, room: 'lobby', token: Uint8Array.of(5) })
    s.link.deliver(server.end(Type.goodbye, Code.moved, 'c.example:7777', new Uint8Array([7]), 'the room is match/1'))
    s.client.update()
    await dials(s, 2)
    await s.dialled(2)
    s.link.deliver(server.end(Type.refused, Code.timeout, ''))
    await dials(s, 3)
    await s.dialled(3)
    if (code) {
      s.link.deliver(server.end(Type.refused, code, ''))
      await dials(s, 4)
      await s.dialled(4)
    }
    const hello = s.link.hello()
    assert.deepEqual([hello.room, hello.session, ...hello.token], [asks, 0n, 5], `refused with ${code}`)
    s.client.close()
  }
})
