import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BitReader } from '../src/bits.ts'
import { WireError } from '../src/codes.ts'
import { formatHandle, generationOf, indexOf, newHandle, parseHandle } from '../src/handles.ts'
import { maxBack } from '../src/limits.ts'
import { State } from '../src/motion/columns.ts'
import { auditBody, audited, Exact, readBody } from '../src/motion/exact.ts'
import { type Extension, firstTick, ticksOf, type Way } from '../src/motion/extension.ts'
import { Codec } from '../src/rows.ts'
import type { Schema } from '../src/schema.ts'
import { parseSchema } from '../src/schema_parser.ts'
import { simulation } from '../src/simulation.ts'
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
  tick_hz?: number
  structure?: string
  state?: string
  row?: { tick: number; k: number; age: number; gap: number; grid: number[]; bits: string }
  audited?: { seq: number; handles: string[] | null; bodies: BodyBits[] | null }
  error?: string
}

function floatBits(x: number): number {
  return new Uint32Array(Float32Array.of(x).buffer)[0]!
}

function bitsOf(b: State): BodyBits {
  return {
    position: [b.x, b.y, b.z].map(floatBits),
    velocity: [b.vx, b.vy, b.vz].map(floatBits),
    awake: b.awake,
    rest: b.rest,
  }
}

function floats(bits: number[]): Float32Array {
  return new Float32Array(Uint32Array.from(bits).buffer)
}

function pathBits({ path: p, leader }: Way): object {
  return {
    form: p.form,
    center: bits(p.center),
    velocity: bits(p.velocity),
    axes: [bits(p.axisU), bits(p.axisV)],
    phase: p.phase,
    rate: p.rate,
    leader: formatHandle(newHandle(leader.slot, leader.generation)),
  }
}

const bits = (f: Float32Array): number[] => [...f].map(floatBits)

function extension(x: Extension, tick: number, back: number): object {
  switch (x.type) {
    case 'program':
      return { op: x.type, program: x.number, code: base64(x.code) }
    case 'kind': {
      const k = x.body
      return {
        op: x.type,
        kind: x.kind,
        constants: [k.inverseMass, k.coupling, k.radius, k.friction, k.restitution].map(floatBits),
        layers: k.layers,
      }
    }
    case 'added': {
      const { first, born, last } = ticksOf(x, tick, back + 1)
      return {
        op: x.type,
        ...x.effect,
        program: x.program,
        mode: x.mode,
        layers: x.layers,
        born,
        first,
        last,
        path: pathBits(x.way),
        params: bits(x.params),
      }
    }
    case 'changed':
      return {
        op: x.type,
        ...x.effect,
        first: firstTick(tick, x.back, back + 1),
        what: (x.way ? 1 : 0) + (x.params ? 2 : 0),
        path: x.way ? pathBits(x.way) : undefined,
        params: x.params ? bits(x.params) : undefined,
      }
  }
  return { op: x.left ? 'left' : 'ended', ...x.effect, first: firstTick(tick, x.back, back + 1) }
}

function enter(x: StructureRecord, codec: Codec, schema: Schema, tick: number, back: number): object {
  const r = new BitReader()
  r.reset(x.row)
  const mask = codec.readMask(r)
  const values = new Uint32Array(schema.values)
  codec.readFull(r, mask, x.owned, values, 0)
  const grid = Float32Array.from(schema.components[0]!.fields, (f) => f.low + values[f.index]! * f.step)
  const b = new State()
  readBody(r, x.form + 1, grid, schema.motion!.restTicks, b)
  r.expectEnd()
  if (x.back >= tick || x.back > back) throw new WireError(1)
  return {
    op: 'enter',
    slot: x.index,
    generation: x.generation,
    kind: x.kind,
    form: x.form,
    back: x.back,
    values: [...values],
    body: bitsOf(b),
  }
}

function row(l: NonNullable<Line['row']>, schema: Schema, back: number): object {
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
  const exact = new Exact(back)
  exact.read(r, l.tick, age)
  const b = new State()
  if (exact.form > 0) readBody(r, exact.form, floats(l.grid), schema.motion!.restTicks, b)
  r.expectEnd()
  if (exact.form === 0) return { skip, age, gap, exact: false, form: 0, back: 0 }
  return { skip, age, gap, exact: true, form: exact.form - 1, back: exact.back, body: bitsOf(b) }
}

function audit(l: NonNullable<Line['audited']>): number {
  let sum = 0
  ;(l.handles ?? []).forEach((handle, i) => {
    const h = parseHandle(handle)!
    if (!audited(indexOf(h), l.seq)) return
    const { position, velocity, awake, rest } = l.bodies![i]!
    const [x, y, z] = floats(position)
    const [vx, vy, vz] = floats(velocity)
    sum = auditBody(sum, indexOf(h), generationOf(h), Object.assign(new State(), { x, y, z, vx, vy, vz, awake, rest }))
  })
  return sum
}

/** Drops members that are 0, empty or absent, as the vector files do. */
function compact(records: object[]): unknown {
  const keep = ([, v]: [string, unknown]) => v !== 0 && v !== undefined && !(Array.isArray(v) && v.length === 0)
  return records.map((r) => Object.fromEntries(Object.entries(r).filter(keep)))
}

test('exact.jsonl', async () => {
  const all = lines<Line & Record<string, unknown>>('exact.jsonl')
  const schema = parseSchema(all[0]!.schema!)
  const codec = new Codec(schema, await defaultTables())
  const read = (l: Line): object => {
    const back = maxBack(l.tick_hz ?? schema.motion!.tickHz)
    if (l.structure !== undefined) {
      const m = parseStructure(bytes(l.structure), simulation)
      return {
        records: compact(
          m.records.map((x) =>
            x.extension ? extension(x.extension, m.ticks, back) : enter(x, codec, schema, m.ticks, back),
          ),
        ),
      }
    }
    if (l.state !== undefined) {
      const h = new StateHeader()
      h.parse(bytes(l.state))
      return {
        header: {
          complete: h.complete,
          continued: h.continued,
          exact: h.exact,
          ...(h.audited && { audit: h.audit }),
          rows: h.rows,
        },
      }
    }
    return l.row ? { read: row(l.row, schema, back) } : { audit: audit(l.audited!) }
  }
  for (const l of all.slice(1)) {
    if (l.error !== undefined) {
      assert.throws(() => read(l), { name: 'WireError' }, l.about)
      continue
    }
    const { about, structure, state, row, audited, tick_hz, ...want } = l
    if (want.records) want.records = compact(want.records as object[])
    assert.deepEqual(read(l), want, about)
  }
  assert.ok(all.length > 90, `${all.length} lines`)
})
