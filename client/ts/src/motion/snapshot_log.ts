// The applied snapshots, and which of them continue one another.

/** The fields of an applied snapshot that concern bodies. */
export interface Snapshot {
  seq: number
  tick: number
  structure: number
  complete: boolean
  continued: boolean // flag 8: it continues the previous snapshot
  audited: boolean
  audit: number
}

const kept = 64

/** The newest applied snapshots, by number. */
export class SnapshotLog {
  readonly #list: Snapshot[] = []

  /** Adds a snapshot. It copies the fields, since the header is reused. */
  add({ seq, tick, structure, complete, continued, audited, audit }: Snapshot): void {
    this.#list[seq % kept] = { seq, tick, structure, complete, continued, audited, audit }
  }

  /** Returns an applied snapshot, or undefined. */
  find(seq: number): Snapshot | undefined {
    const s = this.#list[seq % kept]
    return s?.seq === seq ? s : undefined
  }

  /**
   * Returns the newest complete snapshot after tick after that the newest applied snapshot
   * made usable: all snapshots linked to it were applied.
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

  /** Reports whether all snapshots that an applied snapshot continues were applied. */
  #isLinked(of: Snapshot): boolean {
    for (let s: Snapshot | undefined = of; s?.tick === of.tick; s = this.find(s.seq - 1)) {
      if (!s.continued) return true
    }
    return false
  }
}
