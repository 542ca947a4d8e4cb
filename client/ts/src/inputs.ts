// Inputs and their ticks: PROTOCOL.md, section 10. Times are in ms.

import { ByteWriter } from './bits.ts'
import { Allowance, type Clock, Least, type Renderer, stepAbove } from './clock.ts'
import * as limit from './limits.ts'
import type { SnapshotTicks } from './snapshot_ticks.ts'
import { Acks, encodeInput, type TickInput } from './state.ts'

/**
 * Bounds of the datagrams that are remembered until a snapshot echoes their arrival. More than
 * minEchoed are kept for at most maxEchoAge.
 */
const minEchoed = 32
const maxEchoed = 4096
const maxEchoAge = 3000
const maxLead = 1000
/** An input arrives before its tick by at most this share of the time for which the server keeps it. */
const aheadShare = 5 / 8
const maxUnsent = limit.maxInputs / 2
const inputSoon = 60 // a game renders at least 20 times a second, not quite evenly
const minRepeated = 4
const maxInterval = 250
const viewTick = 256

/** Returns now as a stamp, in 1/10 ms, never 0. */
export function stampAt(now: number): number {
  return ((Math.floor(now * 10) % 2 ** 32) | 1) >>> 0
}

/** Estimates the one-way time of datagrams, as TCP does (RFC 6298). */
class Trip {
  known = false
  #mean = 0
  #deviation = 0

  add(trip: number): void {
    if (!this.known) {
      this.known = true
      this.#mean = trip
      this.#deviation = Math.abs(trip) / 2
      return
    }
    this.#deviation += (Math.abs(trip - this.#mean) - this.#deviation) / 4
    this.#mean += (trip - this.#mean) / 8
  }

  get least(): number {
    return this.#mean - 8 * this.#deviation
  }

  get most(): number {
    return this.#mean + 4 * this.#deviation
  }
}

/** A datagram that was the first to hold an input. Times are the server's, except sent. */
interface Sent {
  stamp: number // 0: unused, or already judged
  number: number
  made: number
  at: number
  sent: number
  missing: boolean // a snapshot sent after it was due did not echo it
}

/** The newest inputs, and the measurements by which each input is made for a tick early enough to arrive in time. */
export class Inputs {
  readonly lead = new Allowance()
  #snapshotHz: number
  readonly #clock: Clock
  readonly #renderer: Renderer
  readonly #arrived: SnapshotTicks
  readonly #list: TickInput[] = [] // newest first
  #unsent = 0
  #set = 0 // when the newest input was set
  #early = false // the newest, unsent, was set for a tick later than its target
  #before = [0, 0] // new inputs in each of the last two datagrams
  #timed = false
  #made = 0 // server time when the oldest unsent input was made
  readonly #sent: Sent[] = [] // the oldest first
  #next = 0
  readonly #trip = new Trip()
  readonly #ahead = new Least()
  readonly #acked = new Acks() // as the newest datagram acknowledged them
  #sentAt = -Infinity
  readonly #w = new ByteWriter()

  constructor(clock: Clock, renderer: Renderer, arrived: SnapshotTicks, snapshotHz: number) {
    this.#clock = clock
    this.#renderer = renderer
    this.#arrived = arrived
    this.#snapshotHz = snapshotHz
  }

