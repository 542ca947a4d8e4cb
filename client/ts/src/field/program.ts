// Programs in portable form: field/PROGRAM.md.

/** Operations, as numbered in the portable form. */
export const Op = {
  none: 0,
  end: 1, // end turns NaN into +0 in the lanes that the effect added to
  load: 2, // of a uniform into a plane
  add: 3,
  sub: 4,
  mul: 5,
  div: 6,
  mad: 7,
  nmad: 8,
  min: 9,
  max: 10,
  abs: 11,
  neg: 12,
  floor: 13,
  sqrt: 14,
  rsqrt: 15,
  sin: 16,
  saturate: 17,
  select_lt: 18,
  select_ge: 19,
  exp2: 20, // this and later operations since version 2
  hash: 21,
} as const

const opNames = Object.keys(Op)
const opcodes = opNames.length
const operandCounts = [0, 0, 0, 2, 2, 2, 2, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1, 4, 4, 1, 3]

export const maxRegisters = 32
/** Planes: registers, then the lanes of the position, then the lanes of the output. */
export const planePosition = maxRegisters
export const planeOutput = maxRegisters + 3
export const planeCount = maxRegisters + 6

const maxNameBytes = 64
const maxParams = 64
const maxLiterals = 1024
const maxInstructions = 1024
const headerBytes = 14
const maxBinaryBytes =
  headerBytes + maxNameBytes + maxParams * (1 + maxNameBytes + 1 + 16 + 8) + 24 + 4 * maxLiterals + 8 * maxInstructions

/** One operation over planes. */
export interface Instruction {
  readonly op: number
  readonly to: number
  readonly operands: readonly [number, number, number, number]
  readonly uniform: number // of a load
  same: boolean // all lanes have the same result
  timed: boolean // the result also depends on time
}

/** A parameter of a program. A number uses only x of its four lanes. */
export interface Param {
  readonly name: string
  readonly default: Float32Array // four lanes
  readonly scalar: boolean
  readonly bounded: boolean // values must be in min to max; for a vector, its x, y and z
  readonly min: number
  readonly max: number
}

/** A region in the effect's own space, in metres, including its boundary. */
export interface Box {
  readonly min: Float32Array
  readonly max: Float32Array
}

/** Tells why bytecode was rejected. The producer of the bytes is at fault. */
export class VerifyError extends Error {
  readonly pc: number // index of the instruction; -1 for the program as a whole

  constructor(reason: string, pc = -1, op = 0) {
    const at = pc < 0 ? '' : ` at instruction ${pc} (${opNames[op] ?? `opcode ${op}`})`
    super(`field: bytecode rejected${at}: ${reason}`)
    this.pc = pc
  }
}

/** A verified effect. It is read-only. */
export class Program {
  readonly name: string
  readonly params: readonly Param[]
  readonly defaults: Float32Array // of all parameters, four lanes each
  readonly box: Box | null // region where the effect acts; null: everywhere
  readonly literals: Float32Array
  readonly code: readonly Instruction[]
  readonly preloads: number
  readonly sums: number // derived: bitmap of the output lanes that the program adds to

  /** Decodes and verifies a program, which may come from an untrusted source. */
  constructor(bytes: Uint8Array) {
    if (bytes.length > maxBinaryBytes) refuse(`${bytes.length} bytes; at most ${maxBinaryBytes} are allowed`)
    const r = new Reader(bytes)
    const head = readHeader(r)
    this.preloads = head.preloads
    this.name = r.string(head.name)
    this.params = Array.from({ length: head.params }, () => readParam(r, head.version))
    this.box = head.boxed ? { min: r.floats(3), max: r.floats(3) } : null
    this.literals = r.floats(head.literals)
    this.code = Array.from({ length: head.code }, () => readInstruction(r))
    const version = r.fault === '' && !r.short ? this.#version() : head.version
    if (head.version !== version) {
      r.fault = `the header says version ${head.version}, but the program needs version ${version}`
    }
    if (r.fault !== '') refuse(r.fault)
    if (r.short) refuse('unexpected end of data')
    if (r.at < bytes.length) refuse(`${bytes.length - r.at} bytes of trailing data`)
    this.#verifyHeader()
    const v = new Verifier(this)
    this.code.forEach((instruction, pc) => v.instruction(pc, instruction))
    if (v.sums === 0) refuse('the effect does nothing: it never adds to the output')
    this.sums = v.sums
    this.defaults = new Float32Array(4 * this.params.length)
    this.params.forEach((p, i) => this.defaults.set(p.default, 4 * i))
  }

