// A minimal replica that computes bodies.

import { Budget } from '../src/budget.ts'
import { Bodies } from '../src/motion/bodies.ts'
import type { State } from '../src/motion/columns.ts'
import type { Extension, Name } from '../src/motion/extension.ts'
import type { Kind } from '../src/motion/kind.ts'
import { motion } from './moving_world.ts'

export type Record =
  | { type: 'enter'; h: Name; kind: number; at: number; state: State | null }
  | { type: 'gone'; h: Name }
  | { type: 'extension'; from: number; make: (back: number) => Extension }

export interface Row {
  h: Name
  at: number
  state: State | null
}

export interface Datagram {
  seq: number
  tick: number
  structure: number
  complete: boolean
  continued: boolean
  audited: boolean
  audit: number
  rows: Row[]
}

/** The part of a replica that Bodies needs. */
export class Replica {
  readonly bodies: Bodies
  private readonly budget = new Budget()
  structure = 0
  newest = 0
  readonly acked = new Map<number, Row[]>()
  private readonly live = new Map<number, { generation: number; record: number; tick: number }>()
  private held: Datagram[] = []

  constructor(kinds: readonly Kind[], diverge: () => void) {
    this.bodies = new Bodies({ motion, kinds: kinds.map((body) => ({ body })), budget: this.budget, diverge })
  }

  receiveStructure(tick: number, records: Record[]): void {
    for (const r of records) {
      this.structure++
      if (r.type === 'extension') {
        this.bodies.applyExtension(
          r.make(tick + 1 - r.from),
          tick,
          (h) => this.live.get(h.slot)?.generation === h.generation,
        )
      } else if (r.type === 'gone') {
        if (this.live.get(r.h.slot)?.generation !== r.h.generation) continue
        this.live.delete(r.h.slot)
        this.bodies.removeEntity(r.h.slot)
      } else {
        this.live.set(r.h.slot, { generation: r.h.generation, record: this.structure, tick: r.at })
        this.bodies.applyEnter(r.h, r.kind, r.at, r.state)
      }
    }
    const held = this.held.sort((a, b) => a.seq - b.seq)
    this.held = []
    for (const d of held) this.receive(d)
  }

  receive(d: Datagram): void {
    if (this.acked.has(d.seq) || d.seq + 64 < this.newest) return
    if (d.structure > this.structure) {
      this.held.push(d)
      return
    }
    for (const { h } of d.rows) {
      const e = this.live.get(h.slot)
      if (e === undefined || e.generation !== h.generation || e.record > d.structure) return
    }
    for (const row of d.rows) {
      const e = this.live.get(row.h.slot)!
      if (row.at <= e.tick) continue
      e.tick = row.at
      this.bodies.applyRow(row.h.slot, row.at, row.state)
    }
    this.acked.set(d.seq, d.rows)
    this.newest = Math.max(this.newest, d.seq)
    this.budget.pay((d.tick * 1000) / motion.tickHz)
    this.bodies.applySnapshot(d, this.structure)
  }
}
