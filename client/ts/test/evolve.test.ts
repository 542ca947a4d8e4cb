// Clients of one version of a game at servers of another.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DeclarationOptions, declareSchema, SchemaError } from '../src/binding.ts'
import { BitReader } from '../src/bits.ts'
import { WireError } from '../src/codes.ts'
import type { Binding } from '../src/declaration.ts'
import type { Field, Text, TextField } from '../src/fields.ts'
import { formatHandle, type Handle, none, parseHandle } from '../src/handles.ts'
import { partsOf } from '../src/paths.ts'
import type { Form, Message, Schema } from '../src/schema.ts'
import { parseSchema } from '../src/schema_parser.ts'
import { assign, find, restoreField, type Struct, type Value } from '../src/values.ts'
import { compareVersions, isVersion } from '../src/version.ts'
import * as versions from './generated/versions.ts'
import { randomOf } from './random.ts'
import { base64, bytes, lines } from './vectors.ts'

type Json = boolean | number | string | readonly number[]
type Values = Readonly<Record<string, Json>>

/** A line of binding.jsonl: see the README of the vectors. */
interface Case {
  about: string
  server: string
  declared: string
  was?: Record<string, Record<string, string[]>>
  defaults?: Record<string, Values>
  misfits?: unknown[]
  changes?: string[]
  received?: { item: string; words?: number[]; texts?: string[]; values: Values }[]
  sent?: { item: string; values: Values; bytes?: string; lacks?: boolean }[]
}

const unknown = { client: '', server: '' }

/** Returns the form of an item, undefined if the schema lacks it. */
function formOf(s: Schema, item: string): Form | undefined {
  if (item === 'input') return s.input
  const [, section, name] = /^(component|command|answer of command|event) "(.*)"$/.exec(item) ?? []
  switch (section) {
    case 'component':
      return s.components.find((c) => c.name === name)
    case 'command':
      return s.commands.find((c) => c.name === name)?.args
    case 'event':
      return s.events.find((e) => e.name === name)?.message
  }
  return s.commands.find((c) => c.name === name)?.answer
}

/** Converts a value in a vector's JSON to the game's value of field f. */
function gameValueOf(f: Field | TextField, v: Json): Value | Text {
  if (!('kind' in f)) return f.bytes ? bytes(String(v)) : String(v)
  if (f.kind === 'ref') return v === 'none' ? none : parseHandle(String(v))!
  return typeof v === 'string' ? BigInt(v) : (v as Value)
}

/** Converts the game's value of field f to a vector's JSON. */
function jsonOf(v: unknown, f: Field | TextField): Json {
  if (v instanceof Uint8Array) return base64(v)
  if (typeof v === 'bigint')
    return !('kind' in f) || f.kind !== 'ref' ? `${v}` : v === none ? 'none' : formatHandle(v as Handle)
  return Array.isArray(v) ? v.map(Math.fround) : (v as Json)
}

function fieldsOf(s: Schema, item: string): Map<string, Field | TextField> {
  const form = formOf(s, item)!
  return new Map([...form.fields, ...form.texts].map((f) => [f.path, f]))
}

function structOf(s: Schema, item: string, values: Values): Struct {
  const root: Struct = {}
  for (const [path, f] of fieldsOf(s, item)) assign(root, partsOf(path), gameValueOf(f, values[path]!))
  return root
}

function optionsOf(c: Case): DeclarationOptions {
  const declared = parseSchema(c.declared)
  const defaults: Record<string, Record<string, Value | Text>> = {}
  for (const [item, values] of Object.entries(c.defaults ?? {})) {
    const fields = fieldsOf(declared, item)
    defaults[item] = Object.fromEntries(
      Object.entries(values).map(([path, v]) => [path, gameValueOf(fields.get(path)!, v)]),
    )
  }
  return { ...(c.was && { was: c.was }), defaults }
}

/** Binds a case. */
function bind(c: Case): { server: Schema; declared: Schema; binding: Binding | undefined } {
  const declaration = declareSchema(c.declared, optionsOf(c))
  const server = parseSchema(c.server)
  return { server, declared: declaration.schema, binding: declaration.bind(server, unknown, false) }
}

