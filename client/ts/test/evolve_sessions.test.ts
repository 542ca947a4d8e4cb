// Sessions whose server has another schema than the game was built with.

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { declareSchema, SchemaError } from '../src/binding.ts'
import { BitReader } from '../src/bits.ts'
import { Client } from '../src/client.ts'
import { WireError } from '../src/codes.ts'
import { newHandle } from '../src/handles.ts'
import { FrameReader, Type } from '../src/messages.ts'
import { MsgpackReader } from '../src/msgpack.ts'
import { hashOf } from '../src/schema_parser.ts'
import { Session } from '../src/session.ts'
import type { SessionConfig } from '../src/session_config.ts'
import { defaultTables } from '../src/tables.ts'
import { command, component, event, inputs } from '../src/typed.ts'
import * as server from './server.ts'
import { Stage } from './stage.ts'

/** The schema of a game that is newer than server.schemaText. */
const newer = `worldd schema 2
component mana
Points uint 8
component name
Name string 24
component purse
Fee uint 8
Copper int 32
kind crate
input
X range bff0000000000000 3f60000000000000 1024
Jump bool
command buy
Count uint 8
Note string 5
answer
Left int 32
Tax int 8
command sell
command shout raw
event chime
Loud bool
Serial uint 16
`

const declaration = declareSchema(newer, {
  was: { 'component "purse"': { Copper: ['Coins'] } },
  defaults: { 'component "purse"': { Fee: 3 }, 'event "chime"': { Loud: true } },
})

const changes = [
  'component "mana": the server lacks it',
  'component "purse": field added Fee',
  'component "purse": field renamed Coins to Copper',
  'component "purse": field changed: server "Coins int 20", client "Copper int 32"',
  'input: field added Jump',
  'input: field dropped At',
  'command "buy": field changed: server "Count uint 5", client "Count uint 8"',
  'command "buy": field added Note',
  'answer of command "buy": field changed: server "Left int 20", client "Left int 32"',
  'answer of command "buy": field added Tax',
  'command "sell": the server lacks it',
  'command "shout": the server lacks it',
  'event "chime": field added Loud',
  'event "chime": field changed: server "Serial uint 8", client "Serial uint 16"',
]

async function newSession(more: Partial<SessionConfig> = {}): Promise<Session> {
  return new Session({ tables: await defaultTables(), schema: declaration, ...more })
}

/** Returns the messages that a session sent. */
function sent(s: Session): { type: number; body: Uint8Array }[] {
  const frames = new FrameReader()
  frames.feed(s.takeStream())
  const all: { type: number; body: Uint8Array }[] = []
  for (let body = frames.next(); body; body = frames.next()) all.push({ type: frames.type, body: body.slice() })
  return all
}

/** Returns the schema that a session's Hello names. */
function named(s: Session): bigint {
  const r = new MsgpackReader(sent(s)[0]!.body)
  r.array(13)
  r.uint('protocol', 100)
  return r.u64('schema')
}

/** Returns the arguments of a Command. */
function argsOf(body: Uint8Array): Uint8Array {
  const r = new MsgpackReader(body)
  r.array(7)
  r.uint('id', 2 ** 32)
  r.str('name', 64)
  r.u64('target')
  return r.bin('args', 1024)
}

test('an equal schema needs no text and no binding', async () => {
  const s = await newSession()
  assert.equal(named(s), hashOf(newer))
  s.receiveStream(server.welcome({ schema: hashOf(newer), text: '' }))
  assert.equal(s.schema, declaration.schema)
  assert.equal(s.replica!.layout.binding, undefined)
  assert.deepEqual(s.schemaChanges, [])
})

test('a Welcome has the text of another schema than in Hello, and of no other', async () => {
  for (const o of [{ text: newer }, { text: '' }, { schema: 5n }, { text: server.schemaText, schema: 5n }]) {
    const s = await newSession()
    s.takeStream()
    assert.throws(() => s.receiveStream(server.welcome(o)), { code: 1 })
  }
})

