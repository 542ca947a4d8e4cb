// The snapshots that were applied, and which of them continue one another.

/** The fields of an applied snapshot that concern bodies. */
export interface Snapshot {
  seq: number
  tick: number
  structure: number
  complete: boolean
  continued: boolean // flag 8: it continues the snapshot before
  audited: boolean
  audit: number
}

const kept = 64

/** The newest snapshots applied, by number. */
export class SnapshotLog {
  readonly #list: Snapshot[] = []

  /** Copies the fields of a snapshot, and nothing else of its datagram. */
  add({ seq, tick, structure, complete, continued, audited, audit }: Snapshot): void {
    this.#list[seq % kept] = { seq, tick, structure, complete, continued, audited, audit }
  }

  /** Returns an applied snapshot, undefined if it was not applied. */
  find(seq: number): Snapshot | undefined {
    const s = this.#list[seq % kept]
    return s?.seq === seq ? s : undefined
  }

  /**
   * Returns the newest complete snapshot of a tick after another, if all snapshots that it continues
   * were applied. Only the snapshot that was applied last and those that continue it can have become so.
   */
  findComplete(seq: number, after: number): Snapshot | undefined {
    let last = seq
    while (this.find(last + 1)?.continued) last++
    for (; last >= seq; last--) {
      const s = this.find(last)
      if (s?.complete && s.tick > after && this.#isLinked(s)) return s
    }
    return undefined
  }

  /** Reports whether all snapshots that an applied one continues were applied. */
  #isLinked(of: Snapshot): boolean {
    for (let s: Snapshot | undefined = of; s?.tick === of.tick; s = this.find(s.seq - 1)) {
      if (!s.continued) return true
    }
    return false
  }
}
