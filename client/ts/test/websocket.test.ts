// A WebSocket whose server floods, breaks the format or ends, and the choice between both transports.

import assert from 'node:assert/strict'
import { afterEach, mock, test } from 'node:test'
import { Code, WireError } from '../src/codes.ts'
import type { Connection } from '../src/connection.ts'
import { dialServer } from '../src/dial.ts'
import { dialWebSocket } from '../src/websocket.ts'

mock.timers.enable({ apis: ['setTimeout'] })
const now = (): number => 5

/** The browser's WebSocket; the test is its peer. */
class Fake {
  static readonly OPEN = 1
  static all: Fake[] = []
  readyState = 0
  bufferedAmount = 0
  binaryType = ''
  readonly sent: number[][] = []
  readonly closings: number[] = []
  onopen?: () => void
  onerror?: () => void
  onclose?: (e: { code: number; reason: string }) => void
  onmessage?: (e: { data: unknown }) => void
  readonly url: string

  constructor(url: URL, protocol: string) {
    assert.equal(protocol, 'worldd.1')
    this.url = url.href
    Fake.all.push(this)
  }

  open(): void {
    this.readyState = Fake.OPEN
    this.onopen!()
  }

  send(m: Uint8Array): void {
    this.sent.push([...m])
  }

  close(code: number): void {
    this.closings.push(code)
  }

  arrive(...m: number[]): void {
    this.onmessage!({ data: Uint8Array.from(m).buffer })
  }
}

/** A WebTransport that the test lets open or fail. */
class FakeTransport {
  static newest: FakeTransport
  open!: () => void
  fail!: (e: unknown) => void
  readonly ready = new Promise<void>((resolve, reject) => {
    this.open = resolve
    this.fail = reject
  })
  readonly closed = new Promise<undefined>(() => {})
  readonly closings: number[] = []
  readonly datagrams = { readable: new ReadableStream<Uint8Array>(), writable: new WritableStream<Uint8Array>() }

  constructor() {
    FakeTransport.newest = this
  }

  async createBidirectionalStream(): Promise<object> {
    return { readable: new ReadableStream<Uint8Array>(), writable: new WritableStream<Uint8Array>() }
  }

  close(info: { closeCode: number }): void {
    this.closings.push(info.closeCode)
  }
}

Object.assign(globalThis, { WebSocket: Fake, WebTransport: FakeTransport })
afterEach(() => (Fake.all = []))

async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
}

async function open(): Promise<[Connection, Fake]> {
  const dialled = dialWebSocket('https://game.example:7777/worldd', now)
  const socket = Fake.all.at(-1)!
  socket.open()
  return [await dialled, socket]
}

test('messages have stream bytes, and then a datagram', async () => {
  const [link, socket] = await open()
  assert.equal(socket.url, 'wss://game.example:7777/worldd')
  socket.arrive(2, 0, 7, 8, 9)
  socket.arrive(0, 0, 1)
  socket.arrive(0, 0) // a probe of the server's TCP
  socket.arrive(1, 0, 6)
  const { stream, datagrams, error } = link.receive()
  assert.deepEqual(
    stream.map((b) => [...b]),
    [[7, 8], [6]],
  )
  assert.deepEqual(
    datagrams.map((d) => [[...d.bytes], d.at]),
    [
      [[9], 5],
      [[1], 5],
    ],
  )
  assert.equal(error, undefined)
  assert.equal(link.bytesReceived, 13)

  link.sendStream(Uint8Array.from([1, 2, 3]))
  link.sendDatagram(Uint8Array.from([4]))
  link.sendStream(new Uint8Array(20_000))
  assert.deepEqual(socket.sent.slice(0, 2), [
    [3, 0, 1, 2, 3],
    [0, 0, 4],
  ])
  assert.deepEqual(
    socket.sent.slice(2).map((m) => m.length),
    [2 + 16_384, 2 + 3616],
  )
})

test('an Input waits while the socket is full, and only the newest', async () => {
  const [link, socket] = await open()
  socket.bufferedAmount = 1025
  link.sendDatagram(Uint8Array.from([1]))
  mock.timers.tick(100)
  link.sendDatagram(Uint8Array.from([2]))
  assert.deepEqual(socket.sent, [])
  socket.bufferedAmount = 1024
  mock.timers.tick(10)
  assert.deepEqual(socket.sent, [[0, 0, 2]])
  mock.timers.tick(1000)
  assert.equal(socket.sent.length, 1)
  socket.bufferedAmount = 256 << 10
  assert.throws(() => link.sendStream(new Uint8Array(1)), WireError)
})

test('messages that break the format end the connection', async () => {
  const broken: unknown[] = [
    'text',
    Uint8Array.from([]).buffer,
    Uint8Array.from([1]).buffer,
    Uint8Array.from([2, 0, 1]).buffer,
    Uint8Array.from([1, 64, ...new Uint8Array(16_385)]).buffer,
    Uint8Array.from([0, 0, ...new Uint8Array(1201)]).buffer,
  ]
  for (const data of broken) {
    const [link, socket] = await open()
    socket.onmessage!({ data })
    assert.equal((link.receive().error as WireError).code, Code.badMessage)
    assert.deepEqual(socket.closings, [4001])
  }
})