  /** Reports whether params, four lanes for each parameter, are in their parameters' ranges. */
  allows(params: Float32Array): boolean {
    return (
      params.length === 4 * this.params.length &&
      this.params.every((p, i) => allows(p, params.subarray(4 * i, 4 * i + 4)))
    )
  }

  /**
   * Reports whether the program's result at a point may change while the point and the
   * parameters stay the same: LANGUAGE.md, "Change with time".
   */
  changesWithTime(params: Float32Array): boolean {
    const planes = new Uint8Array(planeCount)
    for (const i of this.code) {
      const flow = i.op === Op.load ? this.#flowOfUniform(i.uniform, params) : flowOf(i, planes)
      if (i.to < maxRegisters) planes[i.to] = flow
      else if (flow === Flow.changing) return true
    }
    return false
  }

  #flowOfUniform(uniform: number, params: Float32Array): number {
    if (uniform === 0) return Flow.changing
    const i = uniform - 1
    return (i < params.length ? params[i] : this.literals[i - params.length]) === 0 ? Flow.zero : Flow.steady
  }

  /** The estimated cost per point in nanoseconds, to a factor of two or three. */
  get nanosecondsPerPoint(): number {
    let sum = 0
    for (const { op, same } of this.code) {
      sum += same ? 1 : op === Op.exp2 || op === Op.sin || op === Op.hash ? 12 : op === Op.rsqrt ? 8 : 2
    }
    return sum
  }

  /** Returns the lowest version of the portable form that can express the program. */
  #version(): number {
    const newer =
      this.params.some((p) => p.scalar || p.bounded) || this.code.some((i) => i.op >= Op.exp2 && i.op < opcodes)
    return newer ? 2 : 1
  }

  #verifyHeader(): void {
    if (this.name !== '' && !isName(this.name)) refuse(`the effect's name ${quote(this.name)} is not a valid name`)
    const seen = new Set<string>()
    this.params.forEach((p, i) => {
      verifyParam(p, i, seen)
      seen.add(p.name)
    })
    if (this.box !== null) {
      const { min, max } = this.box
      if (!allFinite(min) || !allFinite(max)) refuse('the box is not finite')
      if (min.some((m, i) => m > max[i]!)) refuse('the box is inside out')
    }
    if (!allFinite(this.literals)) refuse('a literal is not finite')
    if (this.code.length === 0) refuse('no instructions')
    if (this.preloads > this.code.length) refuse(`${this.preloads} of ${this.code.length} instructions are preloads`)
  }
}

/** How a plane depends on the inputs of a call. */
const Flow = {
  steady: 0, // does not depend on time
  zero: 1, // 0 at any time
  changing: 2, // depends on time
} as const

/** Returns the flow of an operation's result. */
function flowOf(i: Instruction, planes: Uint8Array): number {
  const { operands } = i
  const a = planes[operands[0]]!
  const b = planes[operands[1]]!
  const c = planes[operands[2]]!
  switch (i.op) {
    case Op.mul:
      return flowOfProduct(a, b)
    case Op.mad:
    case Op.nmad:
      return flowOfSum(flowOfProduct(a, b), c)
    case Op.add:
    case Op.sub:
      return flowOfSum(a, b)
  }
  for (let k = 0; k < operandCounts[i.op]!; k++) if (planes[operands[k]!] === Flow.changing) return Flow.changing
  return Flow.steady
}

function flowOfProduct(a: number, b: number): number {
  return a === Flow.zero || b === Flow.zero ? Flow.zero : Math.max(a, b)
}

function flowOfSum(a: number, b: number): number {
  if (a === Flow.changing || b === Flow.changing) return Flow.changing
  return a === Flow.zero && b === Flow.zero ? Flow.zero : Flow.steady
}

