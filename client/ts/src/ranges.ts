// The ranges of generations of the worlds in which a session was.

import type { Welcome } from './messages.ts'

const maxRanges = 64

/**
 * The effect of a Welcome on handles of earlier worlds. Fresh: all are stale, and none can ever name an
 * entity of this world. Reused: they may, and the game must forget them.
 */
export type WorldChange = 'same' | 'fresh' | 'reused'

/** Remembers the worlds whose handles the game may hold. */
export class PastRanges {
  #epoch: bigint | undefined
  #seen: [floor: number, ceiling: number][] = []

  /** Adds the range of the world of m. When there are too many, the game must forget all handles. */
  enterWorld({ epoch, generationFloor, generationCeiling }: Welcome): WorldChange {
    const before = this.#epoch
    this.#epoch = epoch
    if (epoch === before) return 'same'
    const reused =
      this.#seen.length === maxRanges || this.#seen.some(([f, c]) => f <= generationCeiling && generationFloor <= c)
    if (reused) this.#seen = []
    this.#seen.push([generationFloor, generationCeiling])
    return reused ? 'reused' : before === undefined ? 'same' : 'fresh'
  }
}
