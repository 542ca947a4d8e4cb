// The contents of a schema: PROTOCOL.md, section 5.

import { type BitReader, BitWriter, ByteReader, ByteWriter, decodeText } from './bits.ts'
import { fail } from './codes.ts'
import * as limit from './limits.ts'

const utf8 = new TextEncoder()

/** The kind of a field. */
export type Kind = 'bool' | 'uint' | 'int' | 'range' | 'float' | 'ref' | 'enum' | 'angle' | 'quat'

/** A field other than a text. It has uint32 values: the table of section 5. */
export class Field {
  readonly path: string
  readonly kind: Kind
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

  constructor(path: string, kind: Kind) {
    this.path = path
    this.kind = kind
  }

  /** Reports whether the field is a number field. */
  get isNumber(): boolean {
    return this.n <= 32 && this.kind !== 'bool' && this.kind !== 'float' && this.kind !== 'ref' && this.kind !== 'quat'
  }

  /** The most bits of the field in full. */
  get bits(): number {
    return this.kind === 'ref' ? 1 + 2 * (2 + 32) : this.kind === 'quat' ? 2 + 3 * this.n : this.n
  }

  /** Reports whether f has the same line except for the path. */
  hasFormOf(f: Field): boolean {
    return (
      this.kind === f.kind &&
      this.n === f.n &&
      this.largest === f.largest &&
      this.low === f.low &&
      this.step === f.step &&
      this.always === f.always &&
      this.linear === f.linear &&
      this.owner === f.owner
    )
  }

  /** Reads the field in full (section 7) into out, from at on. */
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

  /** Writes the field in full from values, from at on. */
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

/** Returns the value of a text field that was not sent. */
export function noText(f: TextField): Text {
  return f.bytes ? new Uint8Array(0) : ''
}

/** A component of rows. */
export interface Component {
  readonly name: string
  readonly index: number
  readonly fields: readonly Field[]
  readonly texts: readonly TextField[]
  /** The path of the position of a parent line, '' without one. */
  readonly parent: string
  /** The index of the first value of the parent's handle. */
  readonly holder: number
}

/** The form of an event, of arguments, of an answer or of an input. */
export class Message {
  readonly fields: readonly Field[]
  readonly texts: readonly TextField[]
  /** The number of uint32 values of all fields. */
  readonly values: number
  constructor(fields: readonly Field[], texts: readonly TextField[]) {
    this.fields = fields
    this.texts = texts
    this.values = fields.reduce((n, f) => n + f.values, 0)
  }

  /** Reads a body (section 7). */
  parse(r: BitReader, b: Uint8Array): Payload {
    const p: Payload = { values: new Uint32Array(this.values), texts: [] }
    r.reset(b)
    for (const f of this.fields) f.read(r, p.values, f.index)
    const c = new ByteReader(b, r.endBytes())
    for (const f of this.texts) p.texts.push(readText(f, c.bytes(c.uvarint(f.path, f.max))))
    c.expectEnd()
    return p
  }

  /** Returns the body of a payload. */
  append(p: Payload): Uint8Array {
    const w = new BitWriter()
    for (const f of this.fields) f.write(w, p.values, f.index)
    const c = new ByteWriter()
    c.bytes(w.bytes())
    this.texts.forEach((f, i) => {
      const text = p.texts[i] ?? noText(f)
      const b = typeof text === 'string' ? utf8.encode(text) : text
      if (b.length > f.max) throw new RangeError(`${f.path} has ${b.length} bytes, at most ${f.max}`)
      c.uvarint(b.length)
      c.bytes(b)
    })
    return c.take()
  }
}

/** A quantised message. */
export interface Payload {
  values: Uint32Array
  texts: Text[]
}

/** The constants of a kind's bodies. */
export interface Body {
  readonly inverseMass: number
  readonly coupling: number
  readonly radius: number
  readonly friction: number
  readonly restitution: number
  readonly layers: number
}

/** The constants of the motion line. */
export interface Motion {
  readonly tickHz: number
  readonly gravity: number
  readonly maxSpeed: number
  readonly halfX: number
  readonly height: number
  readonly halfZ: number
  readonly restSpeed: number
  readonly restTicks: number
  readonly bounds: 'clamp' | 'bounce' | 'destroy'
}

export interface KindOfEntity {
  readonly name: string
  readonly body?: Body
}

export interface CommandKind {
  readonly name: string
  /** The declared arguments, absent if they are raw. */
  readonly args?: Message
  readonly answer?: Message
}

export interface EventKind {
  readonly name: string
  readonly unreliable: boolean
  readonly message: Message
}

/** The contents of a schema text. */
export interface Schema {
  readonly text: string
  readonly hash: bigint
  readonly components: readonly Component[]
  /** The number of uint32 values in a row. */
  readonly values: number
  /** The text fields of all components, by number. */
  readonly texts: readonly TextField[]
  readonly kinds: readonly KindOfEntity[]
  readonly motion: Motion | undefined
  /** The declared input, undefined if inputs are raw. */
  readonly input: Message | undefined
  readonly commands: readonly CommandKind[]
  readonly events: readonly EventKind[]
}

/** Reports whether a vector (CODEC.md, section 2) begins with field i. */
export function isVector(fields: readonly Field[], i: number): boolean {
  const f = fields[i]!
  if (f.kind !== 'range' || f.always || !f.path.endsWith('[0]')) return false
  const stem = f.path.slice(0, -2)
  return fields[i + 2]?.path === `${stem}2]` && fields[i + 3]?.path !== `${stem}3]`
}
