// The fields of components and messages: PROTOCOL.md, section 5.

import { type BitReader, type BitWriter, decodeText, encodeText } from './bits.ts'
import { fail } from './codes.ts'
import * as limit from './limits.ts'

/** The kind of a field. */
export type Kind = 'bool' | 'uint' | 'int' | 'range' | 'float' | 'ref' | 'enum' | 'angle' | 'quat'

/** A field other than a text. It has uint32 values: the table of section 5. */
export class Field {
  readonly path: string
  readonly kind: Kind
  /** The line of the schema text after the path: kind and attributes. */
  readonly form: string
  /** The width in bits. For a quat, of each component. */
  n = 0
  /** The largest number N, 0 if the field has none. */
  largest = 0
  always = false
  linear = false
  owner = false
  low = 0
  step = 0
  /** The number of its uint32 values. */
  values = 1
  /** The index of the field's first value in a row or a message. */
  index = 0
  /** The field's component, -1 in a message; offset is the index of its first value. */
  component = -1
  offset = 0
  /** @internal The number of the field in its component, and the component's name. */
  number = 0
  item = ''
  /** @internal The path in the game's structs. */
  declared: string
  /** @internal Converts a number to one that the game's field holds; undefined if it holds all. */
  convert: ((v: number) => number) | undefined

  constructor(path: string, kind: Kind, form: string) {
    this.path = path
    this.declared = path
    this.kind = kind
    this.form = form
  }

  /** Reports whether the field is a number field. */
  get isNumber(): boolean {
    return this.n <= 32 && this.kind !== 'bool' && this.kind !== 'float' && this.kind !== 'ref' && this.kind !== 'quat'
  }

  /** The most bits of the field in full. */
  get bits(): number {
    return this.kind === 'ref' ? 1 + 2 * (2 + 32) : this.kind === 'quat' ? 2 + 3 * this.n : this.n
  }

  /** @internal Reads the field in full (section 7) into out, from at on. */
  read(r: BitReader, out: Uint32Array, at: number): void {
    if (this.kind === 'ref') this.#readRef(r, out, at)
    else if (this.values === 2) {
      out[at] = r.long(32)
      out[at + 1] = r.long(32)
    } else if (this.kind === 'quat') out[at] = r.long(2 + 3 * this.n)
    else {
      const v = r.long(this.n)
      if (v > this.largest && this.largest > 0) r.refuse(`${this.path} is ${v}, at most ${this.largest}`)
      out[at] = v
    }
  }

  #readRef(r: BitReader, out: Uint32Array, at: number): void {
    out[at] = out[at + 1] = 0
    if (r.bits(1) === 0) return
    const index = r.sized()
    const generation = r.sized()
    out[at] = index
    out[at + 1] = generation
    if (index >= limit.maxSlots || generation % 2 === 0) r.refuse(`${this.path} is the handle ${index}v${generation}`)
  }

  /** @internal Writes the field in full from values, from at on. */
  write(w: BitWriter, values: Uint32Array, at: number): void {
    if (this.kind === 'ref') {
      const some = values[at] !== 0 || values[at + 1] !== 0
      w.bits(some ? 1 : 0, 1)
      if (some) {
        w.sized(values[at]!)
        w.sized(values[at + 1]!)
      }
    } else if (this.values === 2) {
      w.bits(values[at]!, 32)
      w.bits(values[at + 1]!, 32)
    } else w.bits(values[at]!, this.bits)
  }
}

/** A string or bytes: sent apart from rows. */
export interface TextField {
  readonly path: string
  readonly max: number // bytes
  readonly bytes: boolean
  readonly owner: boolean
  readonly component: number
}

/** The value of a text field: a string, or bytes. */
export type Text = string | Uint8Array

/** Checks the bytes of a text field and returns their value. */
export function readText(f: TextField, b: Uint8Array): Text {
  if (b.length > f.max) fail(`${f.path} has ${b.length} bytes, at most ${f.max}`)
  return f.bytes ? b.slice() : decodeText(b)
}

/**
 * Returns a text as the field holds it: at most max bytes. A string is cut between two characters,
 * and has one U+FFFD for each run of invalid UTF-8.
 */
export function fitText(f: TextField, v: Text): Text {
  if (typeof v !== 'string' && !(v instanceof Uint8Array)) throw new TypeError(`${f.path}: want a string or bytes`)
  const s = f.bytes || typeof v === 'string' ? v : decodeLossy(v)
  const b = typeof s === 'string' ? encodeText(s) : s
  if (f.bytes) return b.slice(0, f.max)
  if (b.length <= f.max) return s
  let n = f.max
  while (n > 0 && (b[n]! & 0xc0) === 0x80) n--
  return lossy.decode(b.subarray(0, n))
}

const lossy = new TextDecoder('utf-8', { ignoreBOM: true })

/** Decodes UTF-8. Each run of invalid bytes becomes one U+FFFD, as in Go. */
function decodeLossy(b: Uint8Array): string {
  let s = ''
  let from = 0
  for (let at = 0; at <= b.length; at++) {
    // U+FFFD itself is valid, and ends a run.
    const is = b[at] === 0xef && b[at + 1] === 0xbf && b[at + 2] === 0xbd
    if (!is && at < b.length) continue
    s += lossy.decode(b.subarray(from, at)).replace(/\ufffd+/g, '\ufffd') + (is ? '\ufffd' : '')
    from = at + 3
  }
  return s
}

/** Returns the value of a text field that was not sent. */
export function noText(f: TextField): Text {
  return f.bytes ? new Uint8Array(0) : ''
}

/** Reports whether a vector (CODEC.md, section 2) begins with field i. */
export function isVector(fields: readonly Field[], i: number): boolean {
  const f = fields[i]!
  if (f.kind !== 'range' || f.always || !f.path.endsWith('[0]')) return false
  const stem = f.path.slice(0, -2)
  return fields[i + 2]?.path === `${stem}2]` && fields[i + 3]?.path !== `${stem}3]`
}
