import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Budget } from '../src/budget.ts'
import { WireError } from '../src/codes.ts'
import { Bodies } from '../src/motion/bodies.ts'
import { State } from '../src/motion/columns.ts'
import { type Added, type Changed, type Ended, type Extension, type Name, nobody } from '../src/motion/extension.ts'
import { SnapshotLog } from '../src/motion/snapshot_log.ts'
import { Rings, Track } from '../src/motion/track.ts'
import { codes, kinds, motion } from './moving_world.ts'
import { Oracle } from './oracle.ts'
import { randomOf } from './random.ts'

test('bodies equal the world after each complete snapshot, whatever the link does', () => {
  let compared = 0
  let audits = 0
  let rerun = 0
  for (let seed = 1; seed <= 12; seed++) {
    const o = new Oracle(seed, 60)
    for (let i = 0; i < 400; i++) o.step()
    assert.equal(o.stats.faults, 0, `seed ${seed}`)
    assert.equal(o.diverged, 0)
    compared += o.compared
    audits += o.stats.audited
    rerun += o.stats.rerun
  }
  assert.ok(compared > 10_000 && audits > 500 && rerun > 1_000, `${compared} states, ${audits} audits, ${rerun} rerun`)
})

test('audits find what makes the client compute other bits', () => {
  const single = new Float32Array(1)
  const bits = new Uint32Array(single.buffer)
  const next = (x: number) => {
    single[0] = x
    bits[0]!++
    return single[0]
  }
  for (const [name, lies] of Object.entries({
    'one bit of drag': { kinds: kinds.map((k) => ({ ...k, coupling: next(k.coupling) })) },
    'effects in another order, by a mode': {
      effect: (x: Extension) => (x.type === 'added' ? { ...x, mode: 1 - x.mode } : x),
    },
    'effects born a tick earlier': { effect: (x: Extension) => (x.type === 'added' ? { ...x, age: x.age + 1 } : x) },
    'an effect that is not told': { effect: (x: Extension) => (x.type === 'added' ? { ...x, layers: 2 ** 31 } : x) },
  })) {
    const o = new Oracle(5, 60, lies)
    let resyncs = 0
    for (let i = 0; i < 400; i++) {
      o.step()
      if (o.replica.bodies.needsResync) resyncs++
      o.replica.bodies.noteResync()
    }
    assert.ok(o.stats.faults > 0 && o.diverged > 0 && o.diverged <= o.stats.faults && resyncs > 0, name)
  }
})

const handle = (slot: number, generation = 1): Name => ({ slot, generation })
const zero = new Float32Array(3)
const fixed = { form: 0, center: zero, velocity: zero, axisU: zero, axisV: zero, phase: 0, rate: 0 }
const way = { path: fixed, leader: nobody }
const program = { type: 'program' as const, number: 0, code: codes[1]! }
const added: Added = {
  type: 'added',
  effect: handle(5, 3),
  program: 0,
  mode: 0,
  layers: 0,
  back: 1,
  age: 1,
  life: 0,
  way,
  params: new Float32Array(0),
}
const ended: Ended = { type: 'ended', effect: handle(5, 3), back: 0, left: false }
const changed: Changed = { type: 'changed', effect: handle(5, 3), back: 0, way, params: null }

function floating(x: number): State {
  return Object.assign(new State(), { x, y: 15, z: Math.fround(x / 7), vx: 3, vz: 1, awake: true })
}

function newBodies(budget = new Budget()): Bodies {
  return new Bodies({ motion, kinds: kinds.map((body) => ({ body })), budget })
}

/** Calls bodies as a replica does that applies everything at once. */
class Stage {
  readonly budget = new Budget()
  readonly bodies = newBodies(this.budget)
  private seq = 0

  send(tick: number, ...all: Extension[]): void {
    for (const x of all) this.bodies.applyExtension(x, tick, (h) => h.slot === 1)
  }

  complete(tick: number): void {
    this.seq++
    this.budget.pay((tick * 1000) / motion.tickHz)
    this.bodies.applySnapshot(
      { seq: this.seq, tick, structure: 0, complete: true, continued: false, audited: false, audit: 0 },
      0,
    )
  }

  exact(slot: number): State {
    const s = new State()
    assert.equal(this.bodies.newestState(slot, s), this.bodies.now)
    return s
  }
}