function refuse(reason: string): never {
  throw new VerifyError(reason)
}

function quote(name: string): string {
  return JSON.stringify(name)
}

function readHeader(r: Reader) {
  if (r.string(4) !== 'wfld') refuse('not a program: it does not begin with wfld')
  const version = r.u8()
  if (version < 1 || version > 2) refuse(`version ${version}; want 1 to 2`)
  const flags = r.u8()
  const name = r.u8()
  const params = r.u8()
  const literals = r.u16()
  const preloads = r.u16()
  const code = r.u16()
  if (flags > 1) refuse(`unknown flags 0x${flags.toString(16)}`)
  if (params > maxParams || literals > maxLiterals || code > maxInstructions) {
    refuse(
      `${params} parameters, ${literals} literals, ${code} instructions; ` +
        `at most ${maxParams}, ${maxLiterals}, ${maxInstructions} are allowed`,
    )
  }
  return { version, boxed: flags === 1, name, params, literals, preloads, code }
}

function readParam(r: Reader, version: number): Param {
  const name = r.string(r.u8())
  const kind = version > 1 ? r.u8() : 0
  if (kind > 3) r.fault = `unknown kind 0x${kind.toString(16)} of a parameter`
  const scalar = (kind & 1) !== 0
  const bounded = (kind & 2) !== 0
  const defaults = r.floats(4)
  const [min = 0, max = 0] = bounded ? r.floats(2) : []
  return { name, default: defaults, scalar, bounded, min, max }
}

function readInstruction(r: Reader): Instruction {
  return {
    op: r.u8(),
    to: r.u8(),
    operands: [r.u8(), r.u8(), r.u8(), r.u8()],
    uniform: r.u16(),
    same: false,
    timed: false,
  }
}

/** Decodes a program. Past the end it returns zeros and sets short. */
class Reader {
  at = 0
  short = false
  fault = ''
  readonly #view: DataView

  constructor(bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  /** Returns where n bytes begin, or -1 past the end. */
  #take(n: number): number {
    const at = this.at
    if (n > this.#view.byteLength - at) {
      this.short = true
      this.at = this.#view.byteLength
      return -1
    }
    this.at += n
    return at
  }

  u8(): number {
    const at = this.#take(1)
    return at < 0 ? 0 : this.#view.getUint8(at)
  }

  u16(): number {
    const at = this.#take(2)
    return at < 0 ? 0 : this.#view.getUint16(at, true)
  }

  floats(n: number): Float32Array {
    return Float32Array.from({ length: n }, () => {
      const at = this.#take(4)
      return at < 0 ? 0 : this.#view.getFloat32(at, true)
    })
  }

  string(n: number): string {
    const at = this.#take(n)
    let s = ''
    for (let i = 0; i < n; i++) s += String.fromCharCode(at < 0 ? 0 : this.#view.getUint8(at + i))
    return s
  }
}

function verifyParam(p: Param, i: number, seen: Set<string>): void {
  const name = quote(p.name)
  if (!isName(p.name) || p.name === 'position' || p.name === 'output' || p.name === 'time') {
    refuse(`the name of parameter ${i}, ${name}, is not valid`)
  }
  if (seen.has(p.name)) refuse(`two parameters are called ${name}`)
  if (!allFinite(p.default)) refuse(`the default of parameter ${name} is not finite`)
  if (p.scalar && !p.default.every((x) => Object.is(x, p.default[0]))) {
    refuse(`parameter ${name} is a number, but the lanes of its default differ`)
  }
  if (p.bounded && !(Number.isFinite(p.min) && Number.isFinite(p.max) && p.min <= p.max)) {
    refuse(`the range of parameter ${name} is invalid`)
  }
  if (!allows(p, p.default)) refuse(`the default of parameter ${name} is outside of its range`)
}

/** Reports whether four lanes are finite and in the parameter's range. */
function allows(p: Param, lanes: Float32Array): boolean {
  const counted = p.scalar ? 1 : 4
  return lanes.every(
    (x, i) => i >= counted || (Number.isFinite(x) && (!p.bounded || i === 3 || (x >= p.min && x <= p.max))),
  )
}

function isName(s: string): boolean {
  return s.length <= maxNameBytes && /^[A-Za-z_][A-Za-z_0-9]*$/.test(s)
}

function allFinite(v: Float32Array): boolean {
  return v.every((x) => Number.isFinite(x))
}

/** Returns which operand may be the output, or -1. */
function accumulator(op: number): number {
  return op === Op.add || op === Op.sub ? 0 : op === Op.mad || op === Op.nmad ? 2 : -1
}

/** Tracks what has been written before the current instruction. */
class Verifier {
  sums = 0
  readonly #program: Program
  readonly #uniforms: number
  readonly #written = new Uint8Array(maxRegisters)
  readonly #resident = new Uint8Array(maxRegisters) // written by preloads
  readonly #same = new Uint8Array(planeCount) // planes whose lanes are all the same
  readonly #timed = new Uint8Array(planeCount) // those planes that depend on time

