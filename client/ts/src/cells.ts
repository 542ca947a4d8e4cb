// Cells: PROTOCOL.md, section 11.1.

import type { Entity } from './entity.ts'
import * as limit from './limits.ts'

/** States of a cell, with the numbers of verdicts. */
export const live = 1
const hidden = 2
export const stale = 3

const pageSize = 32

/** The client's record of one slot: the newest generation that the server named, and its state. */
export class Cell {
  #generation = 0
  #state = 0
  #entity: Entity | undefined

  get generation(): number {
    return this.#generation
  }

  get state(): number {
    return this.#state
  }

  /** The live entity. */
  get entity(): Entity | undefined {
    return this.#entity
  }

  /** Makes an entity the slot's live one. */
  enter(e: Entity): void {
    this.#generation = e.generation
    this.#state = live
    this.#entity = e
  }

  /** Takes the live entity out of view. */
  hide(): void {
    this.#state = hidden
    this.#entity = undefined
  }

  /** Makes a generation and all before it stale. */
  kill(generation: number): void {
    this.#generation = generation
    this.#state = stale
    this.#entity = undefined
  }
}

/** Estimated memory of a cell, and of an empty page. */
const bytesOfCell = 40
const bytesOfPointer = 8

/** A paged table of cells by slot. Its memory depends on the slots that the server named. */
export class Cells {
  #pages: (Cell[] | undefined)[] = []
  #made = 0

  get bytes(): number {
    return this.#pages.length * bytesOfPointer + this.#made * pageSize * bytesOfCell
  }

  /** Returns how many bytes at will allocate. */
  growth(slot: number): number {
    const page = (slot / pageSize) | 0
    const more = Math.max(page + 1 - this.#pages.length, 0)
    return more * bytesOfPointer + (this.#pages[page] ? 0 : pageSize * bytesOfCell)
  }

  /** Returns the cell of a slot, allocating its page. */
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

  /** Returns the cell of a slot, undefined if its page is not allocated. */
  peek(slot: number): Cell | undefined {
    return this.#pages[(slot / pageSize) | 0]?.[slot % pageSize]
  }

  /** Yields the slots that the server named, ascending, with their cells. */
  *known(): Generator<[slot: number, cell: Cell]> {
    for (let i = 0; i < this.#pages.length && i * pageSize < limit.maxSlots; i++) {
      const page = this.#pages[i]
      for (let j = 0; page && j < pageSize; j++) if (page[j]!.generation !== 0) yield [i * pageSize + j, page[j]!]
    }
  }
}
