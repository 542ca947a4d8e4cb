// The work that a server can cause, as in the Go client.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { declareSchema } from '../src/binding.ts'
import { Budget } from '../src/budget.ts'
import { Bodies } from '../src/motion/bodies.ts'
import { State } from '../src/motion/columns.ts'
import { type Name, nobody } from '../src/motion/extension.ts'
import { PathForm } from '../src/motion/path.ts'
import { Session } from '../src/session.ts'
import { defaultTables } from '../src/tables.ts'
import { codes, kinds, motion } from './moving_world.ts'
import * as server from './server.ts'

const maxWork = 50
const frame = 1000 / 60
const zero = new Float32Array(3)
const handle = (slot: number, generation = 1): Name => ({ slot, generation })

/** Bodies with a server that sends arbitrary messages. */
class Crowd {
  readonly budget = new Budget()
  readonly bodies = new Bodies({ motion, kinds: kinds.map((body) => ({ body })), budget: this.budget })
  private seq = 0

  enter(n: number, tick: number): void {
    for (let slot = 0; slot < n; slot++) {
      const s = Object.assign(new State(), {
        x: Math.fround(slot / 1000),
        y: 15,
        z: Math.fround(slot / 700),
        vx: 1,
        awake: true,
      })
      this.bodies.applyEnter(handle(slot), 0, tick, s)
    }
  }

  effects(n: number, tick: number, follow: boolean): void {
    this.bodies.applyExtension({ type: 'program', number: 0, code: codes[0]! }, tick, () => true)
    for (let slot = 0; slot < n; slot++) {
      const path = {
        form: follow ? PathForm.following : 0,
        center: zero,
        velocity: zero,
        axisU: zero,
        axisV: zero,
        phase: 0,
        rate: 0,
      }
      this.bodies.applyExtension(
        {
          type: 'added',
          effect: handle(slot),
          program: 0,
          mode: 0,
          layers: 0,
          back: 0,
          age: 1,
          life: 0,
          way: { path, leader: follow ? handle(slot % 100) : nobody },
          params: new Float32Array(0),
        },
        tick,
        () => true,
      )
    }
  }

  change(n: number, tick: number): void {
    for (let i = 0; i < n; i++)
      this.bodies.applyExtension(
        { type: 'changed', effect: handle(0), back: 0, way: null, params: new Float32Array(0) },
        tick,
        () => true,
      )
  }

  /** Ends the effects on the slots from first up to n. */
  end(first: number, n: number, tick: number): void {
    for (let slot = first; slot < n; slot++)
      this.bodies.applyExtension({ type: 'ended', effect: handle(slot), back: 0, left: false }, tick, () => true)
  }

  /** Applies n complete snapshots at now, each apart ticks after the last. */
  update(now: number, n: number, tick: number, apart: number): void {
    this.budget.pay(now)
    for (let i = 0; i < n; i++) {
      this.bodies.applySnapshot(
        {
          seq: ++this.seq,
          tick: tick + i * apart,
          structure: 0,
          complete: true,
          continued: false,
          audited: false,
          audit: 0,
        },
        0,
      )
    }
  }
}

test('however many snapshots an update applies, the work is bounded', () => {
  const cases: Record<
    string,
    { bodies?: number; effects?: number; follow?: boolean; from?: number; apart: number; changes?: number }
  > = {
    'an empty world, far apart': { apart: 200_000 },
    'bodies, far apart': { bodies: 300, apart: 200_000 },
    'bodies of the past': { bodies: 300, from: 1_000_000, apart: 1 },
    'many bodies': { bodies: 10_000, apart: 1 },
    'effects without bodies': { effects: 4096, apart: 50 },
    'effects around a body': { bodies: 1, effects: 4096, apart: 50 },
    'effects that follow': { bodies: 300, effects: 4096, follow: true, apart: 1 },
    'changes of effects in a tick': { bodies: 5000, effects: 1, changes: 20_000, apart: 1 },
  }
  for (const [name, { bodies = 0, effects = 0, follow = false, from = 0, apart, changes = 0 }] of Object.entries(
    cases,
  )) {
    const c = new Crowd()
    c.enter(bodies, 10)
    if (effects > 0) c.effects(effects, 10, follow)
    c.change(changes, 10)
    c.update(60_000, 0, 0, 0)
    assert.equal(c.budget.debt, 0)
    c.update(60_000, 256, 11 + from, apart)
    const { overruns, behind, steps } = c.bodies.stats
    assert.ok(
      c.budget.debt <= 3 * maxWork && overruns <= 1 && behind > 0 && steps * 0.000_15 <= 2 * maxWork,
      `${name}: ${c.budget.debt} ms, ${JSON.stringify(c.bodies.stats)}`,
    )
  }
})