test('an applied snapshot keeps nothing of its datagram', () => {
  const log = new SnapshotLog()
  const header = { seq: 1, tick: 9, structure: 2, complete: true, continued: false, audited: false, audit: 3 }
  log.add({ ...header, events: new Uint8Array(1200) } as typeof header)
  assert.deepEqual(log.find(1), header)
})

test('the errors of SIMULATING.md end the session', () => {
  const cases: Record<string, [Extension[], fails: boolean]> = {
    'an effect': [[program, added], false],
    'no program': [[added], true],
    'a program that is no program': [[{ ...program, code: Uint8Array.of(1, 2, 3) }], true],
    'a program cut off': [[{ ...program, code: codes[1]!.subarray(0, 40) }], true],
    'a program in use': [[program, added, program], true],
    'a program used before': [[program, added, ended, program], false],
    'too many parameters': [[program, { ...added, params: Float32Array.of(1, 1) }], true],
    twice: [[program, added, added], true],
    'an older one': [[program, added, { ...added, effect: handle(5, 1) }], true],
    'another one': [[program, added, ended, { ...added, back: 0, effect: handle(5, 5) }], false],
    'another one, earlier': [[program, added, ended, { ...added, back: 9, effect: handle(5, 5) }], true],
    'again after it left': [[program, added, { ...ended, left: true }, { ...added, back: 0, age: 9 }], false],
    'again after it ended': [[program, added, ended, { ...added, back: 0 }], true],
    'an end of nothing': [[program, ended], true],
    'an end twice': [[program, added, ended, ended], true],
    'an end before its time': [[program, added, { ...ended, back: 9 }], true],
    'an end after its last tick': [[program, { ...added, life: 1 }, ended], true],
    'born before all': [[program, { ...added, age: 200 }], true],
    'a last tick beyond all': [[program, { ...added, life: 2 ** 32 - 1 }], true],
    'a change of its path': [[program, added, changed], false],
    'a change of parameters that do not fit': [
      [program, added, { ...changed, way: null, params: Float32Array.of(1, 2, 3) }],
      true,
    ],
    'a kind': [[{ type: 'kind', kind: 3, body: kinds[0]! }], false],
    'a kind twice': [
      [
        { type: 'kind', kind: 3, body: kinds[0]! },
        { type: 'kind', kind: 3, body: kinds[0]! },
      ],
      true,
    ],
    'a kind of the text': [[{ type: 'kind', kind: 2, body: kinds[0]! }], true],
    'follows somebody': [[program, { ...added, way: { path: { ...fixed, form: 3 }, leader: handle(1) } }], false],
    'follows nobody': [[program, { ...added, way: { path: { ...fixed, form: 3 }, leader: handle(2) } }], true],
  }
  for (const [name, [all, fails]] of Object.entries(cases)) {
    const s = new Stage()
    if (fails) {
      assert.throws(() => s.send(100, ...all), WireError, name)
    } else {
      s.send(100, ...all)
      s.complete(200)
    }
  }
  assert.throws(() => new Bodies({ motion: { ...motion, maxSpeed: 100 }, kinds: [], budget: new Budget() }), WireError)
  assert.throws(() => new Bodies({ motion: { ...motion, tickHz: 0 }, kinds: [], budget: new Budget() }), WireError)
})

test('records are at most a second old, or 63 ticks', () => {
  for (const tickHz of [20, 60, 64, 1000]) {
    const back = Math.max(tickHz, 63) + 1
    const begin = () => {
      const bodies = new Bodies({ motion: { ...motion, tickHz }, kinds: [], budget: new Budget() })
      return (...all: Extension[]) => all.forEach((x) => bodies.applyExtension(x, 5000, () => true))
    }
    for (const record of [{ ...added }, { ...changed }, { ...ended }]) {
      const known = record.type === 'added' ? [program] : [program, { ...added, back, age: 9 }]
      begin()(...known, { ...record, back })
      assert.throws(() => begin()(...known, { ...record, back: back + 1 }), WireError, `${record.type} at ${tickHz} Hz`)
    }
  }
})

test('a replaced program counts as long as an effect that ended by itself still has it', () => {
  const s = new Stage()
  const one = (tick: number, slot: number) =>
    s.send(tick, program, { ...added, effect: handle(slot), back: 0, life: 1 })
  one(10, 0)
  const first = s.bodies.bytes
  one(12, 1)
  const grown = s.bodies.bytes - first
  assert.ok(grown > 4096)
  s.complete(20)
  s.complete(2000)
  one(2001, 2)
  assert.ok(s.bodies.bytes < first + grown)
})

