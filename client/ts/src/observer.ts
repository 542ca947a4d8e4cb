// Events that a replica reports to its game.

import type { Entity } from './entity.ts'
import { reportThrown } from './guard.ts'
import type { Handle } from './handles.ts'
import type { Reason } from './structure.ts'

/** Functions that are called when the replica changes. An entity is valid until it leaves or is destroyed. */
export interface Observer {
  /** The entity came into view, its set of components or its owner changed, or the server sent it again. */
  enter?(e: Entity): void
  /** The entity has a newer state or other texts. All rows of the state's datagram have been applied. */
  update?(e: Entity): void
  /** The entity left the view and may be alive: its handle is hidden. */
  leave?(h: Handle, why: Reason): void
  /**
   * The handle is stale. This is called for every handle that the server sent. cause is the
   * game's reason, 0 for none.
   */
  destroy?(h: Handle, cause: number): void
  /**
   * The states that the client computed for entities differ from the server's. The client asks
   * for all states again.
   */
  diverge?(tick: number, handles: readonly Handle[]): void
}

/** Counts of what a replica received. */
export class ReplicaStats {
  snapshots = 0 // applied
  duplicates = 0
  held = 0 // arrived before their structure
  overflowed = 0 // dropped: too many waited
  unreadable = 0
  faults = 0 // the fold did not match
  rows = 0 // rows that became current
  rowsLate = 0
  enters = 0
  leaves = 0
  destroys = 0
  events = 0
  texts = 0
}

/** Calls update without allocating. */
export function reportUpdate(o: Observer, e: Entity): void {
  try {
    o.update?.(e)
  } catch (thrown) {
    reportThrown(thrown)
  }
}
