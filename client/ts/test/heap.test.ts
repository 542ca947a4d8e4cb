import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { BitWriter, ByteWriter } from '../src/bits.ts'
import { Budget } from '../src/budget.ts'
import { Bodies } from '../src/motion/bodies.ts'
import { State } from '../src/motion/columns.ts'
import { nobody } from '../src/motion/extension.ts'
import { hashOf } from '../src/schema_parser.ts'
import { Session } from '../src/session.ts'
import { Fold } from '../src/state.ts'
import { defaultTables } from '../src/tables.ts'
import { codes, kinds, motion } from './moving_world.ts'
import { destroy, structure, welcome } from './server.ts'

const text = `worldd schema 2
component place
Position[0] range c090000000000000 3f70000000000000 524288 linear
Position[1] range c090000000000000 3f70000000000000 524288 linear
Position[2] range c090000000000000 3f70000000000000 524288 linear
Yaw angle 8
kind crate
input
X int 8
`

/** Writes PROTOCOL.md's golomb(k, v). */
function golomb(w: BitWriter, k: number, v: number): void {
  const u = v + 2 ** k
  const m = 31 - Math.clz32(u)
  for (let i = k; i < m; i++) w.bits(1, 1)
  w.bits(0, 1)
  w.bits(u - 2 ** m, m)
}

function place(w: BitWriter, at: number): void {
  for (const x of [at, 2 * at, 3 * at]) w.bits(x % 524_289, 20)
  w.bits(at & 255, 8)
}

/** Returns an Enter of a crate. */
function enter(slot: number, generation: number): Uint8Array {
  const row = new BitWriter()
  row.bits(1, 1)
  place(row, slot)
  const w = new ByteWriter()
  w.u8(1)
  for (const v of [slot, generation, 0, row.bytes().length]) w.uvarint(v)
  w.bytes(row.bytes())
  return w.take()
}

/** Returns a State datagram with full rows of entities. */
function snapshot(entities: readonly Crate[]): Uint8Array {
  const fold = new Fold()
  const bits = new BitWriter()
  if (entities.length > 0) {
    bits.bits(0, 4) // k
    golomb(bits, 4, 0) // no baseline
  }
  let next = 0
  for (const { slot, generation } of entities) {
    fold.add(slot, generation)
    golomb(bits, 0, slot - next)
    bits.bits(0, 1)
    next = slot + 1
  }
  for (const { slot } of entities) place(bits, 7 * slot)
  const w = new ByteWriter()
  w.bytes(Uint8Array.of(64, 0, 0, 0, 0, 0xff, 0xff))
  for (let i = 0; i < 3; i++) w.u32(0)
  w.bytes(Uint8Array.of(0, 0, fold.value & 255, fold.value >> 8))
  w.uvarint(entities.length)
  w.bytes(bits.bytes())
  return w.take()
}

/** Sends one datagram repeatedly, with new numbers. */
class Sender {
  private readonly session: Session
  private bytes!: Uint8Array
  private view!: DataView
  private seq = 0
  private tick = 100
  time = 0

  constructor(session: Session, datagram: Uint8Array) {
    this.session = session
    this.datagram = datagram
  }

  set datagram(d: Uint8Array) {
    this.bytes = d
    this.view = new DataView(d.buffer, d.byteOffset)
  }

  /** Applies n snapshots, two ticks apart. */
  send(n: number): void {
    const { view, session } = this
    for (let i = 0; i < n; i++) {
      this.tick += 2
      this.time += 1000 / 30
      view.setUint32(7, ++this.seq, true)
      view.setUint32(11, this.tick, true)
      view.setUint32(15, session.replica!.structure, true)
      assert.equal(session.receiveDatagram(this.bytes, this.time), 'applied')
    }
  }
}

/**
 * Returns the median of the bytes that run allocates. run must allocate so little that most
 * calls see no garbage collection. It repeats until the median is below enough, since V8
 * optimises in the background.
 */
function usual(enough: number, run: () => void): number {
  let bytes = Infinity
  for (let i = 0; i < 50 && bytes >= enough; i++) {
    const all = new Float64Array(51)
    for (let k = 0; k < all.length; k++) {
      const before = process.memoryUsage().heapUsed
      run()
      all[k] = process.memoryUsage().heapUsed - before
    }
    bytes = all.sort()[25]!
  }
  return bytes
}

interface Crate {
  readonly slot: number
  readonly generation: number
}

const crates = (n: number): Crate[] => Array.from({ length: n }, (_, slot) => ({ slot, generation: 1 }))

test('a warm snapshot allocates nothing for a row', async () => {
  const rows = 100
  const snapshots = 50
  let updates = 0
  const s = new Session({ tables: await defaultTables(), observer: { update: () => updates++ } })
  s.receiveStream(welcome({ text, schema: hashOf(text) }))
  s.receiveStream(structure(1, ...crates(rows).map((c) => enter(c.slot, c.generation))))
  const sender = new Sender(s, snapshot(crates(rows)))
  const enough = 8 * rows * snapshots // any object has at least 12 bytes
  const used = usual(enough, () => sender.send(snapshots))
  assert.ok(used < enough, `${used / snapshots} bytes for a snapshot of ${rows} rows`)
  assert.equal(updates, s.replica!.stats.rows)
  assert.ok(updates >= 51 * rows * snapshots)
})

