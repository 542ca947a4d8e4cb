// The motion of an effect's centre: world/motion/MOTION.md, section 3.

import { sin32 } from '../field/arith.ts'

const { fround, imul } = Math

/** Forms of a centre's motion, with their numbers on the wire. */
export const PathForm = {
  fixed: 0, // at center
  linear: 1, // from center with velocity
  orbit: 2, // around center, on the ellipse of axisU and axisV
  following: 3, // at center relative to a body's position after the last tick
} as const

/** The path of an effect's centre, a function of the tick. Vectors are float32s. */
export interface Path {
  readonly form: number
  readonly center: Float32Array
  readonly velocity: Float32Array // m/s, of linear
  readonly axisU: Float32Array // metres, of orbit: position at angle 0
  readonly axisV: Float32Array // metres, of orbit: position a quarter turn later
  readonly phase: number // of orbit: angle at the beginning, in turns of 2^32
  readonly rate: number // of orbit: angle per tick, in the same unit
}

/** Sets to to the centre, ticks after the path began. For a following path it is the offset from the body. */
export function pathAt(p: Path, ticks: number, tickHz: number, to: Float32Array): void {
  const { form, center } = p
  if (form === PathForm.linear) {
    const t = ticks / tickHz
    for (let i = 0; i < 3; i++) to[i] = center[i]! + p.velocity[i]! * t // rounded once, by storing
  } else if (form === PathForm.orbit) {
    const a = fround((p.phase + imul(ticks, p.rate)) | 0) * 2 ** -32
    const u = sin32(fround(a + 0.25))
    const v = sin32(a)
    for (let i = 0; i < 3; i++) to[i] = fround(center[i]! + fround(p.axisU[i]! * u)) + fround(p.axisV[i]! * v)
  } else {
    for (let i = 0; i < 3; i++) to[i] = center[i]!
  }
}

/** Bounds velocities and axes, so that no centre overflows. */
const maxPathNumber = 1e6

/** Returns what is wrong with a path, or ''. */
export function checkPath(p: Path): string {
  if (!(p.form <= PathForm.following)) return `unknown path form ${p.form}`
  if (!p.center.every(Number.isFinite)) return `the centre ${p.center} is not finite`
  for (const v of [p.velocity, p.axisU, p.axisV]) {
    if (!v.every((x) => Math.abs(x) <= maxPathNumber)) {
      return `a velocity or axis ${v}; at most ${maxPathNumber} in each direction`
    }
  }
  return ''
}