  /** Returns the tick for an input made at now, 0 if the server's time is unknown. */
  #targetTick(now: number): number {
    return this.#clock.tick === 0 ? 0 : Math.min(Math.floor(this.inputTick(now)) + 1, 2 ** 32 - 1)
  }

  /** Returns the tick for an input made at now with a fraction, less than one below targetTick. */
  inputTick(now: number): number {
    const c = this.#clock
    if (c.tick === 0) return 0
    const lead = this.lead.count === 0 ? c.trips.least / 2 + 2000 / this.#snapshotHz : this.lead.value
    const aimed = Math.min(
      c.serverTime(now) + Math.min(lead, maxLead),
      this.#earliestArrival(now) + aheadShare * this.#serverKeeps,
    )
    return Math.max(c.ticks(aimed) + 0.5, 0)
  }

  /** How long before its tick an input may arrive. */
  get #serverKeeps(): number {
    return this.#clock.timeOf(limit.inputLead(this.#clock.hz))
  }

  /**
   * By how much the target tick may fall behind the newest input's: two ticks less than the
   * part of serverKeeps that inputTick does not use.
   */
  get #targetMargin(): number {
    return Math.min((1 - aheadShare) * this.#serverKeeps - this.#clock.timeOf(2), stepAbove)
  }

  /** Returns a server time before which an input sent at now should not arrive. */
  #earliestArrival(now: number): number {
    const c = this.#clock
    if (!this.#trip.known) return c.serverTime(now)
    return Math.min(Math.max(c.serverTime(now) + this.#trip.least, now - c.behind), now + this.#ahead.least)
  }

  /**
   * Sets what the player holds down from now on, and returns the input's tick, which is later
   * than applied: the newest that the server has applied.
   */
  push(data: Uint8Array, now: number, applied: number): number {
    let tick = this.#targetTick(now)
    if (tick > 0) tick = Math.max(tick, applied + 1)
    this.#set = now
    const newest = this.#list[0]
    if (newest) {
      if (tick > 0 && newest.tick - tick > this.#clock.ticks(this.#targetMargin)) {
        this.#list.length = this.#unsent = 0 // their ticks are too far ahead: the server may drop them
        this.#early = false
      } else if (this.#unsent > 0 && tick > 0 && tick <= newest.tick) {
        if (this.#early && tick === newest.tick) {
          this.#early = false
          if (this.#unsent === 1) this.#made = this.#clock.serverTime(now)
        }
        newest.data = data
        this.#view(newest)
        return newest.tick
      } else if (tick <= newest.tick) {
        this.#early = tick > 0
        tick = newest.tick + 1
      } else {
        if (this.#early && this.#unsent === 1) this.#made = this.#clock.serverTime(now)
        this.#early = false
      }
    }
    if (this.#unsent === 0) {
      this.#made = this.#clock.serverTime(now)
      this.#timed = this.#clock.tick !== 0
    }
    this.#unsent = Math.min(this.#unsent + 1, limit.maxInputs)
    const t: TickInput = { tick: Math.max(tick, 1), back: 0, fraction: 0, data }
    this.#view(t)
    this.#list.unshift(t)
    if (this.#list.length > limit.maxInputs) this.#list.pop()
    return t.tick
  }

  /** The moment of the newest render in ticks, in multiples of 1/256. */
  get shownTick(): number {
    return Math.floor(Math.max(this.#clock.ticks(this.#renderer.shown), 0) * viewTick) / viewTick
  }

  /** Sets the view moment of an input. */
  #view(t: TickInput): void {
    const whole = Math.floor(this.shownTick)
    const back = t.tick - whole
    const known = this.#renderer.on && back >= 1 && back <= limit.maxView
    t.back = known ? back : 0
    t.fraction = known ? (this.shownTick - whole) * viewTick : 0
  }

  /** Returns the view moment of a command, in 1/256 ticks. */
  get commandView(): number {
    return this.#renderer.on ? Math.min(this.shownTick, 2 ** 32 - 1) * viewTick : 0
  }

  /**
   * Returns the Input datagram to send at now, valid until the next.
   * @param applied - the tick of the newest input that the server has applied
   */
  datagram(now: number, acks: Acks, structure: number, applied: number): Uint8Array {
    this.#sentAt = now
    const stamp = stampAt(now)
    let from = 0
    let fresh = this.#unsent
    if (this.#early) {
      if (this.#targetTick(now) < this.#list[0]!.tick) {
        from = 1
        fresh--
      } else if (fresh === 1) this.#made = this.#clock.serverTime(now)
    }
    const repeated = Math.max(fresh + this.#before[0]! + this.#before[1]!, minRepeated)
    if (fresh > 0) {
      if (this.#timed) {
        this.#sent.push({
          stamp,
          number: this.#next++,
          made: this.#made,
          at: this.#clock.serverTime(now),
          sent: now,
          missing: false,
        })
        while (
          this.#sent.length > minEchoed &&
          (this.#sent.length > maxEchoed || now - this.#sent[0]!.sent > maxEchoAge)
        )
          this.#sent.shift()
      }
      this.#before = [fresh, this.#before[0]!]
    }
    this.#unsent -= fresh
    this.#early = this.#unsent > 0
    this.#acked.copy(acks)
    let n = Math.min(repeated, this.#list.length - from)
    while (n > fresh && this.#list[from + n - 1]!.tick <= applied) n-- // the server would drop it
    encodeInput(this.#w, stamp, acks, structure, this.#list, from, n)
    return this.#w.view()
  }

  /**
   * Reports whether to send a datagram after the arrival of so many. A new input is sent at
   * once, but one per tick; otherwise one datagram answers everything that arrived.
   */
  isDue(datagrams: number, now: number, acks: Acks, waiting: number, streaming: boolean): boolean {
    const age = now - this.#sentAt
    const unacked = !acks.equals(this.#acked)
    if (
      age >= this.#waitForSnapshot(unacked) ||
      this.#unsent >= maxUnsent ||
      (this.#unsent > 0 && this.#targetTick(now) >= this.#list[0]!.tick)
    )
      return true
    if (unacked && streaming) return true
    if (this.#list.length > 0 && now - this.#set < inputSoon && age < inputSoon) return false
    return unacked || (datagrams > 0 && waiting === 0)
  }

  /**
   * Returns how long to wait for a snapshot before a datagram is sent without one. Without new
   * inputs the interval is longer if the server is too busy for all snapshots, or has nothing
   * new.
   */
  #waitForSnapshot(unacked: boolean): number {
    const interval = 1000 / this.#snapshotHz
    if (this.#unsent > 0) return 2 * interval
    const measured = this.#arrived.isEmpty && !unacked ? maxInterval : Math.min(this.#clock.interval, maxInterval)
    return 2 * Math.max(interval, measured)
  }

  /** Forgets the measurements of the previous connection, and sets the snapshot rate of the next. */
  forgetConnection(snapshotHz: number): void {
    this.#snapshotHz = snapshotHz
    this.#timed = false
    for (const d of this.#sent) d.stamp = 0
    this.#sentAt = -Infinity
  }

  /** Updates the delays by a snapshot that echoes a stamp. Times are the server's. */
  learnFromEcho(now: number, stamp: number, arrived: number, sent: number): void {
    const most = this.#trip.most
    const newest = this.#sent.find((d) => d.stamp === stamp)?.number ?? Infinity
    for (const d of this.#sent) {
      if (d.stamp === 0) continue
      if (d.number === newest) {
        this.#trip.add(arrived - d.at)
        this.#ahead.add(now, arrived - d.sent)
        this.lead.add(now, arrived - d.made)
        d.stamp = 0
      } else if (((stamp - d.stamp) | 0) > 0) {
        if (d.missing && newest - d.number <= this.#before.length) this.lead.add(now, arrived - d.made)
        d.stamp = 0
      } else d.missing ||= this.#trip.known && sent - d.at > most
    }
    while (this.#sent.length > 0 && this.#sent[0]!.stamp === 0) this.#sent.shift()
  }
}
