// A small world with bodies and effects.

import { Program } from '../src/field/program.ts'
import { readLines, unhex } from './hex.ts'

export const motion = {
  tickHz: 60,
  gravity: Math.fround(9.81),
  maxSpeed: 128,
  halfX: 30,
  height: 20,
  halfZ: 30,
  restSpeed: Math.fround(0.08),
  restTicks: 12,
  bounds: 'bounce',
} as const

const f = Math.fround
export const kinds = [
  { inverseMass: f(0.05), coupling: f(0.013), radius: 0.5, friction: f(0.6), restitution: f(0.2), layers: 1 },
  { inverseMass: 100, coupling: f(0.3), radius: f(0.1), friction: f(0.2), restitution: f(0.6), layers: 2 },
  { inverseMass: 0, coupling: 0, radius: 1, friction: 0, restitution: 0.5, layers: 3 },
]
/** Small programs of the motion vectors: a whirl and an explosion. */
export const codes = [
  ...readLines<{ Code: string }>('world/motion/testdata/programs.jsonl')
    .slice(0, 3)
    .map((p) => unhex(p.Code)),
  ...readLines<{ Name: string; Program: string; Numbers: string }>('field/testdata/vectors.jsonl')
    .filter((v) => v.Numbers === 'grid' && (v.Name === 'whirl' || v.Name === 'explosion'))
    .map((v) => unhex(v.Program)),
]
export const programs = codes.map((code) => new Program(code))
