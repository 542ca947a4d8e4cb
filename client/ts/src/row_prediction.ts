// The expected values of a component of a row: CODEC.md, sections 4 and 5.

import { applyTo, conj, identity, near, power, product, subtract, unit, unpack } from './rotation.ts'
import { clamp, mag, step4, sum3, sum4, weigh } from './row_arith.ts'
import type { Part, Past, Unit } from './row_parts.ts'
import type { TableSet } from './tables.ts'

/** The prediction of one component from the row's past states. */
export class RowPrediction {
  #zone = 3
  attached = 3
  speed = 0
  moves = 0
  margin = 3
  largest = 0 // largest component of facing
  readonly feature = new Int32Array(12)
  readonly own = new Float64Array(3)
  readonly #followed = new Float64Array(3)
  readonly mismatch = new Float64Array(3)
  readonly expected = new Float64Array(3)
  readonly facing = new Float64Array(4)
  readonly #onward = new Float64Array(4)
  readonly #before = new Float64Array(4)
  readonly #q0 = new Float64Array(4)
  readonly #q1 = new Float64Array(4)
  readonly #q2 = new Float64Array(4)
  readonly #q3 = new Float64Array(4)
  readonly #turn = new Float64Array(4)
  readonly #ride = new Float64Array(4)
  readonly #twist = new Float64Array(4)
  readonly #v0 = new Float64Array(3)
  readonly #v1 = new Float64Array(3)
  #past!: Past
  #ratio = 0
  #set!: TableSet

  /** Predicts the component p of a row. */
  predict(p: Part, past: Past, ratio: number): void {
    this.#past = past
    this.#ratio = ratio
    this.#set = p.set
    const feature = this.feature
    this.attached = this.#zone = this.margin = 3
    this.speed = this.moves = 0
    feature.fill(0)
    feature[0] = 16
    const anchored = past.anchor === p.component
    if (anchored) this.#predictParent(p)
    if (p.position) this.#predictPosition(p, p.position, anchored)
    if (p.rotation) this.#predictRotation(p.rotation, anchored)
  }