test('while a change of an effect is due, a tick costs the versions of its slot alone', () => {
  const spent = (changes: number): number => {
    const c = new Crowd()
    c.effects(2000, 10, false)
    c.end(1, 2000, 10)
    c.update(0, 1, 20, 0)
    c.update(60_000, 0, 0, 0)
    c.change(changes, 21)
    c.update(60_000, 1, 60, 0)
    assert.equal(c.bodies.now, 60)
    return c.budget.debt
  }
  assert.ok(spent(1) - spent(0) < 0.1, `${spent(1)} ms after ${spent(0)}`)
})

test('a server that causes as much work as it can gets a quarter of the time', () => {
  const c = new Crowd()
  let tick = 10
  c.enter(4000, tick)
  c.budget.pay(60_000)
  for (let i = 0; i < 300; i++, tick += 60) {
    c.update(60_000 + i * frame, 3, tick + 20, 20)
    assert.ok(c.bodies.stats.steps * 0.000_15 <= 2 * maxWork + (i * frame) / 4)
    if (!c.bodies.needsResync) continue
    c.bodies.noteResync()
    c.enter(4000, tick + 60)
  }
  assert.ok(c.bodies.stats.steps * 0.000_15 > 500)
})

test('a client that had no time for a while computes the same as one that had', () => {
  const run = (every: number): State => {
    const c = new Crowd()
    c.enter(3000, 10)
    let now = 60_000
    c.update(now, 0, 0, 0)
    c.update(now, 1, 10, 0)
    c.update((now += 60_000), 0, 0, 0)
    for (let tick = 10 + every; tick <= 150; tick += every) c.update((now += 1000 * every), 1, tick, 0)
    assert.equal(c.bodies.now < 150, every === 140)
    for (let tick = 153; tick <= 210; tick += 3) c.update((now += 50), 1, tick, 0)
    const s = new State()
    assert.equal(c.bodies.newestState(7, s), 210)
    assert.equal(c.bodies.stats.overruns, 0)
    return s
  }
  assert.deepEqual(run(140), run(1))
})

test('what cannot wait ends the session of a server that causes too much of it', async () => {
  const moves = (s: Session, i: number): void =>
    s.receiveStream(server.welcome({ epoch: 8 + i, text: '', structure: i + 1 }))
  const join = async (): Promise<Session> => {
    const s = new Session({ tables: await defaultTables() })
    s.receiveStream(server.welcome())
    return s
  }
  const flooded = await join()
  assert.throws(
    () => {
      for (let i = 0; i < 1_000_000; i++) moves(flooded, i)
    },
    { code: 19, message: /the server causes/ },
  )
  const s = await join()
  for (let i = 0; i < 1000; i++) {
    s.receive({ stream: [], datagrams: [], error: undefined }, i * frame)
    moves(s, i)
  }
})

test('bodies that enter and leave before a snapshot leave nothing behind', () => {
  const c = new Crowd()
  for (let i = 0; i < 5000; i++) {
    c.enter(1, 10)
    c.bodies.removeEntity(0)
  }
  assert.ok(c.bodies.waiting <= 100)
})

test('a Move to another schema costs the size of the declared one too', async () => {
  const fields = Array.from({ length: 60 }, (_, i) => `F${i} bool\n`).join('')
  const components = Array.from({ length: 32 }, (_, i) => `component c${i}\n${fields}`).join('')
  const schema = declareSchema(`worldd schema 2\n${components}input raw\n`)
  const s = new Session({ tables: await defaultTables(), schema })
  const texts = ['', 'kind a\n'].map((kind) => `worldd schema 2\n${kind}input raw\n`) as [string, string]
  s.receiveStream(server.welcome({ text: texts[0], maxSlots: 1 }))
  let moves = 0
  const move = (): void => {
    moves++
    const text = texts[moves % 2]!
    s.receiveStream(server.welcome({ epoch: 7 + moves, structure: moves, maxSlots: 1, text }))
  }
  assert.throws(() => {
    while (moves < 1000) move()
  }, /more work than a client may do/)
  assert.ok(moves < 70, `${moves} moves of more than 2 ms each`)
})
