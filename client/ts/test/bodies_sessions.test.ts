import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Entity } from '../src/entity.ts'
import { State } from '../src/motion/columns.ts'
import { Session } from '../src/session.ts'
import { simulation } from '../src/simulation.ts'
import { defaultTables } from '../src/tables.ts'
import { bitsOf, readLines } from './hex.ts'
import { bytes } from './vectors.ts'

// A line of client/testdata/bodies.jsonl: see client/bodies_vectors_test.go.
interface Line {
  case?: string
  stream?: string
  datagram?: string
  tick?: number
  count?: number
  sum?: number
}

/** Returns Count and Sum. */
function foldBodies({ replica }: Session): [count: number, sum: number] {
  const s = new State()
  let count = 0
  let x = 0
  for (const e of [...replica!.all].sort((a, b) => a.index - b.index)) {
    const tick = replica!.bodies!.newestState(e.index, s)
    if (tick === 0) continue
    count++
    const numbers = [s.x, s.y, s.z, s.vx, s.vy, s.vz].map(bitsOf)
    for (const v of [e.index, e.generation, ...numbers, s.awake ? 1 : 0, s.rest, tick]) {
      x = Math.imul(x ^ v, 0x9e3779b1)
      x ^= x >>> 15
    }
  }
  return [count, x >>> 0]
}

/** Checks that games see the computed body of an entity. */
function check({ replica }: Session, e: Entity): void {
  const s = new State()
  const { now } = replica!.bodies!
  const { fields } = replica!.schema.components[0]!
  const out = new Float64Array(6)
  e.vectorAt(fields[0]!, 6, { tick: now, newest: now, maxExtrapolate: 15 }, out as never)
  if (replica!.bodies!.newestState(e.index, s) !== now) return
  assert.deepEqual([...out], [s.x, s.y, s.z, s.vx, s.vy, s.vz])
  assert.equal(e.number(fields[1]!), s.y)
  assert.deepEqual({ ...e.get('body') }, { Position: [s.x, s.y, s.z], Velocity: [s.vx, s.vy, s.vz] })
}

test('a snapshot that announces exact rows has one', async () => {
  const lines = readLines<Line>('client/testdata/bodies.jsonl')
  const from = lines.findIndex((l) => l.stream !== undefined)
  const session = new Session({ tables: await defaultTables(), simulation })
  session.receiveStream(bytes(lines[from]!.stream!))
  // Section 8: the bits of a row without its own baseline are 0.
  const datagram = (flags: number) => {
    const d = new Uint8Array(27)
    const v = new DataView(d.buffer)
    d[0] = 64
    v.setUint32(7, 1, true) // seq
    v.setUint32(11, 1000, true) // tick
    d[20] = flags
    d[23] = 1 // row
    return d
  }
  assert.equal(session.receiveDatagram(datagram(0), 0), 'unreadable', 'there is no such entity')
  assert.throws(() => session.receiveDatagram(datagram(16), 0), { code: 1 })
})

test('sessions that simulate compute what the Go client does', async () => {
  const tables = await defaultTables()
  let session!: Session
  let compared = 0
  let ticks = 0
  for (const [i, line] of readLines<Line>('client/testdata/bodies.jsonl').entries()) {
    if (line.case !== undefined) {
      session = new Session({ tables, simulation, observer: { diverge: () => assert.ok(false, 'an audit failed') } })
      continue
    }
    if (line.stream !== undefined) session.receiveStream(bytes(line.stream))
    else session.receiveDatagram(bytes(line.datagram!), 0)
    if (line.tick === undefined) continue
    assert.equal(session.replica!.bodies!.now, line.tick, `line ${i + 1}`)
    assert.deepEqual(foldBodies(session), [line.count, line.sum], `line ${i + 1}, tick ${line.tick}`)
    for (const e of session.replica!.all) check(session, e)
    compared += line.count ?? 0
    ticks++
  }
  const { faults } = session.replica!.bodies!.stats
  assert.equal(faults, 0)
  assert.ok(compared > 4000, `${compared} states in ${ticks} ticks`)
})
