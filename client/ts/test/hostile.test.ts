// A lying server: what it can make the client keep, do or run.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LimitError } from '../src/codes.ts'
import { newHandle } from '../src/handles.ts'
import { FrameReader, Type } from '../src/messages.ts'
import { Provisionals } from '../src/provisionals.ts'
import { parseSchema } from '../src/schema_parser.ts'
import { Session } from '../src/session.ts'
import type { SessionConfig } from '../src/session_config.ts'
import { defaultTables } from '../src/tables.ts'
import { Shape } from '../src/values.ts'
import * as server from './server.ts'

async function join(more: Partial<SessionConfig> = {}): Promise<Session> {
  const s = new Session({ tables: await defaultTables(), ...more })
  s.receiveStream(server.welcome({ maxSlots: 2 ** 24 }))
  return s
}

test('entities and bytes are bounded', async () => {
  const few = await join({ maxEntities: 10 })
  for (let i = 0; i < 10; i++) few.receiveStream(server.structure(i + 1, server.enter(i, 1)))
  assert.throws(() => few.receiveStream(server.structure(11, server.enter(10, 1))), LimitError)
  assert.equal(few.replica!.all.length, 10, 'nothing of the message was applied')

  for (const [what, record] of Object.entries({
    entities: (i: number) => server.enter(i, 1),
    'cells far apart': (i: number) => server.destroy((i * 4099) % 2 ** 24, 1),
    'texts that grow': (i: number) => server.enter(i % 100, 1, 'x'.repeat(24)),
  })) {
    const s = await join({ maxBytes: 2 << 20 })
    let most = 0
    const flood = () => {
      for (let i = 0; i < 20_000; i++) {
        s.receiveStream(server.structure(i + 1, record(i)))
        most = Math.max(most, s.replica!.bytes)
      }
    }
    if (what === 'texts that grow')
      flood() // these replace the first
    else assert.throws(flood, { code: 19 }, what)
    assert.ok(most <= 2 << 20, `${what}: ${most} bytes`)
  }
})

test('the end of a client’s patience is final', async () => {
  const s = await join()
  assert.throws(() => s.receiveStream(server.structure(9, server.enter(1, 1))), { code: 1 })
  assert.throws(() => s.receiveStream(server.structure(1, server.enter(1, 1))), { code: 1 })
})

test('a Welcome is checked', async () => {
  const tables = await defaultTables()
  for (const [why, o, code] of [
    ['slots', { maxSlots: 2 ** 24 + 1 }, 1],
    ['another hash', { schema: 5n }, 1],
    ['no text', { text: '' }, 1],
    ['no schema', { text: 'component x\n' }, 1],
    ['tables', { tables: 1 }, 15],
    ['a secret', { secret: new Uint8Array(15) }, 1],
    ['ceiling', { floor: 3, ceiling: 2 }, 1],
    ['structure', { structure: 1 }, 1],
    ['resumed', { resumed: true }, 1],
  ] as const) {
    const s = new Session({ tables })
    assert.throws(() => s.receiveStream(server.welcome(o)), { code }, why)
  }
  const resumes = async (o: server.WelcomeOptions): Promise<Session> => {
    const s = await join()
    s.lost(undefined)
    s.reconnect()
    s.receiveStream(server.welcome({ resumed: true, text: '', maxSlots: 2 ** 24, ...o }))
    return s
  }
  assert.ok((await resumes({})).joined)
  assert.equal((await resumes({ snapshotHz: 10 })).replica!.interval, 6, 'a server may be restarted with another rate')
  for (const o of [
    { session: 2 },
    { epoch: 8 },
    { floor: 3 },
    { ceiling: 9 },
    { structure: 1 },
    { maxSlots: 5 },
    { tickHz: 61 },
    { schema: 6n },
  ])
    await assert.rejects(resumes(o), { code: 1 })
})

test('frames are bounded, and kept no longer than needed', () => {
  const r = new FrameReader()
  r.feed(Uint8Array.of(0x81, 0x80, 0x04))
  assert.throws(() => r.next(), { code: 1 }, '65,537 bytes')
  const s = new FrameReader()
  const pad = server.frame(Type.pad, new Uint8Array(60_000))
  for (let i = 0; i < 2000; i++) {
    for (let at = 0; at < pad.length; at += 1500) s.feed(pad.subarray(at, at + 1500))
    assert.equal(s.next()?.length, 60_000)
    assert.equal(s.next(), undefined)
  }
  assert.ok(s.size <= 1 << 18, `${s.size} bytes`)
})

test('held snapshots are 16', async () => {
  const s = await join()
  for (let i = 1; i <= 40; i++) assert.equal(s.receiveDatagram(server.snapshot(i, i, 5), 0), 'held')
  assert.equal(s.replica!.waiting, 16)
  assert.equal(s.replica!.stats.overflowed, 24)
})

test('events for a render wait 256 at most', async () => {
  const s = await join()
  let called = 0
  s.events.on('chime', () => called++, true)
  for (let i = 0; i < 400; i++) s.receiveStream(server.structure(i + 1, Uint8Array.of(5, 1, i & 255)))
  assert.equal(called, 400 - 256)
})

test('paths of a schema reach nothing but the struct', () => {
  const text =
    'worldd schema 2\ncomponent c\n__proto__.polluted uint 8\nconstructor.prototype.polluted uint 8\ninput raw\n'
  const c = parseSchema(text).components[0]!
  const v = new Shape(c.fields, c.texts).make(
    (i) => i,
    () => '',
  )
  assert.equal(({} as Record<string, unknown>).polluted, undefined)
  assert.equal(Object.getPrototypeOf(v), null)
  assert.ok(Object.hasOwn(v, 'constructor'))
})

test('a schema of many lines takes no time to speak of, and no other form', () => {
  const long = `worldd schema 2\n${'event e\n'.repeat(6000)}input raw\n`
  assert.throws(() => parseSchema(long), { code: 1 })
  assert.throws(() => parseSchema(`worldd schema 2\n${'x'.repeat(50_000)}\n`), { code: 1 })
})

test('provisional handles that wait are 256, and 4,096 are remembered', () => {
  const p = new Provisionals()
  const first = p.create()
  for (let i = 0; i < 5000; i++) p.create()
  assert.equal(p.verdictOf(Number(first & 0xffffffffn)), 'stale')
  const all = new Provisionals()
  const indexes: number[] = []
  for (let i = 0; i < 256; i++) indexes.push(Number(all.create() & 0xffffffffn))
  all.commandSent(0, 256, 1)
  assert.throws(() => all.create(), RangeError)
  all.answer(0, newHandle(5, 1))
  assert.equal(all.entityOf(0), newHandle(5, 1))
  all.create()
  assert.equal(indexes.length, 256)
})

test('256 commands wait, and results of others answer none', async () => {
  const s = await join()
  for (let i = 0; i < 256; i++) s.do('buy', { Count: 1 })
  assert.throws(() => s.do('buy', { Count: 1 }), RangeError)
  s.receiveStream(server.result(999, 0, Uint8Array.of(1, 2, 3, 4)))
  assert.throws(() => s.do('buy', { Count: 1 }), RangeError)
  s.receiveStream(server.result(7, 38))
  s.do('buy', { Count: 1 })
  assert.throws(() => s.receiveStream(server.result(8, 0, Uint8Array.of(1))), { code: 1 }, 'an answer that is cut off')
})
