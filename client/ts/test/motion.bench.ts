// Measures 250 bodies under the six shipped effects: the time of a tick, and the time of a
// point by effect. Bundle it and run it in Node. BenchmarkSim of world/motion measures the same
// in Go.

import { blockPoints, Machine } from '../src/field/machine.ts'
import { Program } from '../src/field/program.ts'
import { State } from '../src/motion/columns.ts'
import { Sim } from '../src/motion/sim.ts'
import { readLines, unhex } from './hex.ts'

const shipped = ['explosion', 'gust', 'storm_cell', 'updraft', 'whirl', 'wind']
const programs = shipped.map((name) => {
  const line = readLines<{ Name: string; Program: string }>('field/testdata/vectors.jsonl').find((v) => v.Name === name)
  return new Program(unhex(line!.Program))
})

/** Returns the least time of a run in ns. */
function best(runs: number, begin: () => void, run: () => void): number {
  let least = Infinity
  for (let i = 0; i < runs; i++) {
    begin()
    const start = process.hrtime.bigint()
    run()
    least = Math.min(least, Number(process.hrtime.bigint() - start))
  }
  return least
}

const machine = new Machine()
programs.forEach((p, i) => {
  const begin = () => {
    for (let lane = 0; lane < blockPoints; lane++) {
      machine.position[0][lane] = (lane % 16) / 4 - 2
      machine.position[1][lane] = 1 + (lane % 7) / 4
      machine.position[2][lane] = (lane >> 4) / 4 - 2
    }
    for (const plane of machine.out) plane.fill(0)
  }
  const ns = best(300, begin, () => machine.run(p, 1.25, p.defaults, blockPoints)) / blockPoints
  console.log(`${shipped[i]!.padEnd(10)} ${ns.toFixed(1)} ns/point, ${p.code.length} instructions`)
})

const zero = new Float32Array(3)
const path = { form: 0, center: Float32Array.of(0, 10, 0), velocity: zero, axisU: zero, axisV: zero, phase: 0, rate: 0 }
const sim = new Sim(
  {
    tickHz: 1000,
    gravity: 0,
    halfX: 900,
    height: 900,
    halfZ: 900,
    bounds: 'clamp',
    restSpeed: 0.01,
    restTicks: 1 << 30,
  },
  0,
)
sim.setKind(0, {
  inverseMass: 1,
  coupling: Math.fround(0.01),
  radius: 0.25,
  friction: 0.5,
  restitution: 0.5,
  layers: 1,
})
programs.forEach((program, slot) => {
  const source = {
    program,
    params: program.defaults,
    mode: 0,
    layers: 0,
    path,
    leader: 0,
    born: 0,
    first: 1,
    last: 0,
    pathBorn: 0,
  }
  sim.setEffect(slot, source, false)
})
const body = new State()
let points = 0
const ticks = 4
const ns = best(
  1000,
  () => {
    for (let i = 0; i < 250; i++)
      sim.put(
        i,
        0,
        Object.assign(body, { x: (i % 16) / 4 - 2, y: 11, z: (i >> 4) / 4 - 2, vx: 0, vy: 0, vz: 0, awake: true }),
      )
  },
  () => {
    for (let i = 0; i < ticks; i++) sim.tick()
    points = sim.points
  },
)
console.log(`250 bodies, 6 effects: ${(ns / ticks / 1000).toFixed(1)} us/tick, ${points} points`)
