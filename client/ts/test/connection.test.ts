// A WebTransport session whose server floods, breaks off or is silent.

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { WireError } from '../src/codes.ts'
import { type Connection, dialWebTransport } from '../src/connection.ts'

mock.timers.enable({ apis: ['setTimeout'] })

/** Waits for everything that needs no time. */
async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** The browser's WebTransport; the test is its peer. */
class Fake {
  static newest: Fake
  readonly ready = Promise.resolve()
  readonly closed: Promise<{ closeCode?: number; reason?: string } | undefined>
  end!: (info?: { closeCode?: number; reason?: string }) => void
  break!: (e: unknown) => void
  sent = 0
  written = 0
  infinite = false
  readonly closings: number[] = []
  stalled = false
  stream!: ReadableStreamDefaultController<Uint8Array>
  incoming!: ReadableStreamDefaultController<Uint8Array>
  readonly datagrams: { readable: ReadableStream<Uint8Array>; writable: WritableStream<Uint8Array> }

  constructor() {
    Fake.newest = this
    this.closed = new Promise((resolve, reject) => {
      this.end = resolve
      this.break = reject
    })
    this.datagrams = { readable: new ReadableStream({ start: (c) => void (this.incoming = c) }), writable: this.sink() }
  }

  async createBidirectionalStream(): Promise<{
    readable: ReadableStream<Uint8Array>
    writable: WritableStream<Uint8Array>
  }> {
    const pull = (c: ReadableStreamDefaultController<Uint8Array>): void => {
      if (!this.infinite) return
      c.enqueue(new Uint8Array(64 << 10))
      this.sent += 64 << 10
    }
    return {
      readable: new ReadableStream({ start: (c) => void (this.stream = c), pull }, { highWaterMark: 0 }),
      writable: this.sink(),
    }
  }

  private sink(): WritableStream<Uint8Array> {
    return new WritableStream({
      write: (b) => {
        this.written += b.length
        return this.stalled ? new Promise(() => {}) : undefined
      },
    })
  }

  close(info: { closeCode: number }): void {
    this.closings.push(info.closeCode)
  }
}

async function dial(prepare: (f: Fake) => void = () => {}): Promise<{ link: Connection; fake: Fake }> {
  ;(globalThis as { WebTransport?: unknown }).WebTransport = class extends Fake {
    constructor() {
      super()
      prepare(this)
    }
  }
  const link = await dialWebTransport('https://game.example:7777/worldd', [], () => 5)
  return { link, fake: Fake.newest }
}

test('a server that floods the stream waits until it is read', async () => {
  const { link, fake } = await dial((f) => (f.infinite = true))
  await turns()
  const most = (256 << 10) + (128 << 10)
  assert.ok(fake.sent >= 256 << 10 && fake.sent <= most, `${fake.sent} bytes`)
  const read = (): number => link.receive().stream.reduce((n, b) => n + b.length, 0)
  assert.ok(read() <= most)
  await turns()
  assert.ok(fake.sent >= 512 << 10 && fake.sent <= 2 * most, `${fake.sent} bytes`)
})

test('of datagrams that nobody reads the newest 256 are kept', async () => {
  const { link, fake } = await dial()
  for (let i = 0; i < 1000; i++) fake.incoming.enqueue(Uint8Array.of(i >> 8, i & 255))
  await turns()
  const { datagrams } = link.receive()
  assert.equal(datagrams.length, 256)
  assert.deepEqual([...datagrams.at(-1)!.bytes], [3, 231])
  assert.deepEqual(link.receive().datagrams, [])
})

test('a server that reads nothing makes the client wait, then fail', async () => {
  const { link, fake } = await dial((f) => (f.stalled = true))
  for (let i = 0; i < 1000; i++) link.sendDatagram(new Uint8Array(1200))
  await turns()
  assert.equal(fake.written, 1200, 'the newest waits')
  for (let i = 0; i < 4; i++) link.sendStream(new Uint8Array(64 << 10))
  assert.throws(() => link.sendStream(new Uint8Array(1)), { code: 10 })
  link.close(1)
  assert.deepEqual(fake.closings, [], 'what was sent is written first')
  mock.timers.tick(200)
  assert.deepEqual(fake.closings, [1])
})

test('each way to end is heard once, and what came before it is kept', async () => {
  for (const [name, end, want] of [
    ['a code', (f: Fake) => f.end({ closeCode: 13, reason: 'kicked' }), { code: 13 }],
    ['no code', (f: Fake) => f.end({}), { code: 11 }],
    ['nothing', (f: Fake) => f.end(undefined), { code: 11 }],
    ['a lost connection', (f: Fake) => f.break(new Error('lost')), { message: 'lost' }],
    ['no reason', (f: Fake) => f.break(undefined), { code: 11 }],
    ['the end of the stream', (f: Fake) => f.stream.close(), { code: 11 }],
    ['a reset of the stream', (f: Fake) => f.stream.error(new Error('reset')), { code: 11 }],
  ] as const) {
    const { link, fake } = await dial()
    let heard = 0
    fake.incoming.enqueue(Uint8Array.of(1))
    await turns()
    link.arrived = () => heard++
    end(fake)
    await turns()
    mock.timers.tick(200)
    const { datagrams, error } = link.receive()
    assert.equal(datagrams.length, 1, name)
    assert.ok(heard > 0, name)
    assert.throws(
      () => {
        throw error
      },
      want,
      name,
    )
    assert.equal(link.receive().error, error, `${name}: the first reason stays`)
    link.sendStream(Uint8Array.of(1))
    link.close(0)
    link.close(0)
    link.sendStream(Uint8Array.of(1))
  }
})

test('the end of the datagrams alone ends nothing', async () => {
  const { link, fake } = await dial()
  fake.incoming.close()
  await turns()
  assert.equal(link.receive().error, undefined)
  fake.stream.enqueue(Uint8Array.of(7))
  await turns()
  assert.deepEqual(
    link.receive().stream.map((b) => [...b]),
    [[7]],
  )
})

test('a connection that cannot be made says what to look for', async () => {
  ;(globalThis as { WebTransport?: unknown }).WebTransport = class {
    readonly ready = Promise.reject(new Error('Opening handshake failed.'))
    readonly closed = Promise.reject(new Error('Opening handshake failed.'))
  }
  const dialled = dialWebTransport('https://game.example:7777/worldd', [], () => 5)
  await assert.rejects(
    dialled,
    (e: Error) => !(e instanceof WireError) && /with --web.*trust its certificate/.test(e.message),
  )
})
