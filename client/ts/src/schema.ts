// The contents of a schema: PROTOCOL.md, section 5.

import { type BitReader, BitWriter, ByteReader, ByteWriter, encodeText } from './bits.ts'
import { type Field, noText, readText, type TextField } from './fields.ts'
import { type Payload, Shape } from './values.ts'

/** The fields of a component or a message. */
export class Form {
  readonly fields: readonly Field[]
  readonly texts: readonly TextField[]
  /** @internal Converts between the fields and the game's structs, which may have other fields. */
  shape: Shape
  constructor(fields: readonly Field[], texts: readonly TextField[]) {
    this.fields = fields
    this.texts = texts
    this.shape = new Shape(fields, texts)
  }

  /** Returns the field that has a path in the game's structs, undefined if the server lacks it. */
  field(path: string): Field | undefined {
    return this.shape.fieldAt(path)
  }
}

/** A component of rows. */
export interface Component extends Form {
  readonly name: string
  readonly index: number
  /** The path of the position of a parent line, '' without one. */
  readonly parent: string
  /** The index of the first value of the parent's handle. */
  readonly holder: number
}

/** The form of an event, of arguments, of an answer or of an input. */
export class Message extends Form {
  /** @internal Whether games receive it: a game with declarations receives no answer that these lack. */
  delivered = true
  /** The number of uint32 values of all fields. */
  readonly values: number
  constructor(fields: readonly Field[], texts: readonly TextField[]) {
    super(fields, texts)
    this.values = fields.reduce((n, f) => n + f.values, 0)
  }

  /** @internal Reads a body (section 7). */
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
      const b = typeof text === 'string' ? encodeText(text) : text
      if (b.length > f.max) throw new RangeError(`${f.path} has ${b.length} bytes, at most ${f.max}`)
      c.uvarint(b.length)
      c.bytes(b)
    })
    return c.take()
  }
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

/** A kind of entities, and its body if it has one. */
export interface KindOfEntity {
  readonly name: string
  readonly body?: Body
}

/** A command that the schema declares. */
export interface CommandKind {
  readonly name: string
  /** The declared arguments, absent if they are raw. */
  readonly args?: Message
  readonly answer?: Message
}

/** An event that the schema declares. */
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
