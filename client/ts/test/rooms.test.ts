// Lists of rooms.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ByteWriter } from '../src/bits.ts'
import { WireError } from '../src/codes.ts'
import type { Arrivals, Connection } from '../src/connection.ts'
import { appendFrame, FrameReader, Type } from '../src/messages.ts'
import { MsgpackReader, MsgpackWriter } from '../src/msgpack.ts'
import { listRooms } from '../src/rooms.ts'

/** A server's end of a connection, which answers each request with the next message. */
class ListServer implements Connection {
  arrived: (() => void) | undefined
  bytesReceived = 0
  readonly asked: string[] = []
  readonly closed: number[] = []
  #in: Arrivals = { stream: [], datagrams: [], error: undefined }
  readonly #frames = new FrameReader()
  readonly #answers: { type: number; body: Uint8Array }[]

  constructor(answers: { type: number; body: Uint8Array }[]) {
    this.#answers = answers
  }

  receive(): Arrivals {
    const arrivals = this.#in
    this.#in = { stream: [], datagrams: [], error: arrivals.error }
    return arrivals
  }

  sendStream(b: Uint8Array): void {
    this.#frames.feed(b)
    for (let body = this.#frames.next(); body !== undefined; body = this.#frames.next()) {
      assert.equal(this.#frames.type, Type.listRooms)
      const r = new MsgpackReader(body)
      r.array(2)
      this.asked.push(`${r.str('query', 256)} after ${r.str('after', 64)}`)
      r.expectEnd()
      const answer = this.#answers.shift()
      if (answer === undefined) this.#in.error = new WireError(9, 'gone')
      else {
        const out = new ByteWriter()
        appendFrame(out, answer.type, answer.body)
        this.#in.stream.push(out.take())
      }
      this.arrived?.()
    }
  }

  sendDatagram(): void {}

  close(code: number): void {
    this.closed.push(code)
  }
}

function list(rooms: string, more: number): { type: number; body: Uint8Array } {
  const w = new MsgpackWriter()
  w.array(2)
  w.str(rooms)
  w.uint(more)
  return { type: Type.roomList, body: w.take() }
}

test('listRooms reads all pages, and closes its connection', async () => {
  const server = new ListServer([list('match/1 1 2 mode=ranked\n', 1), list('match/2 0 3 mode=ranked\n', 0)])
  const rooms = await listRooms({ url: '', dial: async () => server }, 'match?mode=ranked')
  assert.deepEqual(
    rooms.map((r) => r.name),
    ['match/1', 'match/2'],
  )
  assert.deepEqual(server.asked, ['match?mode=ranked after ', 'match?mode=ranked after match/1'])
  assert.deepEqual(server.closed, [0])
})

test('listRooms refuses what is no list, and says why the server ended', async () => {
  for (const [answers, text] of [
    [[list('', 1)], 'more to come'],
    [[list('b 1 1 \n', 1), list('a 1 1 \n', 0)], 'after b'],
    [[{ type: Type.control, body: list('', 0).body }], 'in place of'],
    [[], 'gone'],
  ] as const) {
    const server = new ListServer([...answers])
    await assert.rejects(listRooms({ url: '', dial: async () => server }, ''), (e: WireError) =>
      e.message.includes(text),
    )
    assert.equal(server.closed.length, 1)
  }
  await assert.rejects(listRooms({ url: '' }, '?A=b'), WireError)
})
