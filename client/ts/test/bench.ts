// Prints how long rows take to decode. It is no test: bundle it and run it with node.

import { BitReader } from '../src/bits.ts'
import { Past } from '../src/row_parts.ts'
import { Codec } from '../src/rows.ts'
import { parseSchema } from '../src/schema_parser.ts'
import { Session } from '../src/session.ts'
import { defaultTables } from '../src/tables.ts'
import type { Step } from './player.ts'
import { bytes, lines } from './vectors.ts'

interface Row {
  case?: string
  schema: string
  tables: string
  mask: number
  owned?: boolean
  age: number
  gap: number
  base: number[]
  older?: number[]
  anchor?: unknown
  bits: string
  values?: number[]
}

const tables = await defaultTables()

/** Measures single rows of a schema with the component body. */
function rows(): void {
  let codec: Codec | undefined
  const all: { line: Row; past: Past; bits: Uint8Array }[] = []
  for (const line of lines<Row>('rows.jsonl')) {
    if (line.case !== undefined) {
      const schema = parseSchema(line.schema)
      if (all.length > 0) break
      codec = line.case === 'body' && line.tables === 'default.tables' ? new Codec(schema, tables) : undefined
      continue
    }
    if (!codec || !line.values || line.anchor) continue
    const past = new Past()
    past.age = line.age
    past.gap = line.gap
    past.values = Uint32Array.from([...line.base, ...(line.older ?? [])])
    past.older = line.older ? line.base.length : -1
    all.push({ line, past, bits: bytes(line.bits) })
  }
  const r = new BitReader()
  const out = new Uint32Array(codec!.schema.values)
  const pass = (): void => {
    for (const { line, past, bits } of all) {
      r.reset(bits)
      codec!.read(r, line.mask, line.owned ?? false, past, out, 0)
    }
  }
  for (let i = 0; i < 3000; i++) pass()
  let best = Infinity
  for (let i = 0; i < 20; i++) {
    const start = performance.now()
    for (let k = 0; k < 200; k++) pass()
    best = Math.min(best, (performance.now() - start) / 200)
  }
  console.log(
    `${all.length} rows of the vectors (${codec!.schema.components.map((c) => c.name)}): ${((best / all.length) * 1e6).toFixed(0)} ns a row, ${((best / all.length) * 100).toFixed(4)} ms for 100`,
  )
}

/** Measures whole datagrams of a simulation. */
function sessions(): void {
  const steps = lines<Step>('simulation-80.jsonl').filter(
    (s) => s.stream !== undefined || s.datagram !== undefined || s.lost,
  )
  const data = steps.map((s) => ({
    lost: s.lost,
    stream: s.stream !== undefined,
    b: bytes(s.stream ?? s.datagram ?? ''),
  }))
  let best = Infinity
  let applied = 0
  for (let i = 0; i < 300; i++) {
    const s = new Session({ tables })
    let time = 0
    for (const { lost, stream, b } of data) {
      if (lost) {
        s.lost(undefined)
        s.reconnect()
        continue
      }
      if (stream) {
        s.receiveStream(b)
        continue
      }
      const start = performance.now()
      s.receiveDatagram(b, 0)
      time += performance.now() - start
    }
    applied = s.replica!.stats.rows + s.replica!.stats.rowsLate
    best = Math.min(best, time / applied)
  }
  console.log(
    `simulation-80, whole datagrams: ${applied} rows, ${(best * 1e6).toFixed(0)} ns a row, ${(best * 100).toFixed(4)} ms for 100`,
  )
}

rows()
sessions()
