import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { BadLink, type Link as Conditions, goodLink, random } from '../page/badlink.ts'
import * as server from './server.ts'

mock.timers.enable({ apis: ['setTimeout'] })

class Bench {
  readonly inner = new server.Link()
  now = 1000
  link: Conditions
  readonly bad: BadLink

  constructor(link: Conditions) {
    this.link = link
    this.bad = new BadLink(
      this.inner,
      () => this.now,
      () => this.link,
      random(1),
    )
  }

  pass(ms: number): void {
    for (let i = 0; i < ms; i++) {
      this.now++
      mock.timers.tick(1)
    }
  }
}

const bytes = (i: number): Uint8Array => Uint8Array.of(i >> 8, i & 255)

test('a good link passes everything on at once', () => {
  const b = new Bench(goodLink)
  let arrived = 0
  b.bad.arrived = () => arrived++
  b.inner.deliver(bytes(1))
  b.inner.deliverDatagram(bytes(2), 1000)
  b.bad.sendDatagram(bytes(3))
  assert.equal(arrived, 2)
  assert.deepEqual(b.bad.receive(), {
    stream: [bytes(1)],
    datagrams: [{ bytes: bytes(2), at: 1000 }],
    error: undefined,
  })
  assert.deepEqual(b.inner.datagrams, [bytes(3)])
})

test('half of the delay is added each way', () => {
  const b = new Bench({ delay: 150, jitter: 0, loss: 0 })
  let arrived = 0
  b.bad.arrived = () => arrived++
  b.inner.deliverDatagram(bytes(1), 1000)
  b.bad.sendDatagram(bytes(2))
  b.pass(74)
  assert.deepEqual([arrived, b.bad.receive().datagrams.length, b.inner.datagrams.length], [0, 0, 0])
  b.pass(1)
  assert.equal(arrived, 1)
  assert.deepEqual(b.bad.receive().datagrams, [{ bytes: bytes(1), at: 1075 }])
  assert.deepEqual(b.inner.datagrams, [bytes(2)])
})

test('datagrams are lost and overtake each other, and the stream keeps every byte in order', () => {
  const b = new Bench({ delay: 150, jitter: 60, loss: 0.05 })
  const stream: number[] = []
  const datagrams: number[] = []
  let late = 0
  const read = (): void => {
    const a = b.bad.receive()
    for (const s of a.stream) stream.push((s[0]! << 8) | s[1]!)
    for (const d of a.datagrams) {
      datagrams.push((d.bytes[0]! << 8) | d.bytes[1]!)
      late = Math.max(late, b.now - d.at)
    }
  }
  b.bad.arrived = read
  for (let i = 0; i < 2000; i++) {
    b.inner.deliver(bytes(i))
    b.inner.deliverDatagram(bytes(i), b.now)
    b.bad.sendDatagram(bytes(i))
    b.pass(2)
  }
  b.pass(500)
  assert.deepEqual(
    stream,
    Array.from({ length: 2000 }, (_, i) => i),
  )
  for (const arrived of [datagrams.length, b.inner.datagrams.length])
    assert.ok(arrived > 1850 && arrived < 1950, `${arrived} of 2000`)
  assert.ok(datagrams.some((d, i) => i > 0 && d < datagrams[i - 1]!))
  assert.ok(late < 2)
})

test('what is on its way arrives before the end', () => {
  const b = new Bench({ delay: 150, jitter: 0, loss: 0 })
  b.inner.deliver(bytes(1))
  b.inner.break(new Error('gone'))
  const a = b.bad.receive()
  assert.deepEqual(a.stream, [bytes(1)])
  assert.ok(a.error instanceof Error)
})

test('closing sends what was written to the stream', () => {
  const b = new Bench({ delay: 150, jitter: 0, loss: 0 })
  b.bad.sendStream(server.frame(9, bytes(7)))
  assert.equal(b.inner.next(), undefined)
  b.bad.close(0)
  assert.deepEqual(b.inner.next()?.body, bytes(7))
  assert.equal(b.inner.closed, 0)
})
