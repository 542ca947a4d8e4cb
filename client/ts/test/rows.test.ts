import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BitReader } from '../src/bits.ts'
import { mag, short } from '../src/row_arith.ts'
import { maxDoubleN, Past } from '../src/row_parts.ts'
import { Codec } from '../src/rows.ts'
import { parseSchema } from '../src/schema_parser.ts'
import { defaultTables, Tables } from '../src/tables.ts'
import { bytes, lines, readFile, readVector } from './vectors.ts'

interface Line {
  case?: string
  protocol: number
  tables: string
  tables_version: string
  schema: string
  schema_hash: string
  mask: number
  owned?: boolean
  age: number
  gap: number
  base: number[]
  older?: number[]
  anchor?: { component: number; now: number[]; base: number[]; older?: number[] }
  bits: string
  values?: number[]
  error?: unknown
}

const hex = (v: number | bigint, digits: number): string => v.toString(16).padStart(digits, '0')

function pastOf(line: Line): Past {
  const past = new Past()
  past.age = line.age
  past.gap = line.gap
  past.values = Uint32Array.from([...line.base, ...(line.older ?? [])])
  past.older = line.older ? line.base.length : -1
  if (line.anchor) {
    const a = line.anchor
    past.anchor = a.component ?? 0
    past.anchorNow = Uint32Array.from(a.now)
    past.anchorPast = Uint32Array.from([...a.base, ...(a.older ?? [])])
    past.anchorOlder = a.older ? a.base.length : -1
  }
  return past
}

const received = (c: Codec): number => c.received.reduce((n, x) => n + x.bits, 0)

test('rows.jsonl', () => {
  let codec!: Codec
  let rows = 0
  for (const line of lines<Line>('rows.jsonl')) {
    if (line.case !== undefined) {
      const schema = parseSchema(line.schema)
      assert.equal(hex(schema.hash, 16), line.schema_hash)
      const tables = new Tables(
        line.tables === 'rows.tables' ? readVector('rows.tables') : readFile('internal/rowcodec/default.tables'),
      )
      assert.equal(hex(tables.version, 8), line.tables_version)
      codec = new Codec(schema, tables)
      continue
    }
    const r = new BitReader()
    const out = new Uint32Array(codec.schema.values + 3)
    const read = () => {
      r.reset(bytes(line.bits))
      codec.read(r, line.mask, line.owned ?? false, pastOf(line), out, 3)
      r.expectEnd()
    }
    rows++
    if (line.error !== undefined) assert.throws(read, { name: 'WireError' }, JSON.stringify(line))
    else {
      const before = received(codec)
      read()
      assert.equal(received(codec) - before, r.taken, 'all bits are counted')
      assert.deepEqual([...out.subarray(3)], line.values, JSON.stringify(line))
    }
  }
  assert.ok(rows > 900, `${rows} rows`)
})

test('the default tables', async () => {
  const packed = await defaultTables()
  assert.equal(hex(packed.version, 8), '1a382045')
  assert.equal(packed.version, new Tables(readFile('internal/rowcodec/default.tables')).version)
})

test('tables that are cut off or changed are refused', () => {
  const file = readVector('rows.tables')
  for (const n of [0, 14, 15, 16, 100, file.length - 1])
    assert.throws(() => new Tables(file.subarray(0, n)), { name: 'WireError' }, `${n} bytes`)
  const more = new Uint8Array(file.length + 1)
  more.set(file)
  assert.throws(() => new Tables(more), { name: 'WireError' })
})

test('mag', () => {
  // The formula of CODEC.md, in BigInt.
  const page = (v: bigint): number => {
    const u = v + 1n < 1n << 40n ? v + 1n : 1n << 40n
    const n = BigInt(u.toString(2).length - 1)
    return Number(4n * n + ((u - (1n << n)) * 4n) / (1n << n))
  }
  for (let k = 0n; k < 50n; k++) {
    for (const d of [-2n, -1n, 0n, 1n, 2n, (1n << k) / 2n, (1n << k) / 4n]) {
      const v = (1n << k) + d
      if (v >= 0n) assert.equal(mag(Number(v)), page(v), `mag(${v})`)
    }
  }
})

test('the short way', () => {
  assert.equal(short(0, 4, 8), 4)
  assert.equal(short(4, 0, 8), 4)
  assert.equal(short(0, 5, 8), -3)
  assert.equal(short(5, 0, 8), 3)
  assert.equal(short(0, 3, 7), 3)
  assert.equal(short(0, 4, 7), -3)
})

// CODEC.md, "Doubles": the largest products by its formulas.
test('doubles suffice up to maxDoubleN', () => {
  const r = 2 ** 21
  const n = maxDoubleN
  const arm = (3.5 * Math.sqrt(3) * n * 2 ** 14) / 2 ** 6
  assert.ok((n * 256 + arm) * r <= 2 ** 53, 'mismatch')
  assert.ok((2 * n * 256 + 2 * arm) * r > 2 ** 53, 'the bound is tight')
})
