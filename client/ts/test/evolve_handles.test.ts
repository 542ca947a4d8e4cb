// Provisional handles in fields that the server lacks.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { declareSchema } from '../src/binding.ts'
import { BitReader, ByteWriter } from '../src/bits.ts'
import { type Handle, indexOf, newHandle, none } from '../src/handles.ts'
import { FrameReader, Type } from '../src/messages.ts'
import { MsgpackReader } from '../src/msgpack.ts'
import { Session } from '../src/session.ts'
import { defaultTables } from '../src/tables.ts'
import * as server from './server.ts'

const declared = declareSchema(`worldd schema 2
input
Missile ref
At ref
command volley
First ref
Spare[0] ref
Spare[1] ref
Second ref
`)

const rocket = newHandle(7, 1)

async function join(text: string): Promise<Session> {
  const s = new Session({ tables: await defaultTables(), schema: declared })
  s.receiveStream(server.welcome({ text: `worldd schema 2\n${text}` }))
  s.takeStream()
  return s
}

/** Returns the handles of the arguments and the range of provisional handles of the Command that s has sent. */
function takeCommand(s: Session): { args: Handle[]; first: number; n: number } {
  const frames = new FrameReader()
  frames.feed(s.takeStream())
  const body = frames.next()!
  assert.equal(frames.type, Type.command)
  const r = new MsgpackReader(body)
  r.array(7)
  r.uint('id', 2 ** 32)
  r.str('name', 64)
  r.u64('target')
  const bits = new BitReader()
  bits.reset(r.bin('args', 1024))
  const args = [0, 0].map(() => (bits.bits(1) ? newHandle(bits.sized(), bits.sized()) : none))
  return { args, first: r.uint('first', 2 ** 32), n: r.uint('n', 16) }
}

/** Returns the record that binds a provisional handle to an entity. */
function answer(h: Handle, entity: Handle): Uint8Array {
  const w = new ByteWriter()
  w.u8(6 | (1 << 3))
  w.uvarint(indexOf(h))
  w.uvarint(indexOf(entity))
  w.uvarint(1)
  return w.take()
}

const verdicts = (s: Session, ...handles: Handle[]): string[] => handles.map((h) => s.resolve(h))

test('a handle that a command of the server lacks ends with the Result', async () => {
  const s = await join('input raw\ncommand volley\nFirst ref\nSecond ref\n')
  const [a, b, c, d] = [s.provisional(), s.provisional(), s.provisional(), s.provisional()]
  s.do('volley', { First: a, Spare: [b, rocket], Second: c })
  assert.deepEqual(takeCommand(s), { args: [a, c], first: indexOf(a), n: 3 })
  assert.throws(() => s.do('volley', { Spare: [b, none] }), /another command or input/)
  s.receiveStream(server.structure(1, answer(a, rocket)))
  assert.deepEqual(verdicts(s, b, c), ['provisional', 'provisional'], 'no Result')
  s.receiveStream(server.result(1, 0))
  assert.deepEqual(verdicts(s, b, c), ['stale', 'stale'])
  assert.equal(s.real(a), rocket)

  s.do('volley', { Spare: [b, d] })
  assert.deepEqual(takeCommand(s), { args: [none, none], first: indexOf(d), n: 1 })
  assert.deepEqual(verdicts(s, d), ['provisional'])
  s.receiveStream(server.result(2, 38))
  assert.deepEqual(verdicts(s, d), ['stale'])
})

test('a handle that the input of the server lacks ends with the last input that holds it', async () => {
  const s = await join('input\nAt ref\n')
  const [a, b] = [s.provisional(), s.provisional()]
  s.receiveDatagram(server.snapshot(1, 100, 0), 0)
  const first = s.setInput({ Missile: b, At: a }, 0)
  s.input(0)
  const last = s.setInput({ Missile: b }, 50)
  assert.ok(last > first)
  s.receiveDatagram(server.snapshot(2, 200, 0, undefined, first), 100)
  assert.deepEqual(verdicts(s, a, b), ['stale', 'provisional'])
  s.receiveDatagram(server.snapshot(3, 201, 0, undefined, last), 150)
  assert.deepEqual(verdicts(s, b), ['stale'])
})

test('a server without an input receives none, and its handles end at once', async () => {
  const s = await join('input raw\n')
  const [a, b] = [s.provisional(), s.provisional()]
  assert.equal(s.setInput({ Missile: a, At: rocket }, 0), 0)
  assert.deepEqual(verdicts(s, a, b), ['stale', 'provisional'])
  assert.throws(() => s.setInput({ Missile: newHandle(9, 2) }, 0), /no handle of this client/)
  assert.throws(() => s.setInput(new Uint8Array(1), 0), TypeError)
  assert.deepEqual(server.inputsOf(s.input(0)!).ticks, [])
})
