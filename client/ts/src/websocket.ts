// A connection over WebSocket, where UDP is blocked: WEB.md, section 2.

import { Code, WireError } from './codes.ts'
import { type Arrivals, type Connection, maxUnreadDatagrams } from './connection.ts'

const header = 2
const maxSocketStream = 16 << 10
const maxSocketDatagram = 1200
const closeBase = 4000
/** Bounds the bytes of the stream that wait for receive: a WebSocket cannot be paused. */
const maxUnread = 8 << 20
const maxUnsent = 256 << 10
/** Bytes in the socket above which an Input waits. Firefox ESR 153 always counts some 50 that it has sent. */
const maxAhead = 1024
/** How long an Input waits until the socket is asked again whether it has room, in ms. */
const drainPause = 10

/**
 * Connects to a URL such as https://host:port/worldd by WebSocket: over TLS, except to this machine. signal ends the
 * attempt, which rejects with its reason.
 */
export async function dialWebSocket(url: string, now: () => number, signal?: AbortSignal): Promise<Connection> {
  signal?.throwIfAborted()
  const to = new URL(url)
  to.protocol = /^(localhost|127\.[\d.]+|\[::1\])$/.test(to.hostname) ? 'ws:' : 'wss:'
  const socket = new WebSocket(to, 'worldd.1')
  socket.binaryType = 'arraybuffer'
  const stop = (): void => socket.close()
  signal?.addEventListener('abort', stop)
  const opened = new Promise<Connection>((resolve, reject) => {
    socket.onopen = () => resolve(new WebSocketConnection(socket, now))
    // Browsers do not say why.
    socket.onerror = socket.onclose = () =>
      reject(
        signal?.aborted
          ? signal.reason
          : new Error(
              `can't connect to ${to.href}: is the server running there with --web, is its TCP port open, may pages of this origin connect, and is its certificate trusted?`,
            ),
      )
  })
  return opened.finally(() => signal?.removeEventListener('abort', stop))
}

class WebSocketConnection implements Connection {
  readonly transport = 'websocket'
  arrived: (() => void) | undefined
  bytesReceived = 0
  readonly #socket: WebSocket
  readonly #now: () => number
  #in: Arrivals = { stream: [], datagrams: [], error: undefined }
  #unread = 0 // bytes of in.stream
  #input: Uint8Array | undefined // the newest Input, while the socket is full
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(socket: WebSocket, now: () => number) {
    this.#socket = socket
    this.#now = now
    socket.onmessage = (e) => this.#receive(e.data)
    socket.onerror = null
    socket.onclose = (e) =>
      this.#fail(
        e.code >= closeBase
          ? new WireError(e.code - closeBase, e.reason)
          : new WireError(Code.timeout, 'the connection was closed'),
      )
  }

  #fail(e: WireError): void {
    this.#in.error ??= e
    this.arrived?.()
  }

  #receive(data: unknown): void {
    const m = data instanceof ArrayBuffer ? new Uint8Array(data) : new Uint8Array()
    const count = m.length < header ? maxSocketStream + 1 : m[0]! | (m[1]! << 8)
    const datagram = m.length - header - count
    if (count > maxSocketStream || datagram < 0 || datagram > maxSocketDatagram || this.#unread > maxUnread) {
      this.#socket.close(closeBase + Code.badMessage)
      this.#fail(new WireError(Code.badMessage, `a WebSocket message of ${m.length} bytes`))
      return
    }
    this.bytesReceived += m.length
    if (count > 0) this.#in.stream.push(m.subarray(header, header + count))
    this.#unread += count
    if (datagram > 0) {
      const { datagrams } = this.#in
      if (datagrams.length === maxUnreadDatagrams) datagrams.shift()
      datagrams.push({ bytes: m.subarray(header + count), at: this.#now() })
    }
    this.arrived?.()
  }

  receive(): Arrivals {
    const arrivals = this.#in
    this.#in = { stream: [], datagrams: [], error: arrivals.error }
    this.#unread = 0
    return arrivals
  }

  sendStream(b: Uint8Array): void {
    if (b.length === 0) return
    if (this.#socket.bufferedAmount + b.length > maxUnsent)
      throw new WireError(10, 'commands are queued faster than the network sends them')
    for (let i = 0; i < b.length; i += maxSocketStream) this.#send(b.subarray(i, i + maxSocketStream), new Uint8Array())
  }

  sendDatagram(d: Uint8Array): void {
    this.#input = d.slice()
    this.#sendInput()
  }

  /** Sends the newest Input once the socket has room: those that wait in it would be late. */
  #sendInput(): void {
    clearTimeout(this.#timer)
    if (!this.#input) return
    if (this.#socket.bufferedAmount > maxAhead) {
      this.#timer = setTimeout(() => this.#sendInput(), drainPause)
      return
    }
    this.#send(new Uint8Array(), this.#input)
    this.#input = undefined
  }

  #send(stream: Uint8Array, datagram: Uint8Array): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return // onclose gives the reason
    const m = new Uint8Array(header + stream.length + datagram.length)
    m[0] = stream.length
    m[1] = stream.length >> 8
    m.set(stream, header)
    m.set(datagram, header + stream.length)
    this.#socket.send(m)
  }

  close(code: number): void {
    this.arrived = undefined
    this.#input = undefined
    clearTimeout(this.#timer)
    this.#socket.close(closeBase + code)
  }
}
