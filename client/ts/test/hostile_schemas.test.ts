// Schema texts of a hostile server: a client reads them or ends with a typed error.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { declareSchema } from '../src/binding.ts'
import { BitWriter, ByteWriter } from '../src/bits.ts'
import { WireError } from '../src/codes.ts'
import { newHandle } from '../src/handles.ts'
import type { Schema } from '../src/schema.ts'
import { parseSchema } from '../src/schema_parser.ts'
import { Session } from '../src/session.ts'
import { defaultTables } from '../src/tables.ts'
import { randomOf } from './random.ts'
import * as server from './server.ts'

const next = randomOf(41)
const random = (n: number): number => Math.floor(next() * n)
const pick = <T>(all: readonly T[]): T => all[random(all.length)]!

const names =
  'A B X length __proto__ constructor toString valueOf hasOwnProperty prototype 0 1 4294967295 ä \u2028 😀'.split(' ')
const badNames = 'A.B X[0] X[4294967294] X[9007199254740993] .. [ ] [] \ufeff component input -1 1e3'.split(' ')
const kinds =
  'bool|uint 8|uint 64|int 32|int 64|float 32|float 64|enum 3|angle 9|quat 9|ref|string 9|bytes 9|range bff0000000000000 3f60000000000000 1024'.split(
    '|',
  )

const name = (): string => pick(random(100) === 0 ? badNames : names)

/** Returns a path that is often well-formed, and often describes the same struct as the others. */
function path(): string {
  let s = name()
  while (random(2) === 0) s += pick(['[0]', '[0]', `.${name()}`, `[0].${name()}`, random(20) === 0 ? name() : '[1]'])
  return s
}

function fields(attributes: boolean): string {
  let s = ''
  for (let n = random(5); n > 0; n--) {
    const at = path()
    const kind = pick(kinds)
    s += `${at} ${kind}${attributes && random(5) === 0 ? pick([' owner', ' always', ' linear']) : ''}\n`
    if (random(10) === 0) s += `${at}${pick(['.length', '[0]', '.A', '[1]', '.0'])} ${pick(kinds)}\n`
  }
  return s
}

function schemaText(): string {
  const sections = ['worldd schema 2\n']
  for (let n = random(3); n > 0; n--) sections.push(`component ${name()}\n${fields(true)}`)
  if (random(3) === 0) sections.push(`kind ${name()}\n`)
  sections.push(random(2) === 0 ? 'input raw\n' : `input\n${fields(false)}`)
  for (let n = random(3); n > 0; n--) {
    sections.push(`command ${name()}\n${fields(false)}`)
    if (random(2) === 0) sections.push(`answer\n${fields(false)}`)
  }
  if (random(2) === 0) sections.push(`event ${name()}\n${fields(false)}`)
  return sections.join('')
}

/** Returns an Enter of an entity that has all components of a schema, all fields 0. */
function enter(s: Schema): Uint8Array {
  const row = new BitWriter()
  for (const _ of s.components) row.bits(1, 1)
  for (const c of s.components) for (const f of c.fields) if (!f.owner) f.write(row, new Uint32Array(s.values), f.index)
  const texts = s.texts.filter((f) => !f.owner).length
  const w = new ByteWriter()
  w.u8(1 | (texts > 0 ? 2 << 3 : 0))
  w.uvarint(1)
  w.uvarint(1)
  w.uvarint(0)
  w.uvarint(row.bytes().length)
  w.bytes(row.bytes())
  if (texts > 0) {
    w.uvarint(texts)
    w.bytes(new Uint8Array(texts))
  }
  return w.take()
}

const declaration = declareSchema(`worldd schema 2
component A
A uint 8
X[0].A float 32
X[1].A float 32
component length
A.B quat 9
input
X uint 8
command A
X ref
event B
length string 9
`)

test('a schema text of any names is read, or ends the session with a WireError', async () => {
  const tables = await defaultTables()
  let accepted = 0
  let bound = 0
  let refused = 0
  for (let round = 0; round < 20_000; round++) {
    const text = schemaText()
    const binds = round % 2 === 0
    const s = new Session({ tables, ...(binds && { schema: declaration }) })
    try {
      s.receiveStream(server.welcome({ text }))
    } catch (e) {
      assert.ok(e instanceof WireError && !e.retry, `${JSON.stringify(text)}: ${e}`)
      assert.ok(e.code === 1 || (binds && e.code === 4))
      refused++
      continue
    }
    const schema = s.schema!
    s.receiveStream(server.structure(1, enter(schema)))
    const e = s.replica!.entity(newHandle(1, 1))!
    for (const c of schema.components) {
      const struct = e.get(c.name)!
      assert.equal(Object.getPrototypeOf(struct), null)
      assert.ok(JSON.stringify(struct, (_, v) => (typeof v === 'bigint' ? `${v}` : v)).length < 10_000)
      c.shape.quantise(struct, schema.values)
    }
    if (schema.input) s.setInput({}, 0)
    for (const c of schema.commands) s.do(c.name, {})
    if (binds) bound++
    else accepted++
  }
  assert.ok(accepted > 1000 && bound > 100 && refused > 1000, `${accepted} ${bound} ${refused}`)
  assert.equal(({} as Record<string, unknown>)['A'], undefined)
})

test('paths of a schema describe one struct', () => {
  for (const [fields, valid] of [
    ['X[0] uint 8\nX.length uint 8', false],
    ['Q quat 9\nQ.length uint 8', false],
    ['. uint 8', false],
    ['A uint 8\nA.B uint 8', false],
    ['A.B uint 8\nA uint 8', false],
    ['X[4294967294].Y uint 8', false],
    ['X[0].Y uint 8\nX[2].Y uint 8', false],
    ['A\u2028[0] uint 8\nA\u2028[1] uint 9', false],
    ['X[0].Y uint 8\nX[1].Y uint 8\nX[0].T string 8\nX[1].T string 8', true],
    ['__proto__.length uint 8\nconstructor[0].prototype ref\n0.1 bool', true],
  ] as const) {
    const parse = (): Schema => parseSchema(`worldd schema 2\ncomponent c\n${fields}\ninput raw\n`)
    if (valid) parse()
    else assert.throws(parse, { name: 'WireError', code: 1 }, fields)
  }
})
