// Audits of computed bodies: PROTOCOL.md, section 9.

import { type Budget, cost } from '../budget.ts'
import { State } from './columns.ts'
import { auditBody, audited } from './exact.ts'
import type { Name } from './extension.ts'
import type { Snapshot } from './snapshot_log.ts'
import type { MotionStats } from './stats.ts'
import type { Track } from './track.ts'
import type { Viewed } from './viewed.ts'

/** Receives the entities of the first failed audit after one that agreed. */
export type Diverge = (tick: number, handles: readonly Name[]) => void

/** Compares computed bodies with the audits of complete snapshots. */
export class Auditor {
  /** Whether an audit failed, and the server has not been asked for all states since. */
  diverged = false
  readonly #stats: MotionStats
  readonly #budget: Budget
  readonly #diverge: Diverge | undefined
  readonly #covered: Track[] = []
  readonly #state = new State()
  #reported = false // the game knows that the bodies diverged

  constructor(stats: MotionStats, budget: Budget, diverge: Diverge | undefined) {
    this.#stats = stats
    this.#budget = budget
    this.#diverge = diverge
  }

  /** Compares the audit of a snapshot with the computed bodies at its tick. */
  check(s: Snapshot, viewed: readonly Viewed[]): void {
    const covered = this.#covered
    covered.length = 0
    this.#budget.spend(cost.look * viewed.length)
    for (const { slot, tick, track } of viewed) {
      if (!audited(slot, s.seq)) continue
      if (tick > s.tick || track?.lost) return // the entity's state at that tick is unknown
      if (track !== null) covered.push(track)
    }
    covered.sort((a, b) => a.slot - b.slot)
    let sum = 0
    for (const t of covered) sum = auditBody(sum, t.slot, t.generation, t.stateAfter(s.tick, this.#state))
    this.#stats.audited++
    if (sum === s.audit) this.diverged = this.#reported = false
    else this.#fail(s.tick)
  }

  #fail(tick: number): void {
    this.#stats.faults++
    this.diverged = true
    if (this.#reported) return
    this.#reported = true
    const handles = this.#covered.map(({ slot, generation }) => ({ slot, generation }))
    this.#diverge?.(tick, handles)
  }
}
