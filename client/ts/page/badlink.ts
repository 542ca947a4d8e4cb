// A bad link, made in the page: it delays and loses what arrives and what is sent.

import type { Arrivals, Connection, Datagram } from '../src/index.ts'

/** The properties of a link. Half of delay and of jitter, in ms, is added in each direction. */
export interface Link {
  readonly delay: number
  readonly jitter: number
  /** The share of datagrams that are lost. Lost bytes of the stream arrive later by delay. */
  readonly loss: number
}

export const goodLink: Link = { delay: 0, jitter: 0, loss: 0 }

/** Returns a generator of numbers from 0 to 1 with a seed (mulberry32). */
export function random(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Data under way. */
interface Late<T> {
  readonly at: number
  readonly what: T
}

/** A connection over a simulated link. */
export class BadLink implements Connection {
  arrived: (() => void) | undefined
  readonly #inner: Connection
  readonly #now: () => number
  readonly #link: () => Link
  readonly #random: () => number
  #stream: Late<Uint8Array>[] = []
  #datagrams: Late<Uint8Array>[] = []
  #out: Late<() => void>[] = [] // bytes of the stream to send
  #error: unknown
  #closed = false

  /** @param link - called for each datagram and piece of the stream */
  constructor(inner: Connection, now: () => number, link: () => Link, random: () => number) {
    this.#inner = inner
    this.#now = now
    this.#link = link
    this.#random = random
    inner.arrived = () => this.#take()
  }

  get bytesReceived(): number {
    return this.#inner.bytesReceived
  }

  /** Returns the arrival time of data sent now. */
  #late(): number {
    const { delay, jitter } = this.#link()
    return this.#now() + (delay + jitter * this.#random()) / 2
  }

  #lost(): boolean {
    const { loss } = this.#link()
    return loss > 0 && this.#random() < loss
  }

  /** Returns the arrival time of bytes of a stream. They cannot arrive before earlier bytes. */
  #lateStream(before: readonly Late<unknown>[]): number {
    const resent = this.#lost() ? this.#link().delay : 0
    return Math.max(this.#late() + resent, before.at(-1)?.at ?? 0)
  }

  /** Receives from the inner connection and delays what arrived. */
  #take(): void {
    const { stream, datagrams, error } = this.#inner.receive()
    const until = new Set<number>()
    for (const what of stream) {
      const at = this.#lateStream(this.#stream)
      this.#stream.push({ at, what })
      until.add(at)
    }
    for (const d of datagrams) {
      if (this.#lost()) continue
      const at = this.#late()
      this.#datagrams.push({ at, what: d.bytes })
      until.add(at)
    }
    this.#error ??= error
    if (error !== undefined) until.add(this.#now())
    for (const at of until) this.#after(at, () => this.arrived?.())
  }

  /** Calls f at a time, at once if it has passed. */
  #after(at: number, f: () => void): void {
    const wait = at - this.#now()
    if (wait <= 0) f()
    else setTimeout(f, wait)
  }

  receive(): Arrivals {
    this.#take()
    const now = this.#now()
    const ended = this.#error !== undefined
    const due = <T>(l: Late<T>): boolean => ended || l.at <= now
    const stream = this.#stream.filter(due).map((l) => l.what)
    const datagrams: Datagram[] = this.#datagrams
      .filter(due)
      .sort((a, b) => a.at - b.at)
      .map((l) => ({ bytes: l.what, at: Math.min(l.at, now) }))
    this.#stream = this.#stream.filter((l) => !due(l))
    this.#datagrams = this.#datagrams.filter((l) => !due(l))
    return { stream, datagrams, error: this.#error }
  }

  sendStream(b: Uint8Array): void {
    if (b.length === 0) return
    const at = this.#lateStream(this.#out)
    this.#out.push({ at, what: () => this.#inner.sendStream(b) })
    this.#after(at, () => this.#send(this.#now()))
  }

  /** Sends the bytes of the stream that are due by a time. */
  #send(until: number): void {
    for (let first = this.#out[0]; first && first.at <= until; first = this.#out[0]) {
      this.#out.shift()
      first.what()
    }
  }

  sendDatagram(d: Uint8Array): void {
    if (this.#lost()) return
    const copy = d.slice()
    this.#after(this.#late(), () => {
      if (!this.#closed) this.#inner.sendDatagram(copy)
    })
  }

  close(code: number): void {
    if (this.#closed) return
    this.#send(Infinity)
    this.#closed = true
    this.arrived = undefined
    this.#inner.close(code)
  }
}
