// Entities in view and their states: PROTOCOL.md, section 11.4.

import type { Binding } from './declaration.ts'
import type { Field, Text } from './fields.ts'
import { type Handle, newHandle, none } from './handles.ts'
import * as limit from './limits.ts'
import type { Bodies } from './motion/bodies.ts'
import { State } from './motion/columns.ts'
import type { Component, Schema } from './schema.ts'
import { blend, blendQuaternion, numberOf, type Quaternion, restoreField, type Struct } from './values.ts'

/** The server time that a render shows. */
export interface Moment {
  /** The moment in ticks, with fractions; 0 before the second snapshot. */
  readonly tick: number
  /** The newest tick of the replica. */
  readonly newest: number
  /** How long motion is extrapolated when snapshots stop, in ticks. */
  readonly maxExtrapolate: number
}

/** The properties that all entities of a schema have in common. */
export class Layout {
  readonly schema: Schema
  /** @internal How the schema differs from the game's declarations, undefined if it does not or there are none. */
  readonly binding: Binding | undefined
  /** The number of the component body, -1 without one. */
  readonly body: number
  readonly #components = new Map<string, Component>()
  readonly #alike = new WeakMap<Field, { readonly field: Field | undefined }>()

  /** @internal */
  constructor(schema: Schema, binding?: Binding) {
    this.schema = schema
    this.binding = binding
    for (const c of schema.components) this.#components.set(c.name, c)
    this.body = this.#components.get('body')?.index ?? -1
  }

  /** Returns the component of a name, undefined if the schema has none. */
  component(name: string): Component | undefined {
    return this.#components.get(name)
  }

  /** Returns the field that a field of another room's schema names, undefined if this schema has none of its kind. */
  fieldLike(f: Field): Field | undefined {
    let g = this.#alike.get(f)
    if (!g) {
      const found = this.component(f.item)?.field(f.declared)
      const isNumber = (x: Field): boolean => x.kind !== 'quat' && x.kind !== 'ref'
      g = { field: found && (found.kind === f.kind || (isNumber(found) && isNumber(f))) ? found : undefined }
      this.#alike.set(f, g)
    }
    return g.field
  }
}

/** The contents of an Enter. */
export interface Entered {
  readonly kind: number
  readonly mask: number
  readonly owned: boolean
  readonly texts: Text[]
  /** The number of the Enter. */
  readonly number: number
  readonly load: number
}

const nothing: Entered = { kind: 0, mask: 0, owned: false, texts: [], number: 0, load: 0 }

/** The capacity after the first growth. Most entities sleep and never grow. */
const roomToMove = 4

/**
 * The client's copy of one entity. Keep handles instead of entities: an Entity is valid until
 * it leaves or is destroyed.
 */
export class Entity {
  readonly handle: Handle
  readonly index: number
  readonly generation: number
  readonly layout: Layout
  /** The bits of the rows that have arrived for it since it came into view. */
  bits = 0
  /** @internal */ place = 0 // in Replica.entities
  #entered: Entered = nothing
  #tick = 0

  // One list: the ticks of all states, the ticks from which they are blended in, or of the
  // teleports of which their rows told, then their values.
  #list!: Uint32Array
  #room = 1
  #count = 1
  #leapt = 0 // a bit for each state whose row told of a teleport, by index
  #newest = 0 // index of the current state
  #named = 0 // highest tick named as the older baseline
  #floor = 0 // named before its latest increase
  #from = 0 // indexes of the values that at uses
  #to = 0
  #ratio = 0
  readonly #bodies: Bodies | undefined

  /** @internal */
  constructor(index: number, generation: number, layout: Layout, bodies: Bodies | undefined) {
    this.handle = newHandle(index, generation)
    this.index = index
    this.generation = generation
    this.layout = layout
    this.#bodies = bodies
  }

  /** The number of the entity's kind. */
  get kind(): number {
    return this.#entered.kind
  }

  /** One bit for each component, set if the entity has it. */
  get mask(): number {
    return this.#entered.mask
  }

  /** Whether this client owns the entity and receives its owner fields. */
  get owned(): boolean {
    return this.#entered.owned
  }

