// The server's time, and the moment to show. Times are in ms since any fixed origin.

/** The inverse share of passing time by which the clock is corrected. */
const slewShare = 16
/**
 * The clock steps if its error is above stepAbove. A snapshot later than lostAbove invalidates
 * earlier arrivals. Both in ms.
 */
export const stepAbove = 250
const lostAbove = 500
const jitterShare = 16
const intervalShare = 8
const slots = 8
const slot = 500

/** Measures the least value of the last four seconds, to within half a second. */
export class Least {
  readonly #values = new Float64Array(slots).fill(Infinity)
  #newest = -1 // number of the newest slot

  add(now: number, v: number): void {
    const n = Math.floor(now / slot)
    if (this.#newest < 0 || n - this.#newest >= slots) {
      this.#newest = n
      this.#values.fill(Infinity)
    }
    while (this.#newest < n) this.#values[++this.#newest % slots] = Infinity
    const at = this.#newest % slots
    this.#values[at] = Math.min(this.#values[at]!, v)
  }

  /** The least value, 0 before the first. */
  get least(): number {
    let least = Infinity
    for (let i = 0; i < slots; i++) least = Math.min(least, this.#values[i]!) // spreading allocates
    return least === Infinity ? 0 : least
  }
}

/** How far the tick of a held snapshot may be from the newest one, in seconds. */
const maxTickGap = 2

/**
 * Estimates the server's time from the arrivals of snapshots. A snapshot that waited in no
 * queue took half the least round trip. Its difference between arrival and tick is the least.
 */
export class Clock {
  readonly hz: number
  readonly trips = new Least()
  #behind = 0
  #jitter = 0
  #tick = 0
  #interval = 0
  #early = new Least()
  #offset = 0 // the caller's time minus the server's, at updated
  #updated = 0
  #wrong = 0 // error of offset, found at updated

  constructor(hz: number) {
    this.hz = hz
  }

  /** Arrival time minus tick time of the newest tick. */
  get behind(): number {
    return this.#behind
  }

  /** The mean delay of snapshots beyond the fastest one. */
  get jitter(): number {
    return this.#jitter
  }

  /** The tick of the newest snapshot, 0 before the first. */
  get tick(): number {
    return this.#tick
  }

  /** The mean server time between snapshots. */
  get interval(): number {
    return this.#interval
  }

  timeOf(tick: number): number {
    return (tick * 1000) / this.hz
  }

  ticks(time: number): number {
    return (time * this.hz) / 1000
  }

  /**
   * Reports whether a held snapshot's tick is far from the newest one: it may be of the next
   * room, and have overtaken the Welcome of the move.
   */
  isDistant(tick: number): boolean {
    return this.#tick !== 0 && Math.abs(tick - this.#tick) > maxTickGap * this.hz
  }

  #offsetAt(now: number): number {
    const most = Math.max(now - this.#updated, 0) / slewShare
    return this.#offset + Math.min(Math.max(this.#wrong, -most), most)
  }

  /** Returns the server's time at now. */
  serverTime(now: number): number {
    return now - this.#offsetAt(now)
  }

  /** Returns the server's tick at now with fractions, 0 before the first snapshot. */
  serverTick(now: number): number {
    return this.#tick === 0 ? 0 : Math.max(this.ticks(this.serverTime(now)), 0)
  }

  /**
   * Records the arrival of the snapshot of a tick.
   * @param before - the tick of the previous snapshot, even if the server omitted it
   */
  recordSnapshot(now: number, tick: number, before: number): void {
    const behind = now - this.timeOf(tick)
    if (this.#tick !== 0 && behind - this.#early.least > lostAbove) this.#early = new Least()
    this.#early.add(now, behind)
    this.#jitter += (behind - this.#early.least - this.#jitter) / jitterShare
    this.#offset = this.#offsetAt(now)
    this.#updated = now
    this.#wrong = this.#early.least - this.trips.least / 2 - this.#offset
    if (this.#tick === 0 || Math.abs(this.#wrong) > stepAbove) {
      this.#offset += this.#wrong
      this.#wrong = 0
    }
    if (tick <= this.#tick) return
    if (this.#tick !== 0) this.#interval += (this.timeOf(tick - before) - this.#interval) / intervalShare
    this.#behind = behind
    this.#tick = tick
  }
}

/** Bounds the delays that an allowance considers, in number and in age. The newest minOutlier always count. */
const allowanceSamples = 128
const allowanceSpan = 4000
/** The least number of delays of which one may be an outlier. */
const minOutlier = 8
/** The time in which an allowance would lose its excess at the initial rate, in ms. The rate falls. */
const allowanceFade = 2000

/**
 * The time to allow for a varying delay. One in fifty delays of the last four seconds may
 * exceed it, or one of eight if there are few. It grows at once and shrinks smoothly.
 */
export class Allowance {
  #value = 0
  #count = 0
  readonly #times = new Float64Array(allowanceSamples)
  readonly #samples = new Float64Array(allowanceSamples)
  readonly #sorted = new Float64Array(allowanceSamples)
  #updated = 0

  get value(): number {
    return this.#value
  }

  /** The number of delays added. */
  get count(): number {
    return this.#count
  }

  add(now: number, delay: number): void {
    const newest = this.#count++ % allowanceSamples
    this.#times[newest] = now
    this.#samples[newest] = delay
    const want = this.exceededDelay(now)
    const passed = Math.min(Math.max(now - this.#updated, 0), allowanceFade)
    this.#updated = now
    this.#value =
      this.#count === 1 ? want : Math.max(want, this.#value - ((this.#value - want) * passed) / allowanceFade)
  }

  /** Returns the delay that only the allowed share of the newest samples exceeds. */
  exceededDelay(now: number): number {
    const most = Math.min(this.#count, allowanceSamples)
    this.#sorted.fill(Infinity)
    let n = 0
    for (; n < most; n++) {
      const i = (this.#count - 1 - n) % allowanceSamples
      if (n >= minOutlier && now - this.#times[i]! > allowanceSpan) break
      this.#sorted[n] = this.#samples[i]!
    }
    this.#sorted.sort()
    return this.#sorted[n - 1 - (n < minOutlier ? 0 : Math.max(Math.floor(n / 50), 1))]!
  }
}

/** Bounds how far the moment lags behind, in ms, and so how many states are kept. */
export const maxDelay = 500
const slowShare = 4
const fastShare = 10
/** Defines a burst: snapshots that arrive within 1/burstShare of the snapshot interval. */
const burstShare = 8

/** Computes the moment to show. It lags by the snapshots' delay, and never goes back. */
export class Renderer {
  #on = false
  #resumed = false // and no snapshot has arrived since
  #shown = 0
  readonly delay = new Allowance()
  #updated = 0
  #arrived = 0 // when the newest snapshot arrived

  /** Whether anything was rendered. */
  get on(): boolean {
    return this.#on
  }

  /** The server time of the newest render. */
  get shown(): number {
    return this.#shown
  }

  /** Notes that the session resumed: the next snapshot's delay says nothing. */
  resume(): void {
    this.#resumed = true
  }

  /**
   * Records the arrival of the first snapshot of a tick. A render then needed the snapshot
   * before. Snapshots that arrive in a burst, after a stall of the link, count as one.
   */
  recordSnapshot(now: number, c: Clock, before: number): void {
    const together = now - this.#arrived < c.interval / burstShare
    this.#arrived = now
    if (before !== 0 && !this.#resumed && !together)
      this.delay.add(now, Math.min(c.serverTime(now) - c.timeOf(before), maxDelay))
    this.#resumed = false
  }

  /** Moves the moment to show to the time now. */
  advance(now: number, c: Clock): void {
    const target = c.serverTime(now) - this.delay.value
    const passed = Math.max(now - this.#updated, 0)
    this.#updated = now
    const ahead = this.#shown + passed - target
    if (!this.#on) {
      this.#on = true
      this.#shown = target
    } else if (ahead < -maxDelay)
      this.#shown = target // too far to catch up
    else if (ahead <= maxDelay)
      this.#shown += passed - Math.min(Math.max(ahead, -passed / fastShare), passed / slowShare)
  }
}
