// The times of a session in one room: the server's clock, the rendered moment, and the ticks of
// inputs.

import { Clock, maxDelay, Renderer } from './clock.ts'
import type { Moment } from './entity.ts'
import { Inputs, stampAt } from './inputs.ts'
import { SnapshotTicks } from './snapshot_ticks.ts'
import type { StateHeader } from './state.ts'

const maxExtrapolate = 0.25 // seconds

/** When a render was, and the fractional tick of an input made then; 0: unknown. */
export interface Rendered {
  readonly at: number
  readonly inputTick: number
}

/** Measures snapshots, and tells which moment to render and for which tick to make an input. Times are in ms. */
export class Timing {
  readonly clock: Clock
  readonly inputs: Inputs
  readonly #renderer = new Renderer()
  readonly #arrived: SnapshotTicks
  #rtt: number
  #rendered: Rendered = { at: 0, inputTick: 0 }

  /** @param rtt - the newest round trip known */
  constructor(tickHz: number, snapshotHz: number, rtt: number) {
    this.clock = new Clock(tickHz)
    this.#arrived = new SnapshotTicks(Math.floor(tickHz / snapshotHz))
    this.inputs = new Inputs(this.clock, this.#renderer, this.#arrived, snapshotHz)
    this.#rtt = rtt
  }

  /** The newest round trip. */
  get rtt(): number {
    return this.#rtt
  }

  /** The ticks between two snapshots. */
  get interval(): number {
    return this.#arrived.interval
  }

  /** Notes that the session has resumed on another connection, whose snapshot rate may differ. */
  resume(snapshotHz: number): void {
    this.#arrived.setInterval(Math.floor(this.clock.hz / snapshotHz))
    this.inputs.forgetConnection(snapshotHz)
    this.#renderer.resume()
  }

  /** Measures a datagram that has just arrived by its header. */
  measure(now: number, h: StateHeader): void {
    const c = this.clock
    if (h.echo !== 0 && h.hold !== 65_535) {
      const hold = h.hold / 10
      this.#rtt = Math.max(((stampAt(now) - h.echo) | 0) / 10 - hold, 0)
      c.trips.add(now, this.#rtt)
      const sent = c.timeOf(h.tick)
      this.inputs.learnFromEcho(now, h.echo, sent - hold, sent)
    }
    const newer = this.#arrived.add(h)
    const { before } = this.#arrived
    c.recordSnapshot(now, h.tick, before)
    if (newer) this.#renderer.recordSnapshot(now, c, before)
  }

  /** The number of ticks for which renders need states. */
  get span(): number {
    return Math.ceil(this.clock.ticks(maxDelay))
  }

  /** The newest render. */
  get rendered(): Rendered {
    return this.#rendered
  }

  /** Returns the moment to render at now. Its tick is 0 before the second snapshot. */
  render(now: number, newest: number): Moment {
    this.#rendered = { at: now, inputTick: this.inputs.inputTick(now) }
    if (this.#renderer.delay.count === 0) return { tick: 0, newest: 0, maxExtrapolate: 0 }
    this.#renderer.advance(now, this.clock)
    return { tick: this.inputs.shownTick, newest, maxExtrapolate: maxExtrapolate * this.clock.hz }
  }

  /** Describes the connection. */
  get link(): { readonly rtt: number; readonly jitter: number; readonly delay: number; readonly lead: number } {
    return {
      rtt: this.clock.trips.least,
      jitter: this.clock.jitter,
      delay: this.#renderer.delay.value,
      lead: this.inputs.lead.value,
    }
  }
}
