// The legend: the kinds of entities, how they are drawn, and how many are in view.

import type { Schema } from '../src/index.ts'
import { element } from './dom.ts'

/** The number of colours. After each round of colours kinds have the next shape. */
export const colours = 6
export const shapes = ['circle', 'square', 'triangle', 'diamond'] as const

/** The number of kinds that are listed even if none is in view. */
const allShown = 8

/** Returns the name of a kind's colour in the style sheet. */
export function colourOf(kind: number): string {
  return `kind${kind % colours}`
}

/** Returns how bodies of a kind are drawn. */
export function shapeOf(kind: number): (typeof shapes)[number] {
  return shapes[Math.floor(kind / colours) % shapes.length]!
}

/** Lists the kinds of a schema. */
export class Legend {
  readonly #hold: (kind: number) => void
  readonly #list = element('kinds')
  #schema: Schema | undefined
  #rows: { readonly item: HTMLElement; readonly count: HTMLElement; readonly button: HTMLButtonElement }[] = []

  /** Called with the kind whose nearest entity the player wants to hold. */
  constructor(hold: (kind: number) => void) {
    this.#hold = hold
  }

  /** Shows how many entities of each kind are in view. */
  show(schema: Schema, counts: readonly number[]): void {
    if (schema !== this.#schema) this.#make(schema)
    this.#rows.forEach(({ item, count, button }, kind) => {
      const n = counts[kind] ?? 0
      count.textContent = n.toLocaleString('en')
      item.hidden = n === 0 && this.#rows.length > allShown
      button.disabled = n === 0
    })
  }

  #make(schema: Schema): void {
    this.#schema = schema
    this.#rows = schema.kinds.map(({ name }, kind) => {
      const item = document.createElement('li')
      const swatch = document.createElement('i')
      swatch.className = `${colourOf(kind)} ${shapeOf(kind)}`
      const label = document.createElement('span')
      label.textContent = name
      const count = document.createElement('b')
      const button = document.createElement('button')
      button.textContent = 'Hold nearest'
      button.ariaLabel = `Hold nearest ${name}`
      button.onclick = () => this.#hold(kind)
      item.append(swatch, label, count, button)
      return { item, count, button }
    })
    this.#list.replaceChildren(...this.#rows.map((r) => r.item))
  }
}
