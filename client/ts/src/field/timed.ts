// Values that depend on time and not on the point are doubles (field/PROGRAM.md, Time).

import { exp232, floor32, hash32, max32, min32, rsqrt32, saturate32, sin32 } from './arith.ts'
import { Op } from './program.ts'

const { abs, fround, sqrt } = Math

/** Returns the result of an operation in double precision, never fused. */
export function evaluateTimed(op: number, a: number, b: number, c: number, d: number): number {
  switch (op) {
    case Op.add:
      return a + b
    case Op.sub:
      return a - b
    case Op.mul:
      return a * b
    case Op.div:
      return a / b
    case Op.mad:
      return a * b + c
    case Op.nmad:
      return c - a * b
    case Op.min:
      return min32(a, b)
    case Op.max:
      return max32(a, b)
    case Op.abs:
      return abs(a)
    case Op.neg:
      return -a
    case Op.floor:
      return floor32(a)
    case Op.sqrt:
      return sqrt(a)
    case Op.rsqrt:
      return rsqrt32(fround(a))
    case Op.sin:
      return sin32(fround(a - floor32(a + 0.5))) // without whole turns
    case Op.saturate:
      return saturate32(a)
    case Op.select_lt:
      return a < b ? c : d
    case Op.select_ge:
      return a >= b ? c : d
    case Op.exp2:
      return exp232(fround(a))
    default:
      return hash32(fround(a), fround(b), fround(c))
  }
}
