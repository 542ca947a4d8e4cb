import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Program } from '../src/field/program.ts'
import { State } from '../src/motion/columns.ts'
import { checkPath, PathForm } from '../src/motion/path.ts'
import { Sim } from '../src/motion/sim.ts'
import { bitsOf, floatOf, readLines, unhex } from './hex.ts'

// A line of world/motion/testdata/motion.jsonl: see world/motion/testdata/README.md.
interface Vector {
  Name: string
  TickHz: number
  Gravity: string
  Extent: string[]
  Bounds: number
  RestSpeed: string
  RestTicks: number
  Kinds: { InvMass: string; Coupling: string; Radius: string; Friction: string; Restitution: string; Layers: number }[]
  Programs: string[]
  Tick: number
  Bodies: { Kind: number; State: string }[]
  Changes: Change[] | null
  Want: Record<string, string>[]
}

interface Change {
  Before: number
  Slot: number
  End?: boolean
  Program?: number
  Params?: string[][]
  Mode?: number
  Layers?: number
  Path?: number
  Vectors?: string[][]
  Phase?: number
  Rate?: number
  Leader?: number
  Born?: number
  First?: number
  Last?: number
}

const codes = new Map(
  readLines<{ Text: string; Code: string }>('world/motion/testdata/programs.jsonl').map(({ Text, Code }) => [
    Text,
    Code,
  ]),
)

function float(text: string): number {
  return floatOf(parseInt(text, 16))
}

function floats(texts: string[] | undefined): Float32Array {
  return Float32Array.from(texts ?? ['0', '0', '0'], float)
}

function parseState(text: string): State {
  const parts = text.split(' ')
  const [x, y, z, vx, vy, vz] = parts.slice(0, 6).map(float)
  return Object.assign(new State(), { x, y, z, vx, vy, vz, rest: Number(parts[6]), awake: parts[7] === 'true' })
}

function textOf(s: State): string {
  const numbers = [s.x, s.y, s.z, s.vx, s.vy, s.vz].map((x) => bitsOf(x).toString(16).padStart(8, '0'))
  return `${numbers.join(' ')} ${s.rest} ${s.awake}`
}

function simOf(v: Vector): Sim {
  const [halfX = 0, height = 0, halfZ = 0] = v.Extent.map(float)
  const sim = new Sim(
    {
      tickHz: v.TickHz,
      gravity: float(v.Gravity),
      halfX,
      height,
      halfZ,
      bounds: (['clamp', 'bounce', 'destroy'] as const)[v.Bounds]!,
      restSpeed: float(v.RestSpeed),
      restTicks: v.RestTicks,
    },
    v.Tick,
  )
  v.Kinds.forEach((k, i) => {
    const { InvMass, Coupling, Radius, Friction, Restitution, Layers } = k
    sim.setKind(i, {
      inverseMass: float(InvMass),
      coupling: float(Coupling),
      radius: float(Radius),
      friction: float(Friction),
      restitution: float(Restitution),
      layers: Layers,
    })
  })
  v.Bodies.forEach((b, i) => sim.put(i, b.Kind, parseState(b.State)))
  return sim
}

function change(sim: Sim, programs: Program[], c: Change): void {
  if (c.End) {
    sim.endEffect(c.Slot, true)
    return
  }
  const program = programs[c.Program ?? 0]!
  const form = c.Path ?? 0
  const [center, second, third] = c.Vectors ?? []
  const path = {
    form,
    center: floats(center),
    velocity: floats(form === PathForm.linear ? second : undefined),
    axisU: floats(form === PathForm.orbit ? second : undefined),
    axisV: floats(form === PathForm.orbit ? third : undefined),
    phase: c.Phase ?? 0,
    rate: c.Rate ?? 0,
  }
  const params = c.Params === undefined ? program.defaults : floats(c.Params.flat())
  sim.setEffect(
    c.Slot,
    {
      program,
      params,
      mode: c.Mode ?? 0,
      layers: c.Layers ?? 0,
      path,
      leader: c.Leader ?? 0,
      born: c.Born ?? 0,
      first: c.First ?? 0,
      last: c.Last ?? 0,
      pathBorn: 0,
    },
    true,
  )
}

for (const v of readLines<Vector>('world/motion/testdata/motion.jsonl')) {
  test(`motion: ${v.Name}`, () => {
    const programs = v.Programs.map((text) => new Program(unhex(codes.get(text)!)))
    const sim = simOf(v)
    const state = new State()
    const last = v.Bodies.map(() => '')
    v.Want.forEach((want, tick) => {
      for (const c of v.Changes ?? []) if (c.Before === sim.now + 1) change(sim, programs, c)
      sim.tick()
      v.Bodies.forEach((_, i) => {
        assert.ok(sim.state(i, state))
        const got = textOf(state)
        assert.equal(got, want[i] ?? last[i], `tick ${tick + 1}, body ${i}`)
        last[i] = got
      })
    })
  })
}

test('bodies are added, dropped and added again', () => {
  const sim = simOf(readLines<Vector>('world/motion/testdata/motion.jsonl')[0]!)
  const state = new State()
  const all = new Map<number, number>()
  for (let i = 0; i < 2000; i++) {
    const number = (i * 7919) % 997
    if (i % 3 === 2) {
      sim.drop(number)
      all.delete(number)
    } else {
      sim.put(number, 1, Object.assign(new State(), { x: i, y: 5, rest: i, awake: i % 2 === 0 }))
      all.set(number, i)
    }
  }
  for (const i of [0, 1, 2, 3, 4]) if (!all.has(i)) sim.drop(i)
  assert.equal(sim.length, all.size)
  for (const [number, i] of all) {
    assert.ok(sim.state(number, state))
    assert.deepEqual([state.x, state.rest, state.awake], [i, i, i % 2 === 0])
  }
  assert.equal(sim.awake, [...all.values()].filter((i) => i % 2 === 0).length)
  sim.reset(9)
  assert.equal(sim.length, 0)
  assert.ok(!sim.state([...all.keys()][0]!, state))
})

test('paths are checked', () => {
  const zero = new Float32Array(3)
  const path = { form: 1, center: zero, velocity: zero, axisU: zero, axisV: zero, phase: 0, rate: 0 }
  assert.equal(checkPath(path), '')
  assert.ok(/unknown path form/.test(checkPath({ ...path, form: 4 })))
  assert.ok(/not finite/.test(checkPath({ ...path, center: Float32Array.of(0, NaN, 0) })))
  assert.ok(/at most 1000000/.test(checkPath({ ...path, velocity: Float32Array.of(0, 1000001, 0) })))
  assert.ok(/at most 1000000/.test(checkPath({ ...path, axisV: Float32Array.of(0, 0, NaN) })))
})

test('bodies fall asleep together, more than are evaluated at once', () => {
  const sim = simOf({ ...readLines<Vector>('world/motion/testdata/motion.jsonl')[5]!, Bodies: [] })
  const state = new State()
  const bodies = 3 * 256 + 5
  for (let i = 0; i < bodies; i++) {
    sim.put(i, 0, Object.assign(new State(), { x: Math.fround(i / 100), y: 0.5 + (i % 2) * 9, rest: 4, awake: true }))
  }
  sim.tick()
  for (let i = 0; i < bodies; i++) {
    assert.ok(sim.state(i, state))
    assert.equal(state.awake, i % 2 === 1, 'half of them lie on the ground')
  }
})