  constructor(p: Program) {
    this.#program = p
    this.#uniforms = 1 + 4 * p.params.length + p.literals.length
  }

  instruction(pc: number, i: Instruction): void {
    const fail = (reason: string): never => {
      throw new VerifyError(reason, pc, i.op)
    }
    const load = i.op === Op.load
    if (i.op === Op.none || i.op >= opcodes) fail('no such operation')
    if ((pc === this.#program.code.length - 1) !== (i.op === Op.end))
      fail('end must be the last instruction, and only that')
    if (pc < this.#program.preloads && !load) fail('only loads can be preloads')
    if (!load && i.uniform !== 0) fail('it names a uniform, but is not a load')
    if (load && i.uniform >= this.#uniforms) fail(`uniform ${i.uniform} of ${this.#uniforms}`)
    if (load && this.#laneOfNumber(i.uniform)) fail(`uniform ${i.uniform} is y, z or w of a number`)
    i.operands.forEach((plane, k) => this.#operand(i, k, plane, fail))
    this.#destination(pc, i, fail)
  }

  /** Reports whether a uniform is y, z or w of a parameter that is a number. */
  #laneOfNumber(uniform: number): boolean {
    const i = uniform - 1
    const p = this.#program.params[i >> 2]
    return i >= 0 && i % 4 !== 0 && p?.scalar === true
  }

  #operand(i: Instruction, k: number, plane: number, fail: (reason: string) => never): void {
    const count = operandCounts[i.op]!
    if (k >= count) {
      if (plane !== 0) fail(`operand ${k + 1} is set, but it takes ${count}`)
    } else if (i.to >= planeOutput && i.to < planeCount && k === accumulator(i.op)) {
      if (plane !== i.to) fail('it writes the output without adding to it')
    } else if (plane >= planeOutput) {
      fail(`operand ${k + 1} is plane ${plane}, which can't be read`)
    } else if (plane < maxRegisters && this.#written[plane] === 0) {
      fail(`operand ${k + 1} is register ${plane}, which has not been written`)
    }
  }

  #destination(pc: number, i: Instruction, fail: (reason: string) => never): void {
    const { op, to } = i
    if (op === Op.end) {
      if (to !== 0) fail('it names a destination but writes nothing')
    } else if (to < maxRegisters) {
      if (this.#resident[to] !== 0) fail(`register ${to} was preloaded and must keep its value`)
      this.#written[to] = 1
      if (pc < this.#program.preloads) this.#resident[to] = 1
      i.same = i.operands.every((plane, k) => k >= operandCounts[op]! || this.#same[plane] !== 0)
      this.#same[to] = i.same ? 1 : 0
      const reads =
        op === Op.load
          ? i.uniform === 0
          : i.operands.some((plane, k) => k < operandCounts[op]! && this.#timed[plane] !== 0)
      i.timed = i.same && reads
      this.#timed[to] = i.timed ? 1 : 0
    } else if (to < planeOutput || to >= planeCount || accumulator(op) < 0) {
      fail(`it can't write plane ${to}`)
    } else {
      this.sums |= 1 << (to - planeOutput)
    }
  }
}
