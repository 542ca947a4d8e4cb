// Tables whose rows keep their elements, and so the focus, while their texts change.

import { element } from './dom.ts'

/** How a table shows things. */
export interface Columns<T> {
  /** Returns what tells a thing from all others. */
  key(thing: T): string
  /** Returns the texts of a row. */
  texts(thing: T): readonly string[]
  /** Returns the links and buttons of a new row. current returns its thing as it was shown last. */
  actions(current: () => T): readonly HTMLElement[]
}

interface Row<T> {
  readonly element: HTMLTableRowElement
  readonly cells: readonly HTMLElement[]
  thing: T
}

/** A table's body. */
export class KeyedTable<T> {
  readonly #body: HTMLElement
  readonly #columns: Columns<T>
  readonly #rows = new Map<string, Row<T>>()

  constructor(id: string, columns: Columns<T>) {
    this.#body = element(id)
    this.#columns = columns
  }

  /** Shows things in their order. */
  show(things: readonly T[]): void {
    const keys = new Set(things.map((x) => this.#columns.key(x)))
    for (const [key, row] of this.#rows) if (!keys.has(key)) this.#remove(key, row)
    let next = this.#body.firstElementChild
    for (const thing of things) {
      const row = this.#rowOf(thing)
      if (row.element === next) next = next.nextElementSibling
      else this.#body.insertBefore(row.element, next)
      row.thing = thing
      this.#columns.texts(thing).forEach((text, i) => {
        const cell = row.cells[i]
        if (cell && cell.textContent !== text) cell.textContent = text
      })
    }
  }

  #rowOf(thing: T): Row<T> {
    const key = this.#columns.key(thing)
    let row = this.#rows.get(key)
    if (!row) {
      row = this.#make(thing)
      this.#rows.set(key, row)
    }
    return row
  }

  #make(thing: T): Row<T> {
    const tr = document.createElement('tr')
    const cells = this.#columns.texts(thing).map(() => tr.insertCell())
    const row: Row<T> = { element: tr, cells, thing }
    tr.insertCell().append(...this.#columns.actions(() => row.thing))
    return row
  }

  /** Removes a row. Its focus moves to the same button of the row that takes its place. */
  #remove(key: string, row: Row<T>): void {
    const focused = [...row.element.querySelectorAll<HTMLElement>('a, button')].indexOf(
      document.activeElement as HTMLElement,
    )
    const heir = row.element.nextElementSibling ?? row.element.previousElementSibling
    row.element.remove()
    this.#rows.delete(key)
    if (focused >= 0) heir?.querySelectorAll<HTMLElement>('a, button')[focused]?.focus()
  }
}
