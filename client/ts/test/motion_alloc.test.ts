import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Program } from '../src/field/program.ts'
import { State } from '../src/motion/columns.ts'
import { Sim } from '../src/motion/sim.ts'
import { codes, kinds, motion } from './oracle.ts'

// Only Node says how much of the heap is in use.
test('warm ticks allocate nothing', () => {
  const sim = new Sim({ ...motion, gravity: 0, restTicks: 1e9 }, 0)
  kinds.forEach((k, i) => sim.setKind(i, k))
  for (let i = 0; i < 250; i++) sim.put(i, i % 2, Object.assign(new State(), { x: i % 16, y: 5, z: i >> 4, awake: true }))
  for (let slot = 0; slot < 6; slot++) {
    const program = new Program(codes[slot % codes.length])
    const [axisU, axisV] = [Float32Array.of(5, 0, 5), Float32Array.of(5, 0, 0)]
    const path = { form: 2, center: Float32Array.of(5, 5, 5), velocity: new Float32Array(3), axisU, axisV, phase: 0, rate: 1 << 24 }
    const ticks = { born: 0, first: 1, last: 0, pathBorn: 0 }
    sim.setEffect(slot, { program, params: program.defaults, mode: slot & 1, layers: slot >> 1, path, leader: 0, ...ticks }, true)
  }
  const state = new State()
  let seen = 0
  const see = (_: number, s: State) => {
    if (s.awake) seen++
  }
  const run = (ticks: number) => {
    for (let i = 0; i < ticks; i++) {
      sim.tick()
      sim.changed(state, see)
    }
  }
  run(2000)
  const used = [1, 2, 3].map(() => {
    const before = process.memoryUsage().heapUsed
    run(500)
    return process.memoryUsage().heapUsed - before
  })
  assert.ok(Math.min(...used) < 500 * 64, `${used} bytes in 500 ticks`)
  assert.equal(seen, 3500 * 250)
})
