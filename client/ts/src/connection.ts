// One connection to a server, and its implementation over WebTransport.

import { Code, WireError } from './codes.ts'

/** A datagram and when it arrived, in ms. */
export interface Datagram {
  readonly bytes: Uint8Array
  readonly at: number
}

/** Bytes and datagrams that arrived since the last receive. */
export interface Arrivals {
  stream: Uint8Array[]
  datagrams: Datagram[]
  /** Why nothing more will arrive, undefined while more may. */
  error: unknown
}

/** Moves bytes between a server and a client. None of its methods blocks. */
export interface Connection {
  /** Called when something has arrived, or the connection has ended. */
  arrived: (() => void) | undefined
  /** Returns what has arrived since the last call. */
  receive(): Arrivals
  /** Sends bytes on the stream. It throws if too many wait for the network. */
  sendStream(b: Uint8Array): void
  /** Sends a copy of d. It replaces a datagram that still waits to be sent. */
  sendDatagram(d: Uint8Array): void
  /** Writes the sent bytes to the stream and ends the connection, with a code of PROTOCOL.md, section 13. */
  close(code: number): void
  readonly bytesReceived: number
  /** The transport, which linkStats reports. */
  readonly transport?: 'webtransport' | 'websocket' | undefined
}

/** Bounds of the bytes and datagrams that wait for receive, and for the network. */
const maxUnreadStream = 256 << 10
export const maxUnreadDatagrams = 256
const maxUnsentStream = 256 << 10
/** How long the connection may outlast the end of the stream, in ms. */
const closeWait = 200

/** A WebTransport session. TypeScript's library lacks some members that browsers have. */
type Transport = {
  readonly ready: Promise<void>
  readonly closed: Promise<{ closeCode?: number; reason?: string } | undefined>
  createBidirectionalStream(): Promise<{ readable: ReadableStream<Uint8Array>; writable: WritableStream<Uint8Array> }>
  /** Safari has createWritable only; reading writable there may end the session. */
  readonly datagrams: { readonly readable: ReadableStream<Uint8Array> } & (
    | { createWritable: () => WritableStream<Uint8Array> }
    | { readonly writable: WritableStream<Uint8Array> }
  )
  close(info: { closeCode: number; reason: string }): void
}

/** Reports whether this browser has WebTransport. */
export function supported(): boolean {
  return 'WebTransport' in globalThis
}

/**
 * Connects to a URL such as https://host:port/worldd. Without hashes the browser must trust
 * the server's certificate. A hash is the SHA-256 of a certificate, in 64 hexadecimal digits
 * as the server prints it. signal ends the attempt, which rejects with its reason.
 */
