// The stream of one connection, as the session sees it: PROTOCOL.md, section 3.

import { ByteWriter } from './bits.ts'
import { appendFrame, FrameReader } from './messages.ts'

/** The progress of a session's connection. */
export type ConnectionState =
  | 'unused' // and without a Hello
  | 'connecting' // Hello was sent
  | 'welcomed' // a Welcome is being applied
  | 'joined'
  | 'dismissed' // Goodbye has arrived: only datagrams that arrived with it are still applied
  | 'lost' // until restart

/** The messages that a session sends and receives over one connection, and the connection's progress. */
export class SessionStream {
  #frames = new FrameReader()
  readonly #out = new ByteWriter()
  #state: ConnectionState = 'unused'
  #error: unknown // that the server's messages caused

  get state(): ConnectionState {
    return this.#state
  }

  /** Whether the connection has had its Welcome. */
  get isJoined(): boolean {
    return this.#state === 'joined' || this.#state === 'dismissed'
  }

  /** Whether bytes are sent and received over the connection. */
  get isUsed(): boolean {
    return this.#state !== 'unused' && this.#state !== 'lost'
  }

  /** Whether a message was wrong, or ended the session. */
  get hasFailed(): boolean {
    return this.#error !== undefined
  }

  enter(state: ConnectionState): void {
    this.#state = state
  }

  /** Begins again on another connection. */
  restart(): void {
    this.#frames = new FrameReader()
    this.#out.reset()
    this.#error = undefined
    this.#state = 'unused'
  }

  /** Queues a message. */
  send(type: number, body: Uint8Array): void {
    appendFrame(this.#out, type, body)
  }

  /** Removes and returns the queued bytes. */
  take(): Uint8Array {
    const out = this.#out.take()
    this.#out.reset()
    return out
  }

  /**
   * Applies the messages of p, the next piece of the stream, until a callback closes the
   * connection. An exception ends the connection: later calls throw it again.
   */
  receive(p: Uint8Array, apply: (type: number, body: Uint8Array) => void): void {
    if (this.#error !== undefined) throw this.#error
    if (!this.isUsed) return
    try {
      this.#frames.feed(p)
      for (let body = this.#frames.next(); body !== undefined; body = this.#frames.next()) {
        apply(this.#frames.type, body)
        if (!this.isUsed) return
      }
    } catch (e) {
      if (!this.isUsed) return
      this.#error = e
      throw e
    }
  }
}
