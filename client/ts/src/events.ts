// Events: PROTOCOL.md, sections 8 and 11.2.

import { BitReader } from './bits.ts'
import { fail } from './codes.ts'
import { guard } from './guard.ts'
import type { ReplicaStats } from './observer.ts'
import type { EventKind } from './schema.ts'
import type { Payload, Struct } from './values.ts'

/** A game's function for the events of a name. */
export type EventHandler = (tick: number, event: Struct) => void

/** Keeps a call until the render reaches a tick. */
type Defer = (tick: number, call: () => void) => void

/** A game's event handlers, over all its sessions. */
export class Events {
  /** Receives every event before the handlers, with its quantised values. */
  any: ((tick: number, kind: EventKind, payload: Payload) => void) | undefined
  readonly #handlers = new Map<string, { handle: EventHandler; rendered: boolean }[]>()

  /**
   * Registers a handler for the events of a name.
   * @param rendered - whether to call it when the render reaches the event's tick, not on
   * arrival
   */
  on(name: string, handle: EventHandler, rendered = false): void {
    const list = this.#handlers.get(name) ?? []
    list.push({ handle, rendered })
    this.#handlers.set(name, list)
  }

  /** @internal Calls the handlers of an event, and defers the calls that wait for the render. */
  deliver(tick: number, kind: EventKind, p: Payload, defer: Defer): void {
    guard(() => this.any?.(tick, kind, p))
    const list = this.#handlers.get(kind.name)
    if (!list) return
    const event = kind.message.shape.restore(p)
    for (const { handle, rendered } of list) {
      if (rendered) defer(tick, () => handle(tick, event))
      else guard(() => handle(tick, event))
    }
  }
}

/** Bounds the calls that wait for the render. */
const maxDeferred = 256

/** The events of one session. It reads them, and keeps the calls that wait for the render. */
export class EventQueue {
  readonly #kinds: readonly EventKind[]
  readonly #events: Events
  readonly #stats: ReplicaStats
  readonly #bits = new BitReader()
  readonly #deferred: { tick: number; call: () => void }[] = [] // by tick
  readonly #defer: Defer = (tick, call) => this.#insert(tick, call)

  constructor(kinds: readonly EventKind[], events: Events, stats: ReplicaStats) {
    this.#kinds = kinds
    this.#events = events
    this.#stats = stats
  }

  #kindOf(number: number): EventKind {
    return this.#kinds[number] ?? fail(`event ${number}, which the schema lacks`)
  }

  /** Reads the body of an event. */
  read(number: number, unreliable: boolean, body: Uint8Array): Payload {
    const kind = this.#kindOf(number)
    if (kind.unreliable !== unreliable) fail(`event ${number}, which the schema lacks in this form`)
    return kind.message.parse(this.#bits, body)
  }

  /** Delivers an event that read has returned. */
  deliver(number: number, tick: number, p: Payload): void {
    this.#stats.events++
    this.#events.deliver(tick, this.#kindOf(number), p, this.#defer)
  }

  #insert(tick: number, call: () => void): void {
    if (this.#deferred.length === maxDeferred) this.#callFirst()
    const later = this.#deferred.findIndex((x) => x.tick > tick)
    this.#deferred.splice(later < 0 ? this.#deferred.length : later, 0, { tick, call })
  }

  #callFirst(): void {
    const first = this.#deferred.shift()
    if (first) guard(first.call)
  }

  /** Makes the waiting calls up to a rendered tick. */
  deliverRendered(tick: number): void {
    for (let first = this.#deferred[0]; first && first.tick <= tick; first = this.#deferred[0]) this.#callFirst()
  }
}
