import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BitReader, ByteReader } from '../src/bits.ts'
import { WireError } from '../src/codes.ts'
import { State } from '../src/motion/columns.ts'
import { audited, auditBody, Exact, Form, readBody } from '../src/motion/exact.ts'
import { type Extension, firstTick, readExtension, ticksOf, type Way } from '../src/motion/extension.ts'
import { bitsOf, floatOf, readLines } from './hex.ts'

// A line of replication/wire/testdata/vectors/exact.jsonl: see the README there.
interface Line {
  about: string
  structure?: string
  state?: string
  row?: { tick: number; k: number; age: number; gap: number; grid: number[]; bits: string }
  audited?: { seq: number; handles: string[]; bodies: Body[] }
  records?: Record<string, unknown>[]
  read?: { skip: number; age: number; gap: number; exact: boolean; form: number; back: number; body?: Body }
  audit?: number
  error?: string
}

interface Body {
  position: number[]
  velocity: number[]
  awake: boolean
  rest: number
}

const lines = readLines<Line>('replication/wire/testdata/vectors/exact.jsonl').slice(1)
const restTicks = 30

function bytes(base64: string): Uint8Array {
  return new Uint8Array(Buffer.from(base64, 'base64'))
}

function bodyOf(s: State): Body {
  return { position: [s.x, s.y, s.z].map(bitsOf), velocity: [s.vx, s.vy, s.vz].map(bitsOf), awake: s.awake, rest: s.rest }
}

function stateOf(b: Body): State {
  const [x, y, z] = b.position.map(floatOf)
  const [vx, vy, vz] = b.velocity.map(floatOf)
  return Object.assign(new State(), { x, y, z, vx, vy, vz, rest: b.rest, awake: b.awake })
}

/** fails returns the name of the error that f throws, or undefined. */
function fails(f: () => void): string | undefined {
  try {
    f()
  } catch (e) {
    assert.ok(e instanceof WireError, `${e}`)
    return e.codeName
  }
}

function pathOf({ path, leader }: Way) {
  const bits = (v: Float32Array) => [...v].map(bitsOf)
  return {
    form: path.form, center: bits(path.center), velocity: bits(path.velocity), axes: [bits(path.axisU), bits(path.axisV)],
    phase: path.phase, rate: path.rate, leader: path.form === 3 ? `${leader.slot}v${leader.generation}` : 'none',
  }
}

/** recordOf returns an extension as the vectors have it, without zeros. */
function recordOf(x: Extension, tick: number): Record<string, unknown> {
  if (x.type === 'program') return { op: x.type, program: x.number, code: Buffer.from(x.code).toString('base64') }
  if (x.type === 'kind') {
    const { inverseMass, coupling, radius, friction, restitution, layers } = x.body
    return { op: x.type, kind: x.kind, layers, constants: [inverseMass, coupling, radius, friction, restitution].map(bitsOf) }
  }
  const head = { slot: x.effect.slot, generation: x.effect.generation }
  if (x.type === 'ended') return { op: x.left ? 'left' : 'ended', ...head, first: firstTick(tick, x.back) }
  const params = x.params === null ? [] : [...x.params].map(bitsOf)
  if (x.type === 'changed') {
    const what = (x.way === null ? 0 : 1) + (x.params === null ? 0 : 2)
    return { op: x.type, ...head, first: firstTick(tick, x.back), what, path: x.way === null ? undefined : pathOf(x.way), params }
  }
  const { program, mode, layers } = x
  return { op: x.type, ...head, program, mode, layers, ...ticksOf(x, tick), path: pathOf(x.way), params }
}

/** lasting returns a record without what Go's JSON leaves out. */
function lasting(r: Record<string, unknown>): Record<string, unknown> {
  const none = (v: unknown) => v === undefined || v === 0 || (Array.isArray(v) && v.length === 0)
  return Object.fromEntries(Object.entries(r).filter(([, v]) => !none(v)))
}

/** enterOf reads an Enter after its head, of the one component body. */
function enterOf(r: ByteReader, tick: number): Record<string, unknown> {
  const [slot, generation, kind] = [r.uvarint('slot'), r.uvarint('generation'), r.uvarint('kind')]
  const formed = r.u8()
  const bits = new BitReader()
  bits.reset(r.bytes(r.uvarint('row')))
  assert.equal(bits.bits(1), 1)
  const values = [20, 20, 20, 14, 14, 14].map(n => bits.long(n))
  const grid = values.map((q, i) => (i < 3 ? q / 256 - 1024 : q / 32 - 128))
  const s = new State()
  readBody(bits, (formed & 3) + 1, grid, restTicks, s)
  const back = formed >> 2
  if (back >= tick) bits.refuse('a state before tick 1')
  bits.expectEnd()
  return { op: 'enter', slot, generation, kind, form: formed & 3, back, values, body: bodyOf(s) }
}

function structureOf(b: Uint8Array): Record<string, unknown>[] {
  const r = new ByteReader(b)
  r.uvarint('first')
  const tick = r.uvarint('ticks')
  const records = []
  while (r.left > 0) {
    const head = r.u8()
    records.push((head & 7) === 7 ? recordOf(readExtension(r, head >> 3), tick) : enterOf(r, tick))
  }
  return records
}

function rowOf(row: NonNullable<Line['row']>): NonNullable<Line['read']> {
  const r = new BitReader()
  r.reset(bytes(row.bits))
  const skip = r.golomb(row.k)
  let { age, gap } = row
  if (r.bits(1) === 1) {
    age = r.golomb(4)
    gap = age === 0 ? 0 : r.golomb(2)
  }
  const e = new Exact()
  e.read(r, row.tick, age)
  const exact = e.form !== Form.ordinary
  const s = new State()
  if (exact) readBody(r, e.form, row.grid.map(floatOf), restTicks, s)
  r.expectEnd()
  return { skip, age, gap, exact, form: exact ? e.form - 1 : 0, back: e.back, ...(exact && { body: bodyOf(s) }) }
}

for (const line of lines) {
  if (line.structure !== undefined) {
    test(`exact: ${line.about}`, () => {
      let got: Record<string, unknown>[] = []
      assert.equal(fails(() => (got = structureOf(bytes(line.structure!)))), line.error)
      if (line.error === undefined) assert.deepEqual(got.map(lasting), line.records!.map(lasting))
    })
  } else if (line.row !== undefined) {
    test(`exact: ${line.about}`, () => {
      assert.equal(fails(() => assert.deepEqual(rowOf(line.row!), line.read)), line.error)
    })
  } else if (line.audited !== undefined) {
    test(`exact: ${line.about}`, () => {
      let sum = 0
      line.audited!.bodies.forEach((b, i) => {
        const [slot, generation] = line.audited!.handles[i].split('v').map(Number)
        if (audited(slot, line.audited!.seq)) sum = auditBody(sum, slot, generation, stateOf(b))
      })
      assert.equal(sum, line.audit)
    })
  }
}