function play(c: Case): void {
  if (c.misfits) {
    assert.throws(
      () => bind(c),
      (e) => {
        assert.ok(e instanceof SchemaError && e.code === 4, c.about)
        assert.deepEqual(e.misfits, c.misfits, c.about)
        return true
      },
    )
    return
  }
  const { server, declared, binding } = bind(c)
  assert.deepEqual(binding?.changes ?? [], c.changes ?? [], c.about)
  for (const r of c.received ?? []) {
    const form = formOf(server, r.item)!
    const words = Uint32Array.from(r.words ?? [])
    const base = form.fields[0]?.index ?? 0
    const struct = form.shape.make(
      (i) => restoreField(form.fields[i]!, words, form.fields[i]!.index - base),
      (i) => {
        const b = bytes(r.texts![i]!)
        return form.texts[i]!.bytes ? b : new TextDecoder().decode(b)
      },
    )
    const got: Record<string, Json> = {}
    for (const [path, f] of fieldsOf(declared, r.item)) got[path] = jsonOf(find(struct, partsOf(path)), f)
    assert.deepEqual(got, r.values, `${c.about}: ${r.item}`)
  }
  for (const s of c.sent ?? []) {
    const form = formOf(server, s.item) as Message | undefined
    if (s.lacks) {
      assert.equal(form, undefined)
      if (s.item === 'input') assert.ok(binding!.unservedInput)
      else assert.throws(() => binding!.checkCommand(JSON.parse(s.item.slice('command '.length))), { code: 35 })
      continue
    }
    const p = form!.shape.quantise(structOf(declared, s.item, s.values), form!.values)
    assert.equal(base64(form!.append(p)), s.bytes, `${c.about}: ${s.item}`)
    form!.parse(new BitReader(), form!.append(p))
  }
}

const head = 'worldd schema 2\n'

const cases = lines<Case>('binding.jsonl')

test('binding.jsonl', () => {
  assert.ok(cases.length > 5)
  for (const c of cases) play(c)
})

test('versions.jsonl', () => {
  for (const c of lines<{ a: string; b?: string; order?: number; valid?: boolean }>('versions.jsonl')) {
    assert.equal(isVersion(c.a), c.valid ?? true, c.a)
    if (c.b === undefined) continue
    assert.equal(Math.sign(compareVersions(c.a, c.b)), c.order, `${c.a} ${c.b}`)
    assert.equal(Math.sign(compareVersions(c.b, c.a)), -c.order! || 0, `${c.b} ${c.a}`)
  }
})

test('a misfit says which side is newer, in a bounded message', () => {
  const fields = (kind: string): string => Array.from({ length: 40 }, (_, i) => `F${i} ${kind}\n`).join('')
  const declaration = declareSchema(`${head}component purse\n${fields('bool')}input raw\n`)
  const server = parseSchema(`${head}component purse\n${fields('uint 3')}input raw\n`)
  const messageOf = (client: string, version: string): string => {
    try {
      declaration.bind(server, { client, server: version }, false)
    } catch (e) {
      assert.ok(e instanceof SchemaError && !e.retry)
      assert.equal(e.misfits.length, 40)
      assert.ok(e.message.length < 2500)
      return e.message
    }
    return ''
  }
  assert.match(
    messageOf('1.2', '1.10'),
    /component "purse": the client declares "F0 bool", the server "F0 uint 3"; .*; and 24 more; the server is newer \(1\.10, this client 1\.2\): update the client\)$/,
  )
  assert.match(messageOf('2', '1.9'), /and 24 more; the server is older \(1\.9, this client 2\): update the server\)$/)
  for (const [a, b] of [
    ['', '1'],
    ['1', ''],
    ['1', '1.0'],
  ] as const)
    assert.match(messageOf(a, b), /and 24 more\)$/)
})

test('a strict client refuses any difference', () => {
  const declaration = declareSchema(cases[1]!.declared, optionsOf(cases[1]!))
  assert.throws(
    () => declaration.bind(parseSchema(cases[1]!.server), unknown, true),
    (e) =>
      e instanceof SchemaError &&
      e.changes.length === 10 &&
      e.misfits.length === 0 &&
      /fields reordered/.test(e.message),
  )
  const same = declareSchema(cases[0]!.declared)
  assert.equal(same.bind(parseSchema(cases[0]!.server), unknown, true), undefined)
})

test('a generated module has former paths and defaults', () => {
  const pitch = 'range bff0000000000000 3f80204081020408 254'
  const text = `${head}component "purse"\nSilver int 32\nLooks[0].Tilt ${pitch}\nText string 16\ninput\nTilt ${pitch}\nevent chime\n`
  const server = parseSchema(text)
  assert.ok(versions.schema.bind(server, unknown, false)!.changes.includes('input: field renamed Tilt to Pitch'))
  const purse = server.components[0]!
  const words = Uint32Array.of(9, 254)
  const struct = purse.shape.make(
    (i) => restoreField(purse.fields[i]!, words, i),
    () => 'old',
  )
  assert.equal(
    JSON.stringify(struct, (_, v) => (typeof v === 'bigint' ? `${v}n` : v instanceof Uint8Array ? [...v] : v)),
    JSON.stringify({
      Copper: 9,
      Aims: [
        { Pitch: 1, Turn: [0, 0, 0, 1] },
        { Pitch: 0, Turn: [0, 0, 0, 1] },
      ],
      Note: 'old',
      Total: `${2n ** 63n}n`,
      Enemy: '0n',
      Half: null, // -Infinity
      Debt: true,
      Seal: [1, 2],
    }),
  )
  assert.equal(struct['Half'], -Infinity)
  assert.deepEqual(
    server.events[0]!.message.shape.make(
      () => 0,
      () => '',
    )['Loud'],
    true,
  )
})

