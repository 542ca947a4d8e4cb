import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BitReader } from '../src/bits.ts'
import { Past } from '../src/row_parts.ts'
import { Codec } from '../src/rows.ts'
import { parseSchema } from '../src/schema_parser.ts'
import { defaultTables } from '../src/tables.ts'
import { bytes, lines } from './vectors.ts'

interface Line {
  case?: string
  tables: string
  schema: string
  mask: number
  age: number
  gap: number
  base: number[]
  older?: number[]
  bits: string
  error?: unknown
}

// Only Node reports how much of the heap is in use.
test('warm rows allocate nothing', async () => {
  const all = lines<Line>('rows.jsonl')
  const first = all.findIndex((l) => l.case === 'body' && l.tables === 'default.tables')
  const rows = all
    .slice(
      first + 1,
      all.findIndex((l, i) => i > first && l.case !== undefined),
    )
    .filter((l) => l.error === undefined)
  const codec = new Codec(parseSchema(all[first]!.schema), await defaultTables())
  const out = new Uint32Array(codec.schema.values)
  const r = new BitReader()
  const coded = rows.map((l) => {
    const past = new Past()
    past.age = l.age
    past.gap = l.gap
    past.values = Uint32Array.from([...l.base, ...(l.older ?? [])])
    past.older = l.older ? l.base.length : -1
    return { mask: l.mask, past, bits: bytes(l.bits) }
  })
  let read = 0
  const run = (passes: number) => {
    for (let i = 0; i < passes; i++) {
      for (const { mask, past, bits } of coded) {
        r.reset(bits)
        codec.read(r, mask, true, past, out, 0)
        r.expectEnd()
        read++
      }
    }
  }
  // Repeated, since V8 optimises in the background.
  let used = Infinity
  for (let i = 0; i < 100 && !(used >= 0 && used < 500 * coded.length); i++) {
    const before = process.memoryUsage().heapUsed
    run(500)
    used = process.memoryUsage().heapUsed - before
  }
  assert.ok(used < 500 * coded.length, `${used} bytes in ${500 * coded.length} rows`)
  assert.ok(read > 0 && coded.length > 20)
})