/** Bodies under effects. */
class Crowd {
  private readonly budget = new Budget()
  readonly bodies = new Bodies({ motion, kinds: kinds.map((body) => ({ body })), budget: this.budget })
  private seq = 0
  private effects = 0

  constructor(n: number) {
    codes.forEach((code, number) => this.bodies.applyExtension({ type: 'program', number, code }, 1, () => true))
    for (let slot = 1; slot <= n; slot++) this.enter(slot, 1)
  }

  enter(slot: number, generation: number): void {
    const s = Object.assign(new State(), { x: slot % 29, y: 10, z: slot % 23, vx: slot % 7, vz: 1, awake: true })
    this.bodies.applyEnter({ slot, generation }, 1, Math.max(this.bodies.now, 1), s)
  }

  /** Adds an effect with a program. It ends after life ticks, or never if life is 0. */
  push(program: number, life: number): void {
    const effect = { slot: 10_000 + (this.effects++ % 100), generation: 1 + 2 * Math.floor(this.effects / 100) }
    const path = {
      form: 0,
      center: new Float32Array([3, 9, 2]),
      velocity: zero,
      axisU: zero,
      axisV: zero,
      phase: 0,
      rate: 0,
    }
    this.bodies.applyExtension(
      {
        type: 'added',
        effect,
        program,
        mode: 0,
        layers: 2,
        back: 0,
        age: 1,
        life,
        way: { path, leader: nobody },
        params: new Float32Array(0),
      },
      this.bodies.now,
      () => true,
    )
  }

  /** Computes n snapshots, two ticks apart. */
  step(n: number): void {
    for (let i = 0; i < n; i++) {
      const tick = this.bodies.now + 2
      this.budget.pay((tick * 1000) / motion.tickHz)
      this.bodies.applySnapshot(
        { seq: ++this.seq, tick, structure: 0, complete: true, continued: false, audited: false, audit: 0 },
        0,
      )
      assert.equal(this.bodies.now, tick)
    }
  }
}

const zero = new Float32Array(3)

test('a warm step allocates nothing for a body', () => {
  const n = 400
  const snapshots = 20
  const crowd = new Crowd(n)
  for (let program = 0; program < 3; program++) crowd.push(program, 0)
  const enough = 8 * 2 * n * snapshots
  const used = usual(enough, () => crowd.step(snapshots))
  assert.ok(used < enough, `${used / snapshots} bytes for two steps of ${n} bodies`)
  const before = crowd.bodies.stats.steps
  crowd.step(1)
  assert.equal(crowd.bodies.stats.steps - before, 2 * n, 'all are awake')
})

const gc = ((): (() => void) => {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
})()

/** Returns the memory in use: objects, and their memory outside the heap. */
function heap(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/** Runs ten minutes. Returns the least heap after the last three minus the largest heap after the second to fourth. */
function growth(minute: () => void): number {
  const sizes: number[] = []
  for (let i = 0; i < 10; i++) {
    minute()
    gc()
    gc() // the first call keeps what died while it ran
    sizes.push(heap())
  }
  return Math.min(...sizes.slice(7)) - Math.max(...sizes.slice(1, 4))
}

test('ten minutes of snapshots, entities and inputs leave nothing behind', async () => {
  const s = new Session({ tables: await defaultTables() })
  s.receiveStream(welcome({ text, schema: hashOf(text) }))
  const all = crates(60)
  s.receiveStream(structure(1, ...all.map((c) => enter(c.slot, c.generation))))
  const sender = new Sender(s, snapshot(all))
  let turn = 0
  let destroyed = 0
  const grown = growth(() => {
    for (let second = 0; second < 60; second++) {
      const records: Uint8Array[] = []
      for (let i = 0; i < 5; i++, turn++) {
        const { slot, generation } = all[turn % all.length]!
        all[turn % all.length] = { slot, generation: generation + 2 }
        records.push(destroy(slot, generation), enter(slot, generation + 2))
        destroyed++
      }
      s.receiveStream(structure(s.replica!.structure + 1, ...records))
      sender.datagram = snapshot(all)
      for (let i = 0; i < 30; i++) {
        sender.send(1)
        s.render(sender.time)
        s.setInput({ X: i }, sender.time)
        s.input(sender.time)
      }
    }
  })
  assert.equal(s.replica!.stats.destroys, destroyed)
  assert.ok(grown < 512 << 10, `the heap grew by ${grown} bytes`)
})

test('ten minutes of bodies and effects leave nothing behind', () => {
  const crowd = new Crowd(40)
  let generation = 1
  const grown = growth(() => {
    generation += 2
    for (let second = 0; second < 60; second++) {
      if (second < 40) {
        crowd.bodies.removeEntity(second + 1)
        crowd.enter(second + 1, generation)
      }
      crowd.push(second % 3, 90)
      crowd.step(30)
    }
  })
  assert.equal(crowd.bodies.stats.clean, 40)
  assert.ok(grown < 512 << 10, `the heap grew by ${grown} bytes`)
})
