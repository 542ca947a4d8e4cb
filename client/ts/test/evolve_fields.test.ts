// Fields that a game reads by number, at servers of another version and after moves.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { declareSchema } from '../src/binding.ts'
import { BitWriter, ByteWriter } from '../src/bits.ts'
import type { Declaration } from '../src/declaration.ts'
import type { Entity, Moment } from '../src/entity.ts'
import type { Field } from '../src/fields.ts'
import { newHandle, none } from '../src/handles.ts'
import { hashOf } from '../src/schema_parser.ts'
import { Session } from '../src/session.ts'
import { defaultTables } from '../src/tables.ts'
import { quantise } from '../src/values.ts'
import * as server from './server.ts'

const schemaOf = (fields: string): string => `worldd schema 2\ncomponent body\n${fields}input raw\n`

/** Shows an entity whose body has these values, in the server's order. */
function show(s: Session, values: readonly unknown[], generation = 1): Entity {
  const c = s.schema!.components[0]!
  const row = new BitWriter()
  row.bits(1, 1)
  const list = new Uint32Array(s.schema!.values)
  c.fields.forEach((f, i) => quantise(f, values[i], list, f.index))
  for (const f of c.fields) f.write(row, list, f.index)
  const w = new ByteWriter()
  w.u8(1)
  w.uvarint(1)
  w.uvarint(generation)
  w.uvarint(0)
  w.uvarint(row.bytes().length)
  w.bytes(row.bytes())
  s.receiveStream(server.structure(s.replica!.structure + 1, w.take()))
  return s.replica!.entity(newHandle(1, generation))!
}

async function join(text: string, schema?: Declaration): Promise<Session> {
  const s = new Session({ tables: await defaultTables(), ...(schema && { schema }) })
  const known = schema?.schema.text === text
  s.receiveStream(server.welcome({ text: known ? '' : text, schema: hashOf(text), ceiling: 99, maxSlots: 100 }))
  return s
}

const moment: Moment = { tick: 1, newest: 1, maxExtrapolate: 0 }

const fieldAt = (s: Session, path: string): Field => s.schema!.components[0]!.field(path)!

test('numbers have the order and the range of the declaration', async () => {
  const declared = declareSchema(schemaOf('P[0] float 32\nP[1] float 32\nP[2] float 32\nHealth uint 8\nBig int 64\n'), {
    was: { 'component "body"': { 'P[0]': ['X'], 'P[2]': ['Z'] } },
    defaults: { 'component "body"': { 'P[1]': 7, Big: 5n } },
  })
  const s = await join(schemaOf('Health uint 16\nZ float 64\nMood int 9\nX float 64\n'), declared)
  const e = show(s, [300, 0.1, -3, 2])
  const struct = e.get('body')!
  assert.deepEqual([struct['P'], struct['Health'], struct['Big']], [[2, 7, Math.fround(0.1)], 255, 5n])
  const [x, health] = [fieldAt(s, 'P[0]'), fieldAt(s, 'Health')]
  assert.deepEqual([e.number(health), e.numberAt(health, moment), e.number(x)], [255, 255, 2])
  const out = [9, 9, 9, 9, 9, 9, 9]
  e.vectorAt(x, 6, moment, out, 1)
  assert.deepEqual(out, [9, 2, 7, Math.fround(0.1), 255, 5, 0])
  const mood = s.schema!.components[0]!.fields[2]!
  assert.deepEqual([e.number(mood), e.numberAt(mood, moment)], [-3, -3], 'the declaration lacks it')
  e.vectorAt(mood, 3, moment, out)
  assert.deepEqual(out.slice(0, 3), [-3, 2, 0], "the server's order")
})

test('a field names the same one after a move to another schema', async () => {
  for (const declared of [undefined, declareSchema(schemaOf('A uint 8\nB uint 8\nQ quat 9\nOn ref\n'))]) {
    const s = await join(schemaOf('A uint 8\nB uint 8\nQ quat 9\nOn ref\n'), declared)
    const fields = ['A', 'B', 'Q', 'On'].map((path) => fieldAt(s, path)) as [Field, Field, Field, Field]
    const [a, b, q, on] = fields
    const values = (e: Entity): unknown => [
      ...[e.number(a), e.number(b), e.numberAt(b, moment)],
      e.quaternionAt(q, moment, [5, 5, 5, 5]).map((x) => Math.round(x * 100) / 100),
      e.reference(on),
    ]
    const half = Math.SQRT1_2
    assert.deepEqual(values(show(s, [1, 2, [half, 0, 0, half], newHandle(3, 1)])), [
      ...[1, 2, 2],
      [0.71, 0, 0, 0.71],
      newHandle(3, 1),
    ])
    let epoch = 7
    const move = (text: string): void => {
      epoch++
      const floor = (epoch - 7) * 100 + 1
      s.receiveStream(
        server.welcome({
          epoch,
          floor,
          ceiling: floor + 98,
          structure: s.replica!.structure + 1,
          maxSlots: 100,
          text: schemaOf(text),
        }),
      )
    }
    move('On ref\nQ quat 8\nB uint 16\nA uint 8\n')
    const moved = show(s, [newHandle(5, 1), [0, half, 0, half], 9, 8], 101)
    assert.deepEqual(values(moved), [...[8, 9, 9], [0, 0.71, 0, 0.71], newHandle(5, 1)])
    const out = [0, 0]
    moved.vectorAt(a, 2, moment, out)
    assert.deepEqual(out, declared ? [8, 9] : [8, 0], 'in the order of get')

    move('C uint 8\n')
    const bare = show(s, [6], 201)
    assert.deepEqual(values(bare), [...[0, 0, 0], [0, 0, 0, 1], none])
    out.fill(5)
    bare.vectorAt(a, 2, moment, out)
    assert.deepEqual(out, [0, 0])
  }
})