test('components, events, commands and inputs of an older server', async () => {
  const heard: unknown[] = []
  const s = await newSession()
  event<object>('chime').on(s.events, (tick, e) => heard.push({ tick, ...e }))
  s.receiveStream(server.welcome())
  assert.deepEqual(s.schemaChanges, changes)
  assert.equal(s.schema!.text, server.schemaText)

  const body = new BitReader()
  s.receiveStream(server.structure(1, server.enter(5, 1), server.event(0, Uint8Array.of(200))))
  s.receiveDatagram(server.snapshot(1, 101, 1), 0)
  const e = s.replica!.entity(newHandle(5, 1))!
  const purse = component<{ Fee: number; Copper: number }>('purse')
  assert.deepEqual({ ...purse.get(e) }, { Fee: 3, Copper: 5 })
  assert.deepEqual({ ...purse.at(e, { tick: 101, newest: 101, maxExtrapolate: 0 }) }, { Fee: 3, Copper: 5 })
  assert.deepEqual({ ...e.get('name') }, { Name: 'Ada' })
  assert.equal(e.number(s.schema!.components[0]!.field('Copper')!), 5)
  assert.equal(e.has('mana'), false)
  assert.equal(e.get('mana'), undefined)
  assert.deepEqual(heard, [{ tick: 1, Serial: 200, Loud: true }])

  sent(s)
  const c = { do: (...a: Parameters<Session['do']>) => s.do(...a).result }
  const answered = command<{ Count: number; Note: string }, { Left: number; Tax: number }>('buy').do(c, {
    Count: 200,
    Note: 'gift',
  })
  const m = sent(s)[0]!
  assert.equal(m.type, Type.command)
  const args = s.schema!.commands[0]!.args!.parse(body, argsOf(m.body))
  assert.deepEqual([...args.values], [31], 'saturated in the 5 bits of the server')
  s.receiveStream(server.result(1, 0, Uint8Array.of(7, 0, 0)))
  assert.deepEqual({ ...(await answered).answer }, { Left: 7, Tax: 0 })

  for (const lacking of [() => s.do('sell'), () => s.doRaw('shout', 1)])
    assert.throws(
      lacking,
      (err) => err instanceof WireError && err.code === 35 && /server lacks command/.test(err.message),
    )
  assert.throws(() => s.do('fly'), TypeError)
  assert.deepEqual(sent(s), [])

  const tick = inputs<{ X: number; Jump: boolean }>().set({ setInput: (i) => s.setInput(i, 0) }, { X: 1, Jump: true })
  assert.ok(tick > 0)
  assert.deepEqual(server.inputsOf(s.input(0)!).ticks, [tick])
})

test('an answer that the game does not declare is checked, and does not reach it', async () => {
  for (const declared of [newer.replace('answer\nLeft int 32\nTax int 8\n', ''), 'worldd schema 2\ninput raw\n']) {
    const s = await newSession({ schema: declareSchema(declared) })
    s.receiveStream(server.welcome())
    const results = [s.do('buy', { Count: 1, Note: '' }), s.do('buy', { Count: 1, Note: '' })]
    s.receiveStream(server.result(1, 0, Uint8Array.of(7, 0, 0)))
    const { code, answer, payload } = await results[0]!.result
    assert.deepEqual({ code, answer, payload }, { code: 0, answer: undefined, payload: undefined })
    assert.throws(() => s.receiveStream(server.result(2, 0, Uint8Array.of(7))), { code: 1 })
  }
})

test('nothing is sent to a server without the input', async () => {
  const s = await newSession()
  s.receiveStream(server.welcome({ text: 'worldd schema 2\ninput raw\n' }))
  assert.equal(s.setInput({ X: 1, Jump: true }, 0), 0)
  assert.deepEqual(server.inputsOf(s.input(0)!).ticks, [])
})

