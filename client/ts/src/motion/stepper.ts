// The motion of a free body in one tick: world/motion/MOTION.md, sections 2, 5 and 6. Every
// product and sum is rounded by Math.fround, or by storing it in a column.

import type { Columns } from './columns.ts'
import type { Forces } from './forces.ts'
import type { Kind } from './kind.ts'

const { abs, fround, max, min, sqrt } = Math

/** The highest speed of a body in m/s. */
export const maxSpeed = 128
const maxSquare = maxSpeed * maxSpeed
const maxFloat = fround(3.4028234663852886e38)

/** The multiple of restSpeed at which a body counts as moving. */
const hysteresis = 2

/**
 * The share of the forces on a body that may remain where it is held. Where effects hold a
 * body, their forces balance except for rounding.
 */
const slackShare = 1 / 4096

/** The world in which bodies move: a schema's Motion. Numbers are float32s. */
export interface Params {
  readonly tickHz: number
  readonly gravity: number // m/s2
  readonly halfX: number // metres; bodies stay within +-halfX, +-halfZ, and 0 to height
  readonly height: number
  readonly halfZ: number
  readonly bounds: 'clamp' | 'bounce' | 'destroy' // what happens to a body that moves out of the world
  readonly restSpeed: number // m/s
  readonly restTicks: number
}

/** Moves bodies by Params. */
export class Stepper {
  readonly params: Params
  readonly kinds: Kind[] = []
  readonly #tickSeconds: number
  readonly #fall: number // m/s of velocity that gravity adds per tick
  readonly #minImpact: number // m/s; slower impacts do not bounce
  readonly #restSquare: number
  readonly #moveSquare: number

  constructor(p: Params) {
    this.params = p
    this.#tickSeconds = fround(1 / p.tickHz)
    this.#fall = fround(p.gravity * this.#tickSeconds)
    this.#minImpact = fround(2 * this.#fall + 0.25)
    const moving = fround(hysteresis * p.restSpeed)
    this.#restSquare = fround(p.restSpeed * p.restSpeed)
    this.#moveSquare = fround(moving * moving)
  }

  /** Returns the duration of ticks in seconds. */
  seconds(ticks: number): number {
    return ticks / this.params.tickHz
  }

  /** Moves rows [from, to) by one tick. f has the sums for these rows. */
  step(b: Columns, f: Forces, from: number, to: number): void {
    this.#accelerate(b, f, from, to)
    this.#advance(b, from, to)
  }

  /** Applies forces, gravity and maxSpeed to velocities. */
  #accelerate(b: Columns, f: Forces, from: number, to: number): void {
    const { wind, push } = f
    const dt = this.#tickSeconds
    for (let row = from, i = 0; row < to; row++, i++) {
      const k = this.kinds[b.kind[row]!]!
      let x = b.vx[row]!
      let y = b.vy[row]!
      let z = b.vz[row]!
      if (k.inverseMass !== 0) {
        const c = k.coupling
        // + 0 turns -0 into +0, as adding any acceleration does
        x = fround(fround(x + fround(fround(wind.x[i]! - x) * c)) + 0)
        y = fround(fround(y + fround(fround(wind.y[i]! - y) * c)) + 0)
        z = fround(fround(z + fround(fround(wind.z[i]! - z) * c)) + 0)
        x = fround(x + fround(push.x[i]! * dt))
        y = fround(fround(y + fround(push.y[i]! * dt)) - this.#fall)
        z = fround(z + fround(push.z[i]! * dt))
      }
      b.vx[row] = x
      b.vy[row] = y
      b.vz[row] = z
      if (!(dot(x, y, z) <= maxSquare)) limitSpeed(b, row)
    }
  }