export async function dialWebTransport(
  url: string,
  hashes: readonly string[],
  now: () => number,
  signal?: AbortSignal,
): Promise<Connection> {
  signal?.throwIfAborted()
  if (!supported()) throw new Error('this browser has no WebTransport: use a current Chrome, Edge, Firefox or Safari')
  const options: Record<string, unknown> = {
    requireUnreliable: true,
    congestionControl: 'low-latency',
    protocols: ['worldd/1'],
  }
  if (hashes.length > 0)
    options.serverCertificateHashes = hashes.map((h) => ({ algorithm: 'sha-256', value: bytesOf(h) }))
  const Constructor = (globalThis as unknown as { WebTransport: new (url: string, options: object) => Transport })
    .WebTransport
  const transport = new Constructor(url, options)
  transport.closed.catch(() => {}) // ready rejects too
  const stop = (): void => transport.close({ closeCode: 0, reason: '' })
  signal?.addEventListener('abort', stop)
  let isReady = false
  try {
    await transport.ready
    isReady = true
    return new WebTransportConnection(transport, await transport.createBidirectionalStream(), now)
  } catch (cause) {
    signal?.throwIfAborted()
    if (isReady) {
      stop()
      throw cause
    }
    // Browsers do not say why.
    const hint =
      hashes.length > 0 ? 'and is the certificate hash its present one' : 'and does the browser trust its certificate'
    throw new Error(
      `can't connect to ${url}: is the server running there with --web, is its UDP port open, may pages of this origin connect, ${hint}?`,
      { cause },
    )
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}

function bytesOf(hash: string): Uint8Array {
  if (!/^[0-9a-f]{64}$/i.test(hash))
    throw new TypeError(`certificate hash ${JSON.stringify(hash)}: want 64 hexadecimal digits`)
  return Uint8Array.from({ length: 32 }, (_, i) => parseInt(hash.slice(2 * i, 2 * i + 2), 16))
}

class WebTransportConnection implements Connection {
  readonly transport = 'webtransport'
  arrived: (() => void) | undefined
  bytesReceived = 0
  readonly #transport: Transport
  readonly #now: () => number
  readonly #stream: WritableStreamDefaultWriter<Uint8Array>
  readonly #datagrams: WritableStreamDefaultWriter<Uint8Array>
  #in: Arrivals = { stream: [], datagrams: [], error: undefined }
  #unread = 0 // bytes of in.stream
  #room: (() => void) | undefined // ends the pause of the stream's reader
  #unsent = 0 // bytes
  #input: Uint8Array | undefined // the newest Input, while another is being written
  #writing = false
  #closed = false

  constructor(
    transport: Transport,
    stream: { readable: ReadableStream<Uint8Array>; writable: WritableStream<Uint8Array> },
    now: () => number,
  ) {
    this.#transport = transport
    this.#now = now
    this.#stream = stream.writable.getWriter()
    const d = transport.datagrams
    this.#datagrams = ('createWritable' in d ? d.createWritable() : d.writable).getWriter()
    void this.#readStream(stream.readable.getReader())
    void this.#readDatagrams(d.readable.getReader())
    transport.closed.then(
      (info) =>
        this.#fail(
          info?.closeCode
            ? new WireError(info.closeCode, info.reason)
            : new WireError(Code.timeout, 'the connection was closed'),
        ),
      (e) => this.#fail(e),
    )
  }

  #fail(e: unknown): void {
    this.#in.error ??= e ?? new WireError(Code.timeout)
    this.#room?.()
    this.arrived?.()
  }

  // Default readers, because not every browser has BYOB readers.

  async #readStream(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    try {
      for (;;) {
        const { value, done } = await reader.read()
        if (done) break
        this.#in.stream.push(value)
        this.#unread += value.length
        this.bytesReceived += value.length
        this.arrived?.()
        if (this.#unread >= maxUnreadStream) await new Promise<void>((resolve) => (this.#room = resolve))
      }
    } catch {
      // The server reset the stream, or the connection has ended.
    }
    // transport.closed gives the reason if it settles first.
    setTimeout(() => this.#fail(new WireError(Code.timeout, 'the stream has ended')), closeWait)
  }

  async #readDatagrams(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    try {
      for (;;) {
        const { value, done } = await reader.read()
        if (done) return
        const { datagrams } = this.#in
        if (datagrams.length === maxUnreadDatagrams) datagrams.shift()
        datagrams.push({ bytes: value, at: this.#now() })
        this.bytesReceived += value.length
        this.arrived?.()
      }
    } catch {
      // transport.closed gives the reason.
    }
  }

  receive(): Arrivals {
    const arrivals = this.#in
    this.#in = { stream: [], datagrams: [], error: arrivals.error }
    this.#unread = 0
    this.#room?.()
    this.#room = undefined
    return arrivals
  }

  sendStream(b: Uint8Array): void {
    if (b.length === 0 || this.#closed) return
    if (this.#unsent + b.length > maxUnsentStream)
      throw new WireError(10, 'commands are queued faster than the network sends them')
    this.#unsent += b.length
    this.#stream.write(b).then(
      () => (this.#unsent -= b.length),
      () => {}, // transport.closed gives the reason
    )
  }

  sendDatagram(d: Uint8Array): void {
    this.#input = d.slice()
    if (!this.#writing) void this.#writeDatagrams()
  }

  async #writeDatagrams(): Promise<void> {
    this.#writing = true
    try {
      while (this.#input && !this.#closed) {
        const d = this.#input
        this.#input = undefined
        await this.#datagrams.write(d)
      }
    } catch {
      // The datagram is lost, which the protocol allows, or the connection has ended.
    }
    this.#writing = false
  }

  close(code: number): void {
    if (this.#closed) return
    this.#closed = true
    this.arrived = undefined
    const end = (): void => {
      try {
        this.#transport.close({ closeCode: code, reason: '' })
      } catch {
        // The connection has ended already.
      }
    }
    if (this.#unsent === 0) end()
    else setTimeout(end, closeWait) // time to send the Bye
  }
}
