// Cells: PROTOCOL.md, section 11.1.

import type { Entity } from './entity.ts'
import * as limit from './limits.ts'

/** States of a cell, as verdicts are numbered. */
export const live = 1
export const hidden = 2
export const stale = 3

const pageSize = 32

/** Cell is the client's record of one slot: the newest generation heard of, and its state. */
export class Cell {
  generation = 0
  state = 0
  entity: Entity | undefined
}

/** bytesOfCell and bytesOfPointer estimate the memory of a cell, and of a page that is not used. */
const bytesOfCell = 40
const bytesOfPointer = 8

/** Cells is a paged table of cells by slot: its memory follows the slots heard of. */
export class Cells {
  #pages: (Cell[] | undefined)[] = []
  #made = 0

  get bytes(): number {
    return this.#pages.length * bytesOfPointer + this.#made * pageSize * bytesOfCell
  }

  /** growth is how many bytes at will allocate. */
  growth(slot: number): number {
    const page = (slot / pageSize) | 0
    const more = Math.max(page + 1 - this.#pages.length, 0)
    return more * bytesOfPointer + (this.#pages[page] ? 0 : pageSize * bytesOfCell)
  }

  /** at returns the cell of a slot, allocating its page. */
  at(slot: number): Cell {
    const page = (slot / pageSize) | 0
    while (this.#pages.length <= page) this.#pages.push(undefined)
    let cells = this.#pages[page]
    if (!cells) {
      cells = this.#pages[page] = Array.from({ length: pageSize }, () => new Cell())
      this.#made++
    }
    return cells[slot % pageSize]!
  }

  /** peek returns the cell of a slot, undefined if its page is not allocated. */
  peek(slot: number): Cell | undefined {
    return this.#pages[(slot / pageSize) | 0]?.[slot % pageSize]
  }

  /** known yields the slots heard of, ascending, with their cells. */
  *known(): Generator<[slot: number, cell: Cell]> {
    for (let i = 0; i < this.#pages.length && i * pageSize < limit.maxSlots; i++) {
      const page = this.#pages[i]
      for (let j = 0; page && j < pageSize; j++) if (page[j]!.generation !== 0) yield [i * pageSize + j, page[j]!]
    }
  }
}
