// The tables with which rows are coded: CODEC.md, section 7.

import { ByteReader } from './bits.ts'
import { fail } from './codes.ts'

const magic = 'worldd tables 4\n'
const maxCodeBits = 12
const residualSymbols = 43
const lanes = 8
const scales = 32
/** The contexts of a head. */
export const contexts = 48

/** A complete canonical Huffman code. */
export class Code {
  readonly #lengths: Uint8Array
  #entries: Uint16Array | undefined // by the next bits: symbol · 16 + length of the code
  #mask = 0

  constructor(lengths: Uint8Array) {
    this.#lengths = lengths
  }

  /** Returns symbol · 16 + length of the code with which the bits begin, first bit lowest. */
  entry(bits: number): number {
    const entries = this.#entries ?? this.#build()
    return entries[bits & this.#mask]!
  }

  /** Makes the entries at the first use: most codes of a file are never used. */
  #build(): Uint16Array {
    const longest = this.#lengths.reduce((a, b) => Math.max(a, b))
    const entries = new Uint16Array(1 << longest)
    let code = 0
    for (let n = 1; n <= longest; n++, code <<= 1) {
      for (let symbol = 0; symbol < this.#lengths.length; symbol++) {
        if (this.#lengths[symbol] !== n) continue
        for (let i = reverse(code, n); i < entries.length; i += 1 << n) entries[i] = symbol * 16 + n
        code++
      }
    }
    this.#mask = entries.length - 1
    this.#entries = entries
    return entries
  }
}

/** Returns the n lowest bits of v in reverse. */
function reverse(v: number, n: number): number {
  let r = 0
  for (let i = 0; i < n; i++) r |= ((v >> i) & 1) << (n - 1 - i)
  return r
}

/** The weights and codes of a set of shapes. */
export interface TableSet {
  /** For each zone, attached and speed, 4 weights of each axis of a position, then 3 of rotations. */
  readonly weights: Int16Array
  /** For each lane, attached and speed, the weights of the 12 features. */
  readonly scales: Int16Array
  /** The codes of each lane and scale. */
  readonly residuals: readonly Code[]
}

/** The bounds that divide the world of a shape. */
export interface ZoneBounds {
  readonly axis: number
  readonly first: number
  readonly second: number
}

/** The numbers with which rows are predicted and coded. Client and server use the same. */
export class Tables {
  /** FNV-1a of the file, 32 bits. */
  readonly version: number
  readonly #sets: TableSet[] = []
  readonly #ofShape = new Map<string, TableSet>()
  readonly #zones = new Map<string, ZoneBounds>()
  readonly #heads = new Map<string, Code[]>()

  /** file is one that the server's worldd train wrote, or the default. */
  constructor(file: Uint8Array) {
    this.version = versionOf(file)
    for (let i = 0; i < magic.length; i++)
      if (file[i] !== magic.charCodeAt(i)) fail('not a file of tables of this version')
    const r = new ByteReader(file, magic.length)
    const sets = r.uvarint('sets', 64)
    if (sets === 0) fail('tables without a set')
    for (let i = 0; i < sets; i++) this.#readSet(r)
    for (let n = r.uvarint('zone bounds', 256); n > 0; n--) {
      const shape = readShape(r)
      const bounds = { axis: r.u8(), first: r.uvarint('bound'), second: r.uvarint('bound') }
      if (bounds.axis > 2) fail(`zone bounds along axis ${bounds.axis}`)
      if (!this.#zones.has(shape)) this.#zones.set(shape, bounds)
    }
    for (let n = r.uvarint('heads', 256); n > 0; n--) this.#readHead(r)
    r.expectEnd()
  }

  #readSet(r: ByteReader): void {
    const shapes: string[] = []
    for (let n = r.uvarint('shapes', 64); n > 0; n--) shapes.push(readShape(r))
    const set: TableSet = {
      weights: readWeights(r, 4 * 4 * 5 * 15),
      scales: readWeights(r, lanes * 4 * 5 * 12),
      residuals: [] as Code[],
    }
    for (let i = 0; i < lanes * scales; i++) (set.residuals as Code[]).push(readCode(r, residualSymbols))
    this.#sets.push(set)
    for (const shape of shapes) if (!this.#ofShape.has(shape)) this.#ofShape.set(shape, set)
  }

  #readHead(r: ByteReader): void {
    const shape = readShape(r)
    const group = r.u8()
    const symbols = r.u8()
    if (symbols < 2 || symbols > 128) fail(`a head of ${symbols} symbols`)
    const codes = Array.from({ length: contexts }, () => readCode(r, symbols))
    const key = `${group} ${symbols} ${shape}`
    if (!this.#heads.has(key)) this.#heads.set(key, codes)
  }

  /** @internal Returns the set that codes a shape. */
  setOf(shape: string): TableSet {
    return this.#ofShape.get(shape) ?? this.#sets[0]!
  }

  /** @internal */
  zonesOf(shape: string): ZoneBounds | undefined {
    return this.#zones.get(shape)
  }

  /** @internal Returns the codes of a group by context. */
  headsOf(shape: string, group: number, symbols: number): readonly Code[] {
    const codes = this.#heads.get(`${group} ${symbols} ${shape}`)
    if (codes) return codes
    const common = commonHead(symbols)
    return Array.from({ length: contexts }, () => common)
  }
}

/** Returns the code of groups without a head in the tables. */
function commonHead(symbols: number): Code {
  const u = symbols - 1
  const log = 31 - Math.clz32(u)
  const lengths = new Uint8Array(symbols).fill(1 + log, 1)
  lengths[0] = 1
  lengths.fill(2 + log, symbols - 2 * (u - 2 ** log))
  return new Code(lengths)
}

function readShape(r: ByteReader): string {
  return String.fromCharCode(...r.bytes(r.u8()))
}

/** Reads zigzag LEB128 in the shortest form, at most 4,096 in magnitude. */
function readWeights(r: ByteReader, n: number): Int16Array {
  const weights = new Int16Array(n)
  for (let i = 0; i < n; i++) {
    const v = r.uvarint('weight', 8192)
    weights[i] = v & 1 ? -(v >> 1) - 1 : v >> 1
    if (Math.abs(weights[i]!) > 4096) fail(`a weight of ${weights[i]}`)
  }
  return weights
}

function readCode(r: ByteReader, symbols: number): Code {
  const lengths = r.bytes(symbols)
  let room = 1 << maxCodeBits
  for (const n of lengths) {
    if (n < 1 || n > maxCodeBits) fail(`a code of ${n} bits`)
    room -= 1 << (maxCodeBits - n)
  }
  if (room !== 0) fail('the lengths of a code are not complete')
  return new Code(lengths)
}

function versionOf(b: Uint8Array): number {
  let h = 0x811c9dc5
  for (const c of b) h = Math.imul(h ^ c, 0x01000193)
  return h >>> 0
}

let defaults: Promise<Tables> | undefined

/**
 * Returns the tables that ship with this version of the protocol. They are a separate module:
 * bundlers put it into a separate file, and browsers load that when needed.
 */
export function defaultTables(): Promise<Tables> {
  defaults ??= unpack().then(
    (file) => new Tables(file),
    (e) => {
      defaults = undefined // the next call loads them again
      throw e
    },
  )
  return defaults
}

async function unpack(): Promise<Uint8Array> {
  const { packedTables } = await import('./tables.data.ts')
  const packed = Uint8Array.from(atob(packedTables), (c) => c.charCodeAt(0))
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))
  return new Uint8Array(await new Response(stream).arrayBuffer())
}
