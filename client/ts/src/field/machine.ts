// The machine runs a program over a block of points, one instruction over all lanes at a time.
// It trusts the program, which was verified.

import * as kernel from './kernel.ts'
import { Op, type Program, planeCount, planeOutput, planePosition } from './program.ts'
import { evaluateTimed } from './timed.ts'

/** The points per instruction, a multiple of four. */
export const blockPoints = 256

// Kernels by operation.
const kernels: readonly kernel.Kernel[] = [
  kernel.add, // none, end and load have no kernel
  kernel.add,
  kernel.add,
  kernel.add,
  kernel.sub,
  kernel.mul,
  kernel.div,
  kernel.mad,
  kernel.nmad,
  kernel.minimum,
  kernel.maximum,
  kernel.absolute,
  kernel.negate,
  kernel.floor,
  kernel.sqrt,
  kernel.rsqrt,
  kernel.sin,
  kernel.saturate,
  kernel.selectLT,
  kernel.selectGE,
  kernel.exp2,
  kernel.hash,
]

/** The planes of a block. Callers fill position and out, run, and read out. */
export class Machine {
  readonly position: readonly [Float32Array, Float32Array, Float32Array] // relative to the effect
  readonly out: readonly [Float32Array, Float32Array, Float32Array] // programs add to it
  readonly #planes: Float32Array[] = []
  readonly #numbers = new Float64Array(planeCount) // numbers of the planes whose lanes are all the same

  constructor() {
    for (let i = 0; i < planeCount; i++) this.#planes.push(new Float32Array(blockPoints))
    const plane = (i: number): Float32Array => this.#planes[i]!
    this.position = [plane(planePosition), plane(planePosition + 1), plane(planePosition + 2)]
    this.out = [plane(planeOutput), plane(planeOutput + 1), plane(planeOutput + 2)]
  }

  /**
   * Adds the effect at the first n points, at most blockPoints, to out.
   * @param time - in seconds, in double precision
   * @param params - four lanes for each parameter
   */
  run(p: Program, time: number, params: Float32Array, n: number): void {
    const planes = this.#planes
    const numbers = this.#numbers
    const code = p.code
    for (let pc = 0; pc < code.length; pc++) {
      const i = code[pc]!
      const to = planes[i.to]!
      if (i.op === Op.load) {
        numbers[i.to] = uniform(p, i.uniform, time, params)
        to.fill(numbers[i.to]!, 0, n)
        continue
      }
      if (i.op === Op.end) break
      const [a, b, c, d] = i.operands
      if (i.timed) {
        numbers[i.to] = evaluateTimed(i.op, numbers[a]!, numbers[b]!, numbers[c]!, numbers[d]!)
        to.fill(numbers[i.to]!, 0, n)
        continue
      }
      kernels[i.op]!(to, planes[a]!, planes[b]!, planes[c]!, planes[d]!, i.same ? 1 : n)
      if (i.same) {
        numbers[i.to] = to[0]!
        to.fill(to[0]!, 1, n)
      }
    }
    for (let lane = 0; lane < 3; lane++) {
      if (((p.sums >> lane) & 1) !== 0) kernel.canonical(this.out[lane]!, n)
    }
  }
}

/** Returns a uniform: time, then four lanes for each parameter, then literals. */
function uniform(p: Program, number: number, time: number, params: Float32Array): number {
  const i = number - 1
  return i < 0 ? time : i < params.length ? params[i]! : p.literals[i - params.length]!
}
