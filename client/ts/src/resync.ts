// When a client asks for all states again.

import type { Bodies } from './motion/bodies.ts'

/** The least time between two Resyncs for computed bodies, in ms. */
const resyncEvery = 1000
/**
 * A session becomes ordinary after maxResyncs Resyncs, each at most resyncsWithin ms after the
 * last. Fewer repair a single error.
 */
const maxResyncs = 10
const resyncsWithin = 30_000

/** Decides when to ask for all states again, and when to give up computing bodies. */
export class ResyncPolicy {
  #faults = 0 // faulty datagrams for which a Resync was sent
  #earliest = -Infinity // the earliest time of the next Resync for computed bodies
  #inARow = 0 // Resyncs for computed bodies, each soon after the last
  #gaveUp = false

  /** Whether the next Hello says that the client does not simulate. */
  get gaveUp(): boolean {
    return this.#gaveUp
  }

  /** Reports whether to ask for all states because of new faulty datagrams. faults is the number of all so far. */
  isDueForFaults(faults: number): boolean {
    const due = faults !== this.#faults
    this.#faults = faults
    return due
  }

  /**
   * Reports whether to ask for all states because computed bodies differ from the server's, or
   * computing took too long.
   * @param mayGiveUp - whether the client can begin a session without computed bodies
   */
  isDueForBodies(bodies: Bodies, now: number, mayGiveUp: boolean): boolean {
    if (now < this.#earliest || !bodies.needsResync) return false
    bodies.noteResync()
    if (now - this.#earliest > resyncsWithin - resyncEvery) this.#inARow = 0
    this.#inARow++
    this.#gaveUp ||= this.#inARow === maxResyncs && mayGiveUp
    this.#earliest = now + resyncEvery
    return true
  }
}