test('texts are cut and missing ones empty, whether the server has the declared schema or another', async () => {
  const text = (last: string): string => `worldd schema 2\ninput raw\ncommand say\n${last}T string 4\nB bytes 2\n`
  for (const declared of [undefined, declareSchema(text('')), declareSchema(text('N uint 8\n'))]) {
    const s = new Session({ tables: await defaultTables(), ...(declared && { schema: declared }) })
    const equal = declared?.schema.text === text('')
    s.receiveStream(server.welcome({ text: equal ? '' : text(''), schema: hashOf(text('')) }))
    sent(s)
    for (const [args, want] of [
      [{ T: 'abcdé', B: Uint8Array.of(1, 2, 3) }, '\x04abcd\x02\x01\x02'],
      [{ T: 'abcé' }, '\x03abc\x00'],
      [{ T: null, B: null }, '\x00\x00'],
      [{ T: Uint8Array.of(0x41, 0xff, 0xfe), B: 'é€' }, '\x04A\ufffd\x02é'],
      [{ T: 'a\ud800' }, '\x04a\ufffd\x00'],
    ] as const) {
      s.do('say', args)
      assert.equal(Buffer.from(argsOf(sent(s)[0]!.body)).toString(), want)
    }
    assert.throws(() => s.do('say', { T: 5 }), TypeError)
    assert.deepEqual(sent(s), [])
  }
})

test('integers saturate, whether the server has the declared schema or another', async () => {
  const text = (last: string): string => `worldd schema 2\ninput raw\ncommand pay\n${last}U uint 64\nI int 64\n`
  for (const declared of [undefined, declareSchema(text('N uint 8\n'))]) {
    const s = new Session({ tables: await defaultTables(), ...(declared && { schema: declared }) })
    s.receiveStream(server.welcome({ text: text('') }))
    for (const [v, u, i] of [
      [1.5, 1n, 1n],
      [-1, 0n, -1n],
      [-1n, 0n, -1n],
      [NaN, 0n, 0n],
      [null, 0n, 0n],
      [Infinity, 2n ** 64n - 1n, 2n ** 63n - 1n],
      [2n ** 70n, 2n ** 64n - 1n, 2n ** 63n - 1n],
      [-(2n ** 70n), 0n, -(2n ** 63n)],
    ] as const) {
      sent(s)
      s.do('pay', { U: v, I: v })
      const b = Buffer.from(argsOf(sent(s)[0]!.body))
      assert.deepEqual([b.readBigUInt64LE(0), b.readBigInt64LE(8)], [u, i], `${v}`)
    }
  }
})

test('bytes for an input that the server alone declares say so', async () => {
  const s = await newSession({ schema: declareSchema('worldd schema 2\ninput raw\n') })
  s.receiveStream(server.welcome())
  assert.deepEqual(s.schemaChanges, [], 'what only the server has is no change')
  assert.throws(() => s.setInput(Uint8Array.of(1), 0), /the server, not Config.schema, declares the input/)
  const own = await newSession()
  own.receiveStream(server.welcome())
  assert.throws(() => own.setInput(Uint8Array.of(1), 0), /the schema declares the input/)
})

test('what does not fit ends the client, with all lines', async () => {
  const text = server.schemaText.replace('Coins int 20', 'Coins bool').replace('Serial uint 8', 'Serial ref')
  const stage = new Stage()
  const connecting = Client.connect(stage.config({ schema: declaration }))
  await stage.dialled(1)
  stage.link.deliver(server.welcome({ text }))
  await assert.rejects(connecting, (e) => {
    assert.ok(e instanceof SchemaError)
    assert.deepEqual(e.misfits, [
      { item: 'component "purse"', declared: 'Copper int 32', received: 'Coins bool' },
      { item: 'event "chime"', declared: 'Serial uint 16', received: 'Serial ref' },
    ])
    return true
  })
  assert.equal(stage.links.length, 1)
  assert.equal(stage.link.closed, 4)
})

test('a strict session refuses an older server', async () => {
  const s = await newSession({ strictSchema: true })
  assert.throws(
    () => s.receiveStream(server.welcome()),
    (e) => e instanceof SchemaError && e.changes.length === changes.length,
  )
  const same = await newSession({ strictSchema: true })
  same.receiveStream(server.welcome({ schema: hashOf(newer), text: '' }))
  assert.ok(same.joined)
})

