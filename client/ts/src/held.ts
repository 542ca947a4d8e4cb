// Snapshots that wait for their structure: PROTOCOL.md, section 11.3.

import * as limit from './limits.ts'
import type { ReplicaStats } from './observer.ts'
import type { StateHeader } from './state.ts'

const maxHeld = 16

interface Held {
  readonly structure: number
  readonly seq: number
  readonly bytes: Uint8Array
}

/** The snapshots that arrived before the structure they need, oldest first. */
export class HeldSnapshots {
  #list: readonly Held[] = []

  get length(): number {
    return this.#list.length
  }

  get bytes(): number {
    return this.#list.length * limit.maxDatagram
  }

  /** Keeps a copy of a datagram. If too many wait, the oldest is dropped. */
  add(h: StateHeader, d: Uint8Array, stats: ReplicaStats): void {
    if (this.#list.some((x) => x.seq === h.seq)) {
      stats.duplicates++
      return
    }
    const list = [...this.#list, { structure: h.structure, seq: h.seq, bytes: d.slice() }]
    list.sort((a, b) => a.seq - b.seq)
    stats.held++
    if (list.length > maxHeld) {
      list.shift()
      stats.overflowed++
    }
    this.#list = list
  }

  /** Removes and returns the datagrams whose structure has arrived. */
  takeDue(structure: number): readonly Uint8Array[] {
    if (this.#list.length === 0) return []
    const due = this.#list.filter((x) => x.structure <= structure)
    this.#list = this.#list.filter((x) => x.structure > structure)
    return due.map((x) => x.bytes)
  }

  /** Takes over those datagrams of the session's last room that may belong to this room. */
  inherit(last: HeldSnapshots, structure: number): void {
    this.#list = last.#list.filter((x) => x.structure >= structure)
  }
}