test('a flood that nobody reads ends the connection', async () => {
  const [link, socket] = await open()
  const m = [0, 64, ...new Uint8Array(16 << 10)]
  for (let i = 0; i < 600 && socket.closings.length === 0; i++) socket.arrive(...m)
  assert.deepEqual(socket.closings, [4001])
  assert.equal((link.receive().error as WireError).code, Code.badMessage)
})

test('the close code says why', async () => {
  for (const [code, want] of [
    [4007, 7],
    [1001, Code.timeout],
    [1006, Code.timeout],
  ]) {
    const [link, socket] = await open()
    let arrivals = 0
    link.arrived = () => arrivals++
    socket.onclose!({ code: code!, reason: 'why' })
    assert.equal(arrivals, 1)
    assert.equal((link.receive().error as WireError).code, want)
    link.close(Code.ok)
    assert.deepEqual(socket.closings, [4000])
  }
  const refused = dialWebSocket('https://game.example:7777/worldd', now)
  Fake.all.at(-1)!.onerror!()
  await assert.rejects(refused, /TCP port open/)
})

test('this machine needs no TLS', () => {
  for (const [host, want] of Object.entries({
    localhost: 'ws:',
    '127.0.0.1': 'ws:',
    '[::1]': 'ws:',
    'localhost.example': 'wss:',
    '10.0.0.1': 'wss:',
  })) {
    void dialWebSocket(`https://${host}:1/worldd`, now)
    assert.equal(new URL(Fake.all.at(-1)!.url).protocol, want)
  }
})

test('WebTransport wins if it answers in time', async () => {
  const dialled = dialServer('https://game.example:1/worldd', [], true, now)
  FakeTransport.newest.open()
  assert.equal((await dialled).transport, 'webtransport')
  mock.timers.tick(5000)
  await turns()
  assert.equal(Fake.all.length, 0)
})

test('WebSocket is tried when WebTransport is late, and only one stays open', async () => {
  for (const webTransportWins of [false, true]) {
    Fake.all = []
    const dialled = dialServer('https://game.example:1/worldd', [], true, now)
    await turns()
    mock.timers.tick(1200)
    await turns()
    assert.equal(Fake.all.length, 1)
    if (webTransportWins) FakeTransport.newest.open()
    else Fake.all[0]!.open()
    assert.equal((await dialled).transport, webTransportWins ? 'webtransport' : 'websocket')
    if (webTransportWins) Fake.all[0]!.open()
    else FakeTransport.newest.open()
    await turns()
    mock.timers.tick(1000)
    assert.deepEqual(Fake.all[0]!.closings, webTransportWins ? [4000] : [])
    assert.deepEqual(FakeTransport.newest.closings, webTransportWins ? [] : [0])
  }
})

test('WebSocket is tried at once when WebTransport fails, and its failure tells of WebTransport', async () => {
  const dialled = dialServer('https://game.example:1/worldd', [], true, now)
  FakeTransport.newest.fail(new Error('blocked'))
  await turns()
  assert.equal(Fake.all.length, 1)
  Fake.all[0]!.onerror!()
  await assert.rejects(dialled, /UDP port open/)
})

test('an aborted dial closes both transports', async () => {
  const stop = new AbortController()
  const dialled = dialServer('https://game.example:1/worldd', [], true, now, stop.signal)
  const failed = assert.rejects(dialled, /stopped/)
  await turns()
  mock.timers.tick(1200)
  await turns()
  assert.equal(Fake.all.length, 1)
  stop.abort(new Error('stopped'))
  assert.deepEqual([FakeTransport.newest.closings, Fake.all[0]!.closings.length], [[0], 1])
  FakeTransport.newest.fail(new Error('closed'))
  Fake.all[0]!.onclose!({ code: 1006, reason: '' })
  await failed
  assert.equal(Fake.all.length, 1)
})

test('a pinned certificate has a fallback only on demand', async () => {
  const strict = dialServer('https://127.0.0.1:1/worldd', ['0'.repeat(64)], undefined, now)
  FakeTransport.newest.fail(new Error('blocked'))
  await assert.rejects(strict, /certificate hash/)
  assert.equal(Fake.all.length, 0)
  const dialled = dialServer('https://127.0.0.1:1/worldd', ['0'.repeat(64)], true, now)
  FakeTransport.newest.fail(new Error('blocked'))
  await turns()
  Fake.all[0]!.open()
  assert.equal((await dialled).transport, 'websocket')
})

test('without WebTransport there is WebSocket, unless it is switched off', async () => {
  const transport = FakeTransport
  Reflect.deleteProperty(globalThis, 'WebTransport')
  try {
    await assert.rejects(dialServer('https://game.example:1/worldd', [], false, now), /no WebTransport/)
    const dialled = dialServer('https://game.example:1/worldd', [], true, now)
    Fake.all[0]!.open()
    assert.equal((await dialled).transport, 'websocket')
  } finally {
    Object.assign(globalThis, { WebTransport: transport })
  }
})
