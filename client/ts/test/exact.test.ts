import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BitReader } from '../src/bits.ts'
import { WireError } from '../src/codes.ts'
import { Audit, type BodyState, type Extension, floatBits, gridOf, type Path, readBody, readForm, ticksOf } from '../src/exact.ts'
import { newHandle, formatHandle, indexOf, generationOf, parseHandle } from '../src/handles.ts'
import { Codec } from '../src/rows.ts'
import { parseSchema, type Schema } from '../src/schema.ts'
import { Baseline, StateHeader } from '../src/state.ts'
import { parseStructure, type StructureRecord } from '../src/structure.ts'
import { defaultTables } from '../src/tables.ts'
import { base64, bytes, lines } from './vectors.ts'

interface BodyBits {
  position: number[]
  velocity: number[]
  awake: boolean
  rest: number
}

interface Line {
  schema?: string
  about: string
  structure?: string
  state?: string
  row?: { tick: number; k: number; age: number; gap: number; grid: number[]; bits: string }
  audited?: { seq: number; handles: string[] | null; bodies: BodyBits[] | null }
  error?: string
}

const body = (): BodyState => ({ x: 0, y: 0, z: 0, vx: 0, vy: 0, vz: 0, awake: false, rest: 0 })

function bitsOf(b: BodyState): BodyBits {
  return { position: [b.x, b.y, b.z].map(floatBits), velocity: [b.vx, b.vy, b.vz].map(floatBits), awake: b.awake, rest: b.rest }
}

function floats(bits: number[]): Float32Array {
  return new Float32Array(Uint32Array.from(bits).buffer)
}

function pathBits(p: Path): object {
  return {
    form: p.form, center: p.center.map(floatBits), velocity: p.velocity.map(floatBits), axes: p.axes.map((a) => a.map(floatBits)),
    phase: p.phase, rate: p.rate, leader: formatHandle(newHandle(p.index, p.generation)),
  }
}

const bits = (f: Float32Array): number[] => [...f].map(floatBits)

function extension(x: Extension, tick: number): object {
  switch (x.op) {
    case 'program':
      return { op: x.op, program: x.program, code: base64(x.code) }
    case 'kind':
      return { op: x.op, kind: x.kind, constants: bits(x.constants), layers: x.layers }
    case 'added': {
      const { first, born, last } = ticksOf(x, tick)
      return { op: x.op, slot: x.slot, generation: x.generation, program: x.program, mode: x.mode, layers: x.layers, born, first, last, path: pathBits(x.path), params: bits(x.params) }
    }
    case 'changed':
      return {
        op: x.op, slot: x.slot, generation: x.generation, first: ticksOf(x, tick).first, what: (x.path ? 1 : 0) + (x.params ? 2 : 0),
        path: x.path && pathBits(x.path), params: x.params && bits(x.params),
      }
  }
  return { op: x.op, slot: x.slot, generation: x.generation, first: ticksOf(x, tick).first }
}

function enter(x: StructureRecord, codec: Codec, schema: Schema, tick: number): object {
  const r = new BitReader()
  r.reset(x.row)
  const mask = codec.readMask(r)
  const values = new Uint32Array(schema.values)
  codec.readFull(r, mask, x.owned, values, 0)
  const grid = new Float32Array(6)
  gridOf(schema, values, 0, grid)
  const b = body()
  readBody(r, x.form, grid, schema.motion!.restTicks, b)
  r.expectEnd()
  if (x.back >= tick) throw new WireError(1)
  return { op: 'enter', slot: x.index, generation: x.generation, kind: x.kind, form: x.form, back: x.back, values: [...values], body: bitsOf(b) }
}

function row(l: NonNullable<Line['row']>, schema: Schema): object {
  const r = new BitReader()
  r.reset(bytes(l.bits))
  const skip = r.golomb(l.k)
  let { age, gap } = l
  if (r.bits(1) === 1) {
    const own = new Baseline()
    own.read(r, l.tick)
    age = own.age
    gap = own.gap
  }
  const exact = r.bits(1) === 1
  if (!exact) {
    r.expectEnd()
    return { skip, age, gap, exact, form: 0, back: 0 }
  }
  const form = readForm(r, l.tick, age)
  const b = body()
  readBody(r, form & 3, floats(l.grid), schema.motion!.restTicks, b)
  r.expectEnd()
  return { skip, age, gap, exact, form: form & 3, back: form >> 2, body: bitsOf(b) }
}

function audit(l: NonNullable<Line['audited']>): number {
  const a = new Audit()
  ;(l.handles ?? []).forEach((handle, i) => {
    const h = parseHandle(handle)!
    if (indexOf(h) % 32 !== l.seq % 32) return
    const { position, velocity, awake, rest } = l.bodies![i]
    const [x, y, z] = floats(position)
    const [vx, vy, vz] = floats(velocity)
    a.add(indexOf(h), generationOf(h), { x, y, z, vx, vy, vz, awake, rest })
  })
  return a.value
}

/** compact drops members that are 0, empty or absent, as the file does. */
function compact(records: object[]): unknown {
  const keep = ([, v]: [string, unknown]) => v !== 0 && v !== undefined && !(Array.isArray(v) && v.length === 0)
  return records.map((r) => Object.fromEntries(Object.entries(r).filter(keep)))
}

test('exact.jsonl', async () => {
  const all = lines<Line & Record<string, unknown>>('exact.jsonl')
  const schema = parseSchema(all[0].schema!)
  const codec = new Codec(schema, await defaultTables())
  const read = (l: Line): object => {
    if (l.structure !== undefined) {
      const m = parseStructure(bytes(l.structure))
      return { records: compact(m.records.map((x) => (x.extension ? extension(x.extension, m.ticks) : enter(x, codec, schema, m.ticks)))) }
    }
    if (l.state !== undefined) {
      const h = new StateHeader()
      h.parse(bytes(l.state))
      return { header: { complete: h.complete, continued: h.continued, ...(h.audited && { audit: h.audit }), rows: h.rows } }
    }
    return l.row ? { read: row(l.row, schema) } : { audit: audit(l.audited!) }
  }
  for (const l of all.slice(1)) {
    if (l.error !== undefined) {
      assert.throws(() => read(l), { name: 'WireError' }, l.about)
      continue
    }
    const { about, structure, state, row, audited, ...want } = l
    if (want.records) want.records = compact(want.records as object[])
    assert.deepEqual(read(l), want, about)
  }
  assert.ok(all.length > 90, `${all.length} lines`)
})