test('a server that makes the client compute without end has its bodies stand still', () => {
  const s = new Stage()
  for (let i = 0; i < 300; i++) s.bodies.applyEnter(handle(i), 0, 10, floating(i / 30))
  s.complete(12)
  s.complete(15)
  s.complete(2 ** 32 - 1000)
  assert.equal(s.bodies.stats.overruns, 1)
  assert.ok(s.bodies.needsResync)
  s.bodies.noteResync()
  assert.ok(!s.bodies.needsResync)
  assert.equal(s.bodies.newestState(0, new State()), 0)
  const tick = 2 ** 32 - 900
  for (let i = 0; i < 300; i++) s.bodies.applyEnter(handle(i), 0, tick, floating(i / 30))
  s.complete(tick + 3)
  assert.equal(s.bodies.newestState(0, new State()), tick + 3)
  s.send(tick + 3, { ...program, code: codes[0]! })
  for (let i = 0; i < 4096; i++) s.send(tick + 3, { ...added, effect: handle(i), back: 0 })
  assert.ok(s.bodies.bytes > 4096 * 200)
  s.complete(tick + 600)
  assert.equal(s.bodies.stats.overruns, 2)
  assert.ok(s.bodies.stats.steps < 300 * 700)
})

test('a late record changes no computed tick, but bodies whose states are as old', () => {
  const still = Object.assign(new State(), { y: 15 })
  const up = { ...added, mode: 1, way: { path: { ...fixed, center: Float32Array.of(0, 15, 0) }, leader: nobody } }
  const s = new Stage()
  s.bodies.applyEnter(handle(1), 0, 10, still)
  s.send(19, program, { ...up, back: 0 })
  s.complete(60)
  const want = s.exact(1)
  assert.ok(want.awake)

  const t = new Stage()
  t.bodies.applyEnter(handle(1), 0, 10, still)
  t.complete(40)
  t.send(40, program, { ...up, back: 21 })
  t.bodies.applyEnter(handle(3), 0, 19, still)
  t.complete(60)
  assert.equal(t.bodies.stats.rerun, 21)
  assert.deepEqual(t.exact(3), want)
  assert.deepEqual(t.exact(1), still)
})

test('at is exact at ticks and linear between them', () => {
  const s = new Stage()
  const [at, from, to] = [new State(), new State(), new State()]
  s.bodies.applyEnter(handle(1), 0, 10, floating(0))
  const states: State[] = []
  for (let tick = 11; tick <= 31; tick++) {
    s.complete(tick)
    states.push(s.exact(1))
  }
  states.forEach((want, i) => {
    assert.ok(s.bodies.stateAt(1, 11 + i, 15, at, from, to))
    if (i < 20) assert.deepEqual([at.x, at.y, at.vz], [want.x, want.y, want.vz])
    assert.deepEqual(from, want)
  })
  s.bodies.stateAt(1, 20.5, 15, at, from, to)
  assert.equal(at.x, (states[9]!.x + states[10]!.x) / 2)
  s.bodies.stateAt(1, 1000, 15, at, from, to)
  assert.ok(Math.abs(at.x - (states[20]!.x + 15 * (states[20]!.x - states[19]!.x))) < 1e-6)
  assert.ok(!s.bodies.stateAt(2, 20, 15, at, from, to))
})

test('tracks remember the states of the last ticks', () => {
  const random = randomOf(3)
  const rings = new Rings(64)
  const t = new Track(0)
  const state = (x: number) => Object.assign(new State(), { x, rest: x, awake: x % 2 === 0 })
  let known = new Map<number, number>() // expected state by tick, 0 for the earliest known
  t.given.copy(state(1))
  t.begin(1, t.given)
  known.set(1, 1)
  for (let i = 0, tick = 1; i < 800; i++) {
    tick = Math.max(1, tick + Math.floor(random() * (i % 50 === 0 ? 200 : 5)) - 1)
    const before = Math.max(...[...known.keys()].filter((k) => k < tick), 0)
    known = new Map([...known].filter(([k]) => k < tick && k > tick - 300))
    for (let k = before + 1; before > 0 && k < tick; k++) known.set(k, known.get(before)!)
    known.set(tick, i)
    t.record(tick, state(i), rings)
    for (const [k, x] of known) if (k > tick - 64 && k >= t.first) assert.equal(t.stateAfter(k, new State()).x, x)
    assert.equal(t.stateAfter(tick + 9, new State()).x, i)
    assert.ok(t.last === tick && t.first > tick - 64)
  }
})
