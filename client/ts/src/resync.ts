// When a client asks for all states again.

/** The least time between two Resyncs for computed bodies, in ms. */
const resyncEvery = 1000
/**
 * A session becomes ordinary after maxResyncs Resyncs, each at most resyncsWithin ms after the
 * last. Fewer repair a single error.
 */
const maxResyncs = 10
const resyncsWithin = 30_000

/** Decides when computed bodies cause a Resync, and when to give up computing them. */
export class ResyncPolicy {
  #earliest = -Infinity // the earliest time of the next Resync for computed bodies
  #inARow = 0 // Resyncs for computed bodies, each soon after the last

  /** Reports whether computed bodies may cause a Resync now. */
  mayForBodies(now: number): boolean {
    return now >= this.#earliest
  }

  /** Notes a Resync for computed bodies, and reports whether there were too many in a row. */
  noteForBodies(now: number): boolean {
    if (now - this.#earliest > resyncsWithin - resyncEvery) this.#inARow = 0
    this.#inARow++
    this.#earliest = now + resyncEvery
    return this.#inARow === maxResyncs
  }
}