  /** Computes onward and before (section 4). */
  #predictParent(p: Part): void {
    const past = this.#past
    const onward = this.#onward
    const before = this.#before
    const q0 = this.#q0
    const q1 = this.#q1
    identity(onward)
    identity(before)
    const u = p.rotation
    if (!u) return
    unpack(past.anchorNow[past.now + u.index]!, u.n, q0)
    unpack(past.anchorPast[past.anchorBase + u.index]!, u.n, q1)
    conj(q1)
    product(q0, q1, onward)
    if (past.older < 0) return
    conj(q1)
    unpack(past.anchorPast[past.anchorOlder + u.index]!, u.n, q0)
    conj(q0)
    product(q1, q0, before)
  }

  /** Predicts the position: step 2. */
  #predictPosition(p: Part, u: Unit, anchored: boolean): void {
    const past = this.#past
    const own = this.own
    const followed = this.#followed
    const mismatch = this.mismatch
    const feature = this.feature
    const ratio = this.#ratio
    const values = past.values
    const base = past.base + u.index
    const older = past.older + u.index
    for (let i = 0; i < 3; i++) {
      own[i] = past.older < 0 ? 0 : Math.floor(((values[base + i]! - values[older + i]!) * ratio) / 256)
      followed[i] = mismatch[i] = 0
    }
    const s = sum3(own)
    if (anchored) this.#follow(p, u, s)
    feature[1] = mag(Math.floor(s / 256))
    if (p.zones) {
      const v = values[base + p.zones.axis]!
      this.#zone = (p.zones.first <= v ? 1 : 0) + (p.zones.second <= v ? 1 : 0)
      feature[10] = mag(Math.max(v - p.zones.first, 0))
    }
    const moved = Math.floor(s / 256)
    this.speed = step4(moved, 8, 40, 160, 500)
    const w = this.#set.weights
    let k = (this.#zone * 20 + this.attached * 5 + this.speed) * 15
    for (let i = 0; i < 3; i++, k += 4) {
      const weighted =
        p.wide && anchored
          ? weigh(own[i]!, followed[i]!, mismatch[i]!, w, k)
          : Math.floor(
              (own[i]! * w[k]! + followed[i]! * w[k + 1]! + mismatch[i]! * w[k + 2]! + w[k + 3]! * 2 ** 11 + 2 ** 15) /
                2 ** 16,
            )
      this.expected[i] = clamp(values[base + i]! + weighted, 0, u.largest)
    }
    this.moves = moved
  }

  /** Computes followed, mismatch and attached. */
  #follow(p: Part, u: Unit, s: number): void {
    const past = this.#past
    const own = this.own
    const followed = this.#followed
    const mismatch = this.mismatch
    const feature = this.feature
    const ratio = this.#ratio
    const v0 = this.#v0
    const v1 = this.#v1
    const { values, anchorNow, anchorPast } = past
    const base = past.base + u.index
    const now = past.now + u.index
    const was = past.anchorBase + u.index
    for (let i = 0; i < 3; i++) v0[i] = values[base + i]! - anchorPast[was + i]!
    applyTo(this.#onward, v0, v1)
    for (let i = 0; i < 3; i++) followed[i] = (anchorNow[now + i]! - values[base + i]!) * 256 + v1[i]!
    if (past.older >= 0) {
      const older = past.older + u.index
      const wasOlder = past.anchorOlder + u.index
      for (let i = 0; i < 3; i++) v1[i] = values[older + i]! - anchorPast[wasOlder + i]!
      applyTo(this.#before, v1, mismatch)
      for (let i = 0; i < 3; i++) {
        const d = v0[i]! * 256 - mismatch[i]!
        mismatch[i] = p.wide
          ? Number(BigInt.asIntN(64, BigInt(d) * BigInt(ratio)) >> 16n)
          : Math.floor((d * ratio) / 2 ** 16)
      }
      const m = sum3(mismatch)
      const part = (percent: number): number => Math.floor((s * percent) / 100)
      this.attached = m < part(15) + 768 ? 0 : m < part(40) + 1536 ? 1 : m < part(80) ? 2 : 3
      feature[2] = mag(Math.floor(m / 256))
    }
    for (let i = 0; i < 3; i++) v1[i] = followed[i]! - own[i]!
    feature[6] = mag(Math.floor(sum3(v1) / 256))
  }

  /** Predicts the rotation: step 3. */
  #predictRotation(u: Unit, anchored: boolean): void {
    const past = this.#past
    const facing = this.facing
    const feature = this.feature
    const q = this.#q0
    unpack(past.values[past.base + u.index]!, u.n, q)
    let turns = 0
    if (u.linear) {
      turns = this.#predictTurn(u, q, anchored)
      const w = this.#set.weights
      const k = (this.#zone * 20 + this.attached * 5 + step4(turns, 100, 500, 2000, 5000)) * 15 + 12
      for (let i = 0; i < 4; i++) {
        facing[i] =
          q[i]! +
          Math.floor((this.#turn[i]! * w[k]! + this.#ride[i]! * w[k + 1]! + this.#twist[i]! * w[k + 2]! + 128) / 256)
      }
      unit(facing, q)
    } else facing.set(q)
    feature[4] = mag(Math.floor(turns / 8))
    this.moves += Math.floor(turns / 16)
    this.#findLargest()
  }

  /** Computes turn, ride and twist, and returns turns. */
  #predictTurn(u: Unit, q: Float64Array, anchored: boolean): number {
    const past = this.#past
    const feature = this.feature
    const ratio = this.#ratio
    const turn = this.#turn
    const ride = this.#ride
    const twist = this.#twist
    const q1 = this.#q1
    const q2 = this.#q2
    const q3 = this.#q3
    const p = q1
    ride.fill(0)
    twist.fill(0)
    turn.fill(0)
    if (past.older >= 0) {
      unpack(past.values[past.older + u.index]!, u.n, p)
      conj(p)
      product(q, p, q2)
      conj(p)
      power(q2, ratio, q3)
      product(q3, q, turn)
      near(turn, q)
      subtract(turn, q)
    } else p.set(q)
    if (anchored) {
      product(this.#onward, q, ride)
      near(ride, q)
      subtract(ride, q)
      if (past.older >= 0) {
        product(this.#before, p, q2)
        near(q2, q)
        for (let i = 0; i < 4; i++) twist[i] = Math.floor(((q[i]! - q2[i]!) * ratio) / 2 ** 16)
      }
      feature[9] = mag(Math.floor(sum4(twist) / 8))
      let apart = 0
      for (let i = 0; i < 4; i++) apart += Math.abs(turn[i]! - ride[i]!)
      feature[11] = mag(Math.floor(apart / 8))
    }
    return sum4(turn)
  }

  /** Finds the largest component of facing, and the margin. */
  #findLargest(): void {
    let largest = 0
    let most = -1
    let second = -1
    for (let i = 0; i < 4; i++) {
      const v = Math.abs(this.facing[i]!)
      if (v > most) {
        second = most
        most = v
        largest = i
      } else if (v > second) second = v
    }
    this.largest = largest
    const d = most - second
    this.margin = (d >= 100 ? 1 : 0) + (d >= 400 ? 1 : 0) + (d >= 1600 ? 1 : 0)
  }
}