test('a move to another room binds its schema', async () => {
  const s = await newSession()
  s.receiveStream(server.welcome({ ceiling: 99 }))
  const moved = { epoch: 8, floor: 101, ceiling: 199, structure: 1 }
  s.receiveStream(server.welcome({ ...moved, text: newer }))
  assert.deepEqual(s.schemaChanges, [])
  assert.equal(s.replica!.layout.binding, undefined)
  s.receiveStream(server.welcome({ ...moved, epoch: 9, floor: 201, ceiling: 299, structure: 2 }))
  assert.deepEqual(s.schemaChanges, changes)
})

test('a client that reconnects names the schema of its server', async () => {
  const s = await newSession()
  named(s)
  s.receiveStream(server.welcome())
  s.lost(new Error('gone'))
  s.reconnect()
  assert.equal(named(s), hashOf(server.schemaText))
  s.receiveStream(server.welcome({ text: '', resumed: true }))
  assert.deepEqual(s.schemaChanges, changes)
})

test('a server that was replaced by a newer one sends its schema', async () => {
  const s = await newSession()
  s.receiveStream(server.welcome())
  s.lost(new Error('gone'))
  s.reconnect()
  s.takeStream()
  s.receiveStream(server.welcome({ epoch: 8, schema: hashOf(newer), text: newer }))
  assert.deepEqual(s.schemaChanges, [])
  assert.ok(s.joined)
})

test('Hello has the versions, and errors say which side is newer', async () => {
  const stage = new Stage()
  const connecting = Client.connect(stage.config({ schema: declaration, version: '1.10', minServer: 'v1.2-rc' }))
  await stage.dialled(1)
  const { schema, version, minServer } = stage.link.hello()
  assert.deepEqual([schema, version, minServer], [hashOf(newer), '1.10', 'v1.2-rc'])
  stage.link.deliver(server.welcome({ version: '1.9' }))
  const client = await connecting
  assert.equal(client.welcome!.version, '1.9')
  assert.throws(
    () => client.do('sell'),
    /server lacks command "sell": the server is older \(1\.9, this client 1\.10\): update the server/,
  )
  client.close()
  for (const bad of [{ version: '1..2' }, { minServer: 'newest' }, { version: `1-${'x'.repeat(31)}` }])
    await assert.rejects(Client.connect(stage.config(bad)), RangeError)
})

test('a client refuses a server before minServer', async () => {
  for (const [version, refused] of [
    ['1.1.9', true],
    ['', true],
    ['1.2', false],
    ['1.10', false],
  ] as const) {
    const stage = new Stage()
    const connecting = Client.connect(stage.config({ minServer: '1.2' }))
    await stage.dialled(1)
    stage.link.deliver(server.welcome({ version }))
    if (refused) {
      await assert.rejects(connecting, { code: 27, codeName: 'client-too-new' })
      assert.equal(stage.link.closed, 27)
    } else (await connecting).close()
    assert.equal(stage.links.length, 1)
  }
})

test("a client of another version gets the game's text, and does not connect again", async () => {
  for (const [code, name, type] of [
    [26, 'client-too-old', Type.refused],
    [27, 'client-too-new', Type.refused],
    [26, 'client-too-old', Type.goodbye],
  ] as const) {
    const stage = new Stage()
    let connecting: Promise<Client>
    if (type === Type.refused) {
      connecting = Client.connect(stage.config())
      await stage.dialled(1)
      stage.link.deliver(server.end(type, code))
    } else {
      await stage.join()
      await stage.lose()
      stage.link.deliver(server.end(Type.refused, code))
      connecting = new Promise((_, reject) => {
        try {
          stage.client.update()
        } catch (e) {
          reject(e)
        }
      })
    }
    const links = stage.links.length
    await assert.rejects(connecting, (e) => {
      assert.ok(e instanceof WireError)
      assert.deepEqual([e.code, e.codeName, e.retry, e.detail], [code, name, false, 'why'])
      return true
    })
    mock.timers.tick(60_000)
    assert.equal(stage.links.length, links)
    assert.equal(stage.states.at(-1)!.state, 'ended')
    assert.equal((stage.states.at(-1)!.error as WireError).detail, 'why')
  }
})
