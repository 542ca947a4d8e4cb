// The parts of a game's input that keys and drags set, found in the game's schema.

import type { Field, Message, Struct } from '../src/index.ts'
import { Shape } from '../src/values.ts'

/** An input field that a direction sets. full is the field's value at full deflection. */
interface Axis {
  readonly field: number
  readonly full: number
}

/** A bool of the input, and the key that sets it. */
export interface Press {
  readonly field: number
  readonly key: string
  readonly name: string
}

/** The keys of an input's first bools, in order. */
const pressKeys = ['Space', 'KeyE', 'KeyQ', 'KeyF']

/** Names of axes: to the right, and towards the player. */
const acrossNames = ['x', '0']
const towardsNames = ['z', '2', 'y', '1']

/** Makes inputs in the form that a game declares. */
export class Controls {
  readonly presses: readonly Press[]
  readonly #shape: Shape
  readonly #across: Axis | undefined
  readonly #towards: Axis | undefined

  constructor(input: Message | undefined) {
    this.#shape = new Shape(input?.fields ?? [], input?.texts ?? [])
    this.#across = this.#axis(acrossNames)
    this.#towards = this.#axis(towardsNames)
    const bools = this.#shape.fields.map((f, field) => ({ f, field })).filter(({ f }) => f.kind === 'bool')
    this.presses = bools
      .slice(0, pressKeys.length)
      .map(({ f, field }, i) => ({ field, key: pressKeys[i]!, name: lastPart(f.path) }))
  }

  /** Whether the input has axes: signed numbers X and Z, or Y, or the elements of a vector. */
  get steers(): boolean {
    return this.#across !== undefined && this.#towards !== undefined
  }

  #axis(names: readonly string[]): Axis | undefined {
    for (const name of names) {
      const field = this.#shape.fields.findIndex((f) => lastPart(f.path).toLowerCase() === name && fullOf(f) > 0)
      if (field >= 0) return { field, full: fullOf(this.#shape.fields[field]!) }
    }
    return undefined
  }

  /** Returns the input for a direction, at most 1 long, and the keys that are down. */
  input(x: number, z: number, down: ReadonlySet<string>): Struct {
    const s: Struct = {}
    const set = (a: Axis | undefined, v: number): void => {
      if (a)
        this.#shape.set(s, a.field, this.#shape.fields[a.field]!.kind === 'int' ? Math.round(v * a.full) : v * a.full)
    }
    if (this.steers) {
      set(this.#across, x)
      set(this.#towards, z)
    }
    for (const p of this.presses) this.#shape.set(s, p.field, down.has(p.key))
    return s
  }
}

/** Returns the value of a signed number at full deflection, 0 for other fields. */
function fullOf(f: Field): number {
  if (f.kind === 'int' && f.n <= 32) return 2 ** (f.n - 1) - 1
  if (f.kind === 'range') return Math.min(-f.low, f.low + f.largest * f.step)
  return f.kind === 'float' ? 1 : 0
}

function lastPart(path: string): string {
  return (
    path
      .split(/[.[\]]+/)
      .filter(Boolean)
      .at(-1) ?? ''
  )
}
