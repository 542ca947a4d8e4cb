// The units in which rows code components: CODEC.md, section 2.

import { isVector } from './fields.ts'
import type { Component } from './schema.ts'

/** Yields the first fields of the units (CODEC.md, section 2) with their letters and radices. */
export function unitsOf(c: Component, owned: boolean): { letter: string; at: number; fields: number; radix: number }[] {
  const units = []
  let hasPosition = false
  for (let at = 0; at < c.fields.length; ) {
    const f = c.fields[at]!
    let fields = 1
    if (f.owner && !owned) {
      at++
      continue
    }
    let letter = 'f'
    let radix = 2
    if (f.always) {
      letter = 'a'
      radix = 1
    } else if (f.kind === 'bool') letter = 'b'
    else if (f.kind === 'quat') {
      letter = f.linear ? 'Q' : 'q'
      radix = 5
    } else if (isVector(c.fields, at)) {
      fields = 3
      letter = f.linear ? 'V' : 'v'
      if (f.linear && !hasPosition && (c.parent === '' || c.parent === f.path)) {
        letter = 'P'
        radix = 5
        hasPosition = true
      }
    } else if (f.isNumber && f.n > 4) letter = f.linear ? 'N' : 'n'
    units.push({ letter, at, fields, radix })
    at += fields
  }
  return units
}

/** Divides units with these radices into groups, and returns the ends of the groups. */
export function groupsOf(radices: readonly number[]): number[] {
  const ends: number[] = []
  let product = 1
  radices.forEach((radix, i) => {
    if (product * radix > 128) {
      ends.push(i)
      product = 1
    }
    product *= radix
  })
  if (product > 1) ends.push(radices.length)
  return ends
}
