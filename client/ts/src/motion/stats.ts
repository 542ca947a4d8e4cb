// Counts of what was computed.

/** Counts of what Bodies computed. */
export interface MotionStats {
  clean: number // bodies in view that are computed now
  owed: number // exact states received in rows
  steps: number // body-ticks computed, of bodies that were awake
  rerun: number // steps of past ticks, of bodies whose states were older than the others
  audited: number // audits that could be checked
  faults: number // audits that failed
  behind: number // snapshots for which there was no time to compute up to their tick
  overruns: number // times that computing took too long and waited for a Resync
}