test('names of a generated module are those of the schema', () => {
  const name = '\u2028\'\\"'
  const server = parseSchema(`${head}component ${name}\nIt's bool\ninput raw\n`)
  const { changes } = versions.schema.bind(server, unknown, false)!
  assert.ok(changes.includes(`component "\\u2028'\\\\\\"": field renamed It's to Loud`), changes.join('\n'))
})

test('former paths and defaults are own properties of the options', () => {
  const fields = 'constructor uint 8\ntoString uint 8\n__proto__ quat 9\nvalueOf string 5\n'
  const declaration = declareSchema(`${head}component constructor\n${fields}input raw\n`, {
    was: { 'component "constructor"': { toString: ['Name'] } },
    defaults: { 'component "constructor"': { ['__proto__']: [1, 0, 0, 0] } },
  })
  const server = parseSchema(`${head}component constructor\nName uint 8\ninput raw\n`)
  const binding = declaration.bind(server, unknown, false)!
  assert.deepEqual(binding.changes, [
    'component "constructor": field added constructor',
    'component "constructor": field renamed Name to toString',
    'component "constructor": field added __proto__',
    'component "constructor": field added valueOf',
  ])
  const struct = server.components[0]!.shape.make(
    () => 4,
    () => '',
  )
  assert.deepEqual(Object.entries(struct), [
    ['toString', 4],
    ['constructor', 0],
    ['__proto__', [1, 0, 0, 0]],
    ['valueOf', ''],
  ])
})

test('schemas with the same hash are compared by their text', () => {
  const declaration = declareSchema(`${head}component purse\nCoins uint 8\ninput raw\n`)
  const server = { ...parseSchema(`${head}component purse\nGold uint 8\ninput raw\n`), hash: declaration.schema.hash }
  assert.deepEqual(declaration.bind(server, unknown, false)?.changes, [
    'component "purse": field added Coins',
    'component "purse": field dropped Gold',
  ])
})

test('changes are printable', () => {
  const declaration = declareSchema(`${head}component purse\ninput raw\n`)
  const server = parseSchema(`${head}component purse\nA\u202eb\u2066 uint 8\ninput raw\n`)
  assert.deepEqual(declaration.bind(server, unknown, false)!.changes, [
    'component "purse": field dropped A\\u202eb\\u2066',
  ])
  const other = declareSchema(`${head}component \u202e\nA uint 8\ninput raw\n`)
  assert.throws(
    () => other.bind(parseSchema(`${head}component \u202e\nA bool\ninput raw\n`), unknown, false),
    (e) => e instanceof SchemaError && e.misfits[0]?.item === 'component "\\u202e"',
  )
})

test('arrays of defaults are copied', () => {
  const { server } = bind(cases[1]!)
  const purse = server.components[0]!
  const values = new Uint32Array(4)
  const make = (): Struct =>
    purse.shape.make(
      (i) => restoreField(purse.fields[i]!, values, purse.fields[i]!.index),
      () => 'x',
    )
  make()['Q'][3] = 5
  assert.deepEqual(make()['Q'], [0, 0, 0, 1])
})

test('declared paths name the fields of the server', () => {
  const { server } = bind(cases[1]!)
  const purse = server.components[0]!
  assert.equal(purse.field('Copper'), purse.fields[0])
  assert.equal(purse.field('Aim.Pitch'), purse.fields[2])
  assert.equal(purse.field('Gold'), undefined)
  assert.equal(purse.field('Fee'), undefined)
})

test('hostile schema texts end in a WireError, or bind', () => {
  const next = randomOf(40)
  const random = (n: number): number => Math.floor(next() * n)
  let bound = 0
  let refused = 0
  for (let round = 0; round < 5000; round++) {
    const c = cases[random(cases.length)]!
    const rows = c.server.split('\n')
    for (let n = random(3); n >= 0; n--) {
      const at = 1 + random(rows.length - 1)
      const other = cases[random(cases.length)]!.server.split('\n')
      if (random(3) === 0) rows.splice(at, 1)
      else if (random(2) === 0) rows.splice(at, 0, other[1 + random(other.length - 1)]!)
      else rows[at] = rows[at]!.replace(/\w+/, () => ['__proto__', 'constructor', 'X[0]', 'X', '0', 'A.B'][random(6)]!)
    }
    try {
      const server = parseSchema(rows.join('\n'))
      declareSchema(c.declared, optionsOf(c)).bind(server, unknown, false)
      for (const form of [...server.components, ...server.events.map((e) => e.message)]) {
        const values = new Uint32Array(server.values + 64 * 2)
        const s = form.shape.make(
          (i) => restoreField(form.fields[i]!, values, form.fields[i]!.index),
          (i) => (form.texts[i]!.bytes ? new Uint8Array(1) : 'x'),
        )
        assert.equal(Object.getPrototypeOf(s), null)
        form.shape.quantise(s, values.length)
      }
      bound++
    } catch (e) {
      if (!(e instanceof WireError)) throw e
      refused++
    }
  }
  assert.ok(bound > 500 && refused > 500, `${bound} ${refused}`)
  assert.equal(({} as Struct)['B'], undefined)
})