  /** All text fields by number; empty if they were not sent. */
  get texts(): readonly Text[] {
    return this.#entered.texts
  }

  /** The tick of the current state. */
  get tick(): number {
    return this.#tick
  }

  /**
   * The tick from which on the entity is where its newest received state has it, if the server said
   * with that state that it teleported the entity; else 0. It says so until this client has
   * acknowledged a state since.
   */
  get teleported(): number {
    return this.#teleportOf(this.#newest)
  }

  #teleportOf(i: number): number {
    return (this.#leapt >>> i) & 1 ? this.#list[this.#room + i]! : 0
  }

  /** @internal The number of its Enter. */
  get entered(): number {
    return this.#entered.number
  }

  /** @internal The load that it adds to a datagram. */
  get load(): number {
    return this.#entered.load
  }

  /** The name of the kind, or 'kind N' if the game added it after its start. */
  get kindName(): string {
    return this.layout.schema.kinds[this.kind]?.name ?? `kind ${this.kind}`
  }

  /** A copy of the current state's values, in the row layout of the schema. */
  get values(): Uint32Array {
    const at = this.valuesAt(this.#newest)
    return this.#list.slice(at, at + this.layout.schema.values)
  }

  /** @internal Copies values to out. */
  copyValues(out: Uint32Array): void {
    const at = this.valuesAt(this.#newest)
    for (let i = 0; i < out.length; i++) out[i] = this.#list[at + i]!
  }

  /** Reports whether the entity has a component. */
  has(component: string): boolean {
    return this.#componentOf(component) !== undefined
  }

  /** Returns the component if the entity has it. */
  #componentOf(name: string): Component | undefined {
    const c = this.layout.component(name)
    return c && (this.mask >>> c.index) & 1 ? c : undefined
  }

  /** Returns the newest state of a component as a struct, undefined if the entity lacks it. It allocates. */
  get(component: string): Struct | undefined {
    const c = this.#componentOf(component)
    if (!c) return undefined
    const s = this.computed(c.index)
    const at = this.valuesAt(this.#newest)
    return this.#structOf(c, (f) => (s ? coordinate(s, f) : restoreField(f, this.#list, at + f.index)))
  }

  /** Returns a component at a moment, as a struct: see numberAt. It allocates. */
  at(component: string, m: Moment): Struct | undefined {
    const c = this.#componentOf(component)
    if (!c) return undefined
    this.#findStates(m)
    const s = this.#computedAt(c.index, m)
    return this.#structOf(c, (f) => {
      if (s) return coordinate(s, f)
      const from = this.#from + f.index
      const to = this.#to + f.index
      if (f.kind === 'quat') return blendQuaternion(f, this.#list, from, to, this.#ratio, [0, 0, 0, 1])
      if (f.kind === 'bool' || f.kind === 'ref' || (f.n === 64 && f.kind !== 'float'))
        return restoreField(f, this.#list, this.#ratio >= 1 ? to : from)
      return blend(f, this.#list, from, to, this.#ratio)
    })
  }

  #structOf(c: Component, value: (f: Field) => unknown): Struct {
    const first = this.layout.schema.texts.indexOf(c.texts[0]!)
    return c.shape.make(
      (i) => value(c.fields[i]!),
      (i) => this.texts[first + i]!,
    )
  }

  /** Returns the field of the entity's schema that f names. Games keep fields over moves to rooms of other schemas. */
  #fieldOf(f: Field): Field | undefined {
    return this.layout.schema.components[f.component]?.fields[f.number] === f ? f : this.layout.fieldLike(f)
  }

  /** Returns the newest value of a field without allocating, 0 if the entity lacks it. */
  number(field: Field): number {
    const f = this.#fieldOf(field)
    if (!f) return 0
    const s = this.computed(f.component)
    const v = s ? coordinate(s, f) : numberOf(f, this.#list, this.valuesAt(this.#newest) + f.index)
    return f.convert ? f.convert(v) : v
  }

  /**
   * Returns a field at a moment without allocating. Between two states, ranges and floats
   * change linearly, angles along the shorter arc; all other fields change when the second
   * state is reached. If snapshots stop, linear fields are extrapolated for a quarter second.
   * An entity that the server teleported is shown where it was until the tick of the teleport.
   */
  numberAt(field: Field, m: Moment): number {
    const f = this.#fieldOf(field)
    if (!f) return 0
    const s = this.#computedAt(f.component, m)
    if (!s) this.#findStates(m)
    return this.#blended(f, s)
  }

  /** Returns a field of the computed state s, or between the states that findStates found. */
  #blended(f: Field, s: State | undefined): number {
    const v = s ? coordinate(s, f) : blend(f, this.#list, this.#from + f.index, this.#to + f.index, this.#ratio)
    return f.convert ? f.convert(v) : v
  }

  /** Writes n fields at a moment, from f on in the order of get, to out from index i on. A position has 3 fields. */
  vectorAt(f: Field, n: number, m: Moment, out: Float32Array | number[], i = 0): void {
    const from = this.#fieldOf(f)
    if (!from) {
      for (let k = 0; k < n; k++) out[i + k] = 0
      return
    }
    const c = this.layout.schema.components[from.component]!
    const s = this.#computedAt(from.component, m)
    if (!s) this.#findStates(m)
    const first = c.shape.ordered.indexOf(from)
    for (let k = 0; k < n; k++) {
      const g = first < 0 ? c.fields[from.number + k] : c.shape.ordered[first + k]
      out[i + k] = g ? this.#blended(g, s) : 0
    }
  }

  /** Writes a quat at a moment to q, and returns it. */
  quaternionAt(field: Field, m: Moment, q: Quaternion): Quaternion {
    const f = this.#fieldOf(field)
    if (!f) {
      q[0] = q[1] = q[2] = 0
      q[3] = 1
      return q
    }
    this.#findStates(m)
    return blendQuaternion(f, this.#list, this.#from + f.index, this.#to + f.index, this.#ratio, q)
  }

  /** Returns the handle in a ref field, in the newest state. */
  reference(field: Field): Handle {
    const f = this.#fieldOf(field)
    if (!f) return none
    const at = this.valuesAt(this.#newest) + f.index
    return newHandle(this.#list[at]!, this.#list[at + 1]!)
  }

  /** Whether the client computes the entity's body. */
  get isComputed(): boolean {
    return this.#bodies?.isComputed(this.index) ?? false
  }

  /**
   * @internal Returns the newest state of the entity's body, if the client computes it and
   * component is the body. It is valid until the next call.
   */
  computed(component: number): State | undefined {
    const bodies = this.#bodiesOf(component)
    return bodies && bodies.newestState(this.index, now) !== 0 ? now : undefined
  }

  /** Returns the state of the entity's body at a moment, if the client computes it and component is the body. */
  #computedAt(component: number, m: Moment): State | undefined {
    return this.#bodiesOf(component)?.stateAt(this.index, m.tick, m.maxExtrapolate, now, before, after)
      ? now
      : undefined
  }

  #bodiesOf(component: number): Bodies | undefined {
    return component === this.layout.body ? this.#bodies : undefined
  }

  /** Sets from, to and ratio to the states to blend at a moment. */
  #findStates(m: Moment): void {
    let before = -1
    let after = -1
    const whole = Math.max(Math.floor(m.tick), 0)
    for (let i = 0; i < this.#count; i++) {
      const t = this.#list[i]!
      if (t <= whole) {
        if (before < 0 || t > this.#list[before]!) before = i
      } else if (after < 0 || t < this.#list[after]!) after = i
    }
    this.#ratio = 0
    if (before < 0) before = after
    else if (after < 0) {
      after = before
      before = this.#stateBefore(after)
      const last = this.#list[after]!
      if (before < 0 || this.#teleportOf(after) > this.#list[before]! || last < m.newest || m.tick <= last)
        before = after
      else this.#ratio = 1 + Math.min(m.tick - last, m.maxExtrapolate) / (last - this.#list[before]!)
    } else if (this.#teleportOf(after) > this.#list[before]!) {
      this.#ratio = m.tick < this.#teleportOf(after) ? 0 : 1
    } else {
      const first = Math.max(this.#list[before]!, this.#list[this.#room + after]!)
      this.#ratio = Math.max(m.tick - first, 0) / (this.#list[after]! - first)
    }
    this.#from = this.valuesAt(before)
    this.#to = this.valuesAt(after)
  }

  /** Returns the newest state before state i, or -1. */
  #stateBefore(i: number): number {
    let found = -1
    for (let j = 0; j < this.#count; j++) {
      if (this.#list[j]! < this.#list[i]! && (found < 0 || this.#list[j]! > this.#list[found]!)) found = j
    }
    return found
  }

  /** @internal Starts the entity's life in view with one state. list has 2 elements more than its values. */
  beginView(entered: Entered, list: Uint32Array, tick: number): void {
    this.#entered = entered
    this.#list = list
    list[0] = tick
    list[1] = 0
    this.#tick = tick
    this.#room = this.#count = 1
    this.#leapt = this.#newest = this.#named = this.#floor = 0
  }

  /** @internal Sets a text field. */
  setText(number: number, text: Text): void {
    this.#entered.texts[number] = text
  }

  /** @internal The list of states. */
  get all(): Uint32Array {
    return this.#list
  }

  /** @internal The memory of the states. */
  get bytes(): number {
    return this.#list.byteLength
  }

  /** @internal The most bytes that the next add allocates. */
  get growth(): number {
    return this.#count < this.#room ? 0 : (this.#larger - this.#room) * 4 * (2 + this.layout.schema.values)
  }

  get #larger(): number {
    return Math.min(Math.max(2 * this.#room, roomToMove), limit.maxStates)
  }

  /** @internal Returns the index in all of the first value of state i. */
  valuesAt(i: number): number {
    return 2 * this.#room + i * this.layout.schema.values
  }

  /** @internal Returns the index of the state of a tick, or -1. */
  indexOfState(tick: number): number {
    for (let i = 0; i < this.#count; i++) if (this.#list[i] === tick) return i
    return -1
  }

  /** @internal Notes that the server named the state of tick as the older baseline. */
  noteBaseline(tick: number): void {
    if (tick > this.#named) {
      this.#floor = this.#named
      this.#named = tick
    }
  }

  /**
   * @internal Stores a state, and returns whether it became the current one. States older than
   * the server's older baseline may be overwritten, but not within the last span ticks.
   * @param blendFrom - see Timeline.blendFrom
   * @param teleport - the tick of the teleport of which the row tells; 0: none
   */
  addState(tick: number, blendFrom: number, teleport: number, values: Uint32Array, at: number, span: number): boolean {
    if (tick < this.#floor) return false
    let oldest = 0
    for (let i = 0; i < this.#count; i++) {
      const t = this.#list[i]!
      if (t === tick) return false
      if (t < this.#list[oldest]!) oldest = i
    }
    let i = oldest
    if (this.#list[oldest]! >= this.#floor || this.#list[oldest]! + span >= tick) {
      if (this.#count < limit.maxStates) {
        if (this.#count === this.#room) this.#growList()
        i = this.#count++
      } else if (tick < this.#list[oldest]!) return false
    }
    this.#list[i] = tick
    this.#list[this.#room + i] = teleport || blendFrom
    this.#leapt = (this.#leapt & ~(1 << i)) | (teleport === 0 ? 0 : 1 << i)
    const to = this.valuesAt(i)
    for (let k = 0, n = this.layout.schema.values; k < n; k++) this.#list[to + k] = values[at + k]!
    if (tick <= this.#tick) return false
    this.#newest = i
    this.#tick = tick
    return true
  }

  #growList(): void {
    const old = this.#list
    const from = this.#room
    const to = this.#larger
    const list = new Uint32Array(to * (2 + this.layout.schema.values))
    list.set(old.subarray(0, from))
    list.set(old.subarray(from, 2 * from), to)
    list.set(old.subarray(2 * from), 2 * to)
    this.#list = list
    this.#room = to
  }
}

// Scratch for computed bodies.
const now = new State()
const before = new State()
const after = new State()

/** Returns a field of the component body. */
export function coordinate(s: State, f: Field): number {
  switch (f.index - f.offset) {
    case 0:
      return s.x
    case 1:
      return s.y
    case 2:
      return s.z
    case 3:
      return s.vx
    case 4:
      return s.vy
  }
  return s.vz
}
