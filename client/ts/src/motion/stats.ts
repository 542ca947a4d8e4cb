// Counts of the work of computing bodies.

/** Counts the work of Bodies. */
export interface MotionStats {
  clean: number // bodies in view that the client computes now
  owed: number // exact states received in rows
  steps: number // body-ticks computed, of bodies that were awake
  rerun: number // share of steps in past ticks, for states older than the others
  audited: number // audits that could be checked
  faults: number // audits that failed
  behind: number // snapshots to whose tick computing could not catch up in time
  overruns: number // times that computing took too long and paused until a Resync
}