  /**
   * Moves rows by their velocities. The ground is handled first: a body that would sink into
   * it is placed on it, and moves sideways with the velocity that friction leaves.
   */
  #advance(b: Columns, from: number, to: number): void {
    const dt = this.#tickSeconds
    const { halfX, height, halfZ } = this.params
    for (let row = from; row < to; row++) {
      const k = this.kinds[b.kind[row]!]!
      let y = fround(b.y[row]! + fround(b.vy[row]! * dt))
      if (y <= k.radius && k.inverseMass !== 0) {
        const depth = fround(k.radius - y)
        y = k.radius
        if (b.vy[row]! < 0) this.#land(b, row, k, depth)
      }
      const x = fround(b.x[row]! + fround(b.vx[row]! * dt))
      const z = fround(b.z[row]! + fround(b.vz[row]! * dt))
      b.x[row] = x
      b.y[row] = y
      b.z[row] = z
      const inside = x >= -halfX && x <= halfX && y >= 0 && y <= height && z >= -halfZ && z <= halfZ
      if (!inside && this.params.bounds !== 'destroy') this.#putOnBound(b, row, k)
    }
  }

  /** Sets the velocity of a falling row that touched the ground and sank in by depth. */
  #land(b: Columns, row: number, k: Kind, depth: number): void {
    const x = b.vx[row]!
    const y = b.vy[row]!
    const z = b.vz[row]!
    const square = fround(fround(y * y) - fround(fround(2 * this.params.gravity) * depth))
    const bounce = square > fround(this.#minImpact * this.#minImpact) ? fround(fround(sqrt(square)) * k.restitution) : 0
    const grip = fround(k.friction * fround(bounce - y))
    const slip = fround(fround(x * x) + fround(z * z))
    b.vy[row] = bounce
    if (slip <= fround(grip * grip)) {
      b.vx[row] = b.vz[row] = 0
      return
    }
    const keep = fround(1 - fround(grip / fround(sqrt(slip))))
    b.vx[row] = x * keep
    b.vz[row] = z * keep
  }

  /** Moves a row that left the world back to the bound. */
  #putOnBound(b: Columns, row: number, k: Kind): void {
    const { halfX, height, halfZ, bounds } = this.params
    const x = max(min(b.x[row]!, halfX), -halfX)
    const y = max(min(b.y[row]!, height), 0)
    const z = max(min(b.z[row]!, halfZ), -halfZ)
    const back = bounds === 'bounce' ? -k.restitution : 0
    if (x !== b.x[row]) b.vx[row] = this.#reboundSpeed(b.vx[row]!, back)
    if (y !== b.y[row]) b.vy[row] = this.#reboundSpeed(b.vy[row]!, back)
    if (z !== b.z[row]) b.vz[row] = this.#reboundSpeed(b.vz[row]!, back)
    b.x[row] = x
    b.y[row] = y
    b.z[row] = z
  }

  /** Returns the speed after hitting a bound. */
  #reboundSpeed(v: number, share: number): number {
    return share === 0 || (v >= -this.#minImpact && v <= this.#minImpact) ? 0 : v * share
  }

  /** Counts a row's rest after a tick of motion, and reports whether it has rested for restTicks. */
  countRest(b: Columns, row: number): boolean {
    const k = this.kinds[b.kind[row]!]!
    const square = dot(b.vx[row]!, b.vy[row]!, b.vz[row]!)
    const still = b.vx[row] === 0 && b.vy[row] === 0 && b.vz[row] === 0 // the square of a small speed may underflow
    if (k.inverseMass === 0 ? still : square <= this.#restSquare) {
      b.rest[row] = min(b.rest[row]! + 1, this.params.restTicks)
    } else if (k.inverseMass === 0 || !(square <= this.#moveSquare)) {
      b.rest[row] = 0
    }
    return b.rest[row]! >= this.params.restTicks
  }

  /**
   * Reports whether a step left a resting body so close to its place that it is held there.
   * @param trial - the body after the step, in row i
   * @param f - the sums for trial
   * @param b - the body before the step, in row
   */
  isHeld(trial: Columns, f: Forces, i: number, b: Columns, row: number): boolean {
    const { wind, push } = f
    const { coupling, inverseMass } = this.kinds[b.kind[row]!]!
    if (inverseMass === 0) return true
    const dt = this.#tickSeconds
    let sum = this.#fall
    sum = fround(fround(sum + abs(fround(wind.x[i]! * coupling))) + abs(fround(push.x[i]! * dt)))
    sum = fround(fround(sum + abs(fround(wind.y[i]! * coupling))) + abs(fround(push.y[i]! * dt)))
    sum = fround(fround(sum + abs(fround(wind.z[i]! * coupling))) + abs(fround(push.z[i]! * dt)))
    const slack = fround(sum * slackShare)
    const way = fround(slack * dt)
    return (
      abs(trial.vx[i]!) <= slack &&
      abs(trial.vy[i]!) <= slack &&
      abs(trial.vz[i]!) <= slack &&
      abs(fround(trial.x[i]! - b.x[row]!)) <= way &&
      abs(fround(trial.y[i]! - b.y[row]!)) <= way &&
      abs(fround(trial.z[i]! - b.z[row]!)) <= way
    )
  }
}

function dot(x: number, y: number, z: number): number {
  return fround(fround(fround(x * x) + fround(y * y)) + fround(z * z))
}

/** Caps the speed of a row in double precision. A row whose speed is not finite stops. */
function limitSpeed(b: Columns, row: number): void {
  const x = b.vx[row]!
  const y = b.vy[row]!
  const z = b.vz[row]!
  if (!(dot(x, y, z) <= maxFloat)) {
    b.vx[row] = b.vy[row] = b.vz[row] = 0
    return
  }
  const square = x * x + y * y + z * z
  if (square <= maxSquare) return
  const share = maxSpeed / sqrt(square)
  b.vx[row] = x * share
  b.vy[row] = y * share
  b.vz[row] = z * share
}
