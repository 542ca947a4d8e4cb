// When a client asks for all states again.

/** How often computed bodies cause a Resync at most, in ms. */
const resyncEvery = 1000
/**
 * A session becomes ordinary after maxResyncs of them, each at most resyncsWithin ms after the one
 * before. Fewer mend what was wrong once.
 */
const maxResyncs = 10
const resyncsWithin = 30_000

/** Decides when computed bodies cause a Resync, and when to give up computing them. */
export class ResyncPolicy {
  #earliest = -Infinity // time of the next Resync for computed bodies
  #inARow = 0 // for computed bodies

  /** Reports whether bodies that need a Resync may cause one now. */
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
