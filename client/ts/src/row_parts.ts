// The parts of a coded row, and the states from which it is predicted: CODEC.md, sections 2 and
// 3.

import type { Field } from './fields.ts'
import type { Component } from './schema.ts'
import type { Code, TableSet, Tables, ZoneBounds } from './tables.ts'
import { groupsOf, unitsOf } from './units.ts'

const maxRatio = 32 * 2 ** 16

/** The largest N of a position that is predicted in doubles with an anchor. */
export const maxDoubleN = 2 ** 21

/** The states from which a coded row is predicted (section 3). States are in arrays, from these indexes on. */
export class Past {
  age = 0
  gap = 0
  values!: Uint32Array // of the base and the older state
  base = 0
  older = -1 // -1: none
  /** The component to which the anchor applies, -1 without one. */
  anchor = -1
  anchorNow!: Uint32Array
  now = 0
  anchorPast!: Uint32Array
  anchorBase = 0
  anchorOlder = -1

  /** Returns r of section 3. */
  ratio(): number {
    return this.older < 0 ? 0 : Math.min(Math.floor((this.age * 2 ** 16) / this.gap), maxRatio)
  }
}

/** A unit of a component (section 2). */
export class Unit {
  readonly letter: string
  readonly field: Field
  readonly index: number // of the first value
  readonly fields: number
  readonly radix: number
  readonly n: number
  readonly largest: number
  readonly ring: number
  readonly linear: boolean
  readonly clamps: boolean // predictions clamp instead of wrapping around

  constructor(letter: string, f: Field, fields: number, radix: number) {
    this.letter = letter.toLowerCase()
    this.field = f
    this.index = f.index
    this.fields = fields
    this.radix = radix
    this.n = f.n
    this.largest = f.kind === 'quat' ? 2 ** f.n - 1 : f.largest
    this.ring = this.largest + 1
    this.linear = f.linear
    this.clamps = f.kind === 'range'
  }
}

export interface Group {
  readonly first: number
  readonly last: number
  readonly heads: readonly Code[]
}

/** A component as one receiver gets it: the owner, or another client. */
export class Part {
  readonly component: number
  readonly units: readonly Unit[]
  readonly groups: readonly Group[]
  readonly position: Unit | undefined
  readonly rotation: Unit | undefined
  readonly flag: number // index of the flag's value, -1: none
  readonly set: TableSet
  readonly zones: ZoneBounds | undefined
  readonly wide: boolean
  /** The fields that the receiver gets. */
  readonly fields: readonly Field[]

  constructor(c: Component, owned: boolean, tables: Tables) {
    const units = unitsOf(c, owned)
    const shape = units.map((u) => u.letter).join('')
    this.component = c.index
    this.units = units.map((u) => new Unit(u.letter, c.fields[u.at]!, u.fields, u.radix))
    let first = 0
    this.groups = groupsOf(units.map((u) => u.radix)).map((last, g) => {
      const symbols = this.units.slice(first, last).reduce((product, u) => product * u.radix, 1)
      const group = { first, last, heads: tables.headsOf(shape, g, symbols) }
      first = last
      return group
    })
    this.position = this.units.find((u) => u.letter === 'p')
    this.rotation = this.units.find((u) => u.letter === 'q')
    this.flag = this.units.find((u) => u.letter === 'b')?.index ?? -1
    this.set = tables.setOf(shape)
    this.zones = this.position && tables.zonesOf(shape)
    this.wide = c.parent !== '' && this.position !== undefined && this.position.largest > maxDoubleN
    this.fields = c.fields.filter((f) => owned || !f.owner)
  }
}
