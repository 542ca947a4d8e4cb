// Messages of a minimal server, for tests.

import { ByteReader, ByteWriter } from '../src/bits.ts'
import type { Arrivals, Connection } from '../src/connection.ts'
import { version } from '../src/limits.ts'
import { appendFrame, FrameReader, Type } from '../src/messages.ts'
import { MsgpackReader, MsgpackWriter } from '../src/msgpack.ts'
import { hashOf } from '../src/schema_parser.ts'

export const schemaText = `worldd schema 2
component purse
Coins int 20
component name
Name string 24
kind crate
input
X range bff0000000000000 3f60000000000000 1024
At ref
command buy
Count uint 5
answer
Left int 20
event chime
Serial uint 8
`

export interface WelcomeOptions {
  session?: number
  epoch?: number
  resumed?: boolean
  secret?: Uint8Array
  commands?: number
  text?: string
  schema?: bigint
  floor?: number
  ceiling?: number
  structure?: number
  maxSlots?: number
  tickHz?: number
  snapshotHz?: number
  tables?: number
  simulate?: boolean
  room?: string
  protocol?: number
  version?: string
}

export const tablesVersion = 0x1a382045

/** Returns a stream message. */
export function frame(type: number, body: Uint8Array): Uint8Array {
  const w = new ByteWriter()
  appendFrame(w, type, body)
  return w.take()
}

export function welcome(o: WelcomeOptions = {}): Uint8Array {
  const w = new MsgpackWriter()
  w.array(19)
  w.uint(o.protocol ?? version)
  w.u64(o.schema ?? hashOf(o.text || schemaText))
  w.uint(o.tables ?? tablesVersion)
  w.u64(BigInt(o.epoch ?? 7))
  w.uint(o.floor ?? 0)
  w.uint(o.ceiling ?? 0xffffffff)
  w.uint(o.tickHz ?? 60)
  w.uint(o.snapshotHz ?? 20)
  w.uint(o.maxSlots ?? 1000)
  w.uint(o.session ?? 1)
  w.uint(100)
  w.uint(o.resumed ? 1 : 0)
  w.bin(o.secret ?? new Uint8Array(16).fill(9))
  w.str(o.room ?? '')
  w.uint(o.simulate ? 1 : 0)
  w.uint(o.commands ?? 0)
  w.uint(o.structure ?? 0)
  w.str(o.version ?? '')
  w.str(o.text ?? schemaText)
  return frame(Type.welcome, w.take())
}

/** Returns a Refused or a Goodbye. */
export function end(type: number, code: number, address = '', token = new Uint8Array(0), why = 'why'): Uint8Array {
  const w = new MsgpackWriter()
  w.array(type === Type.refused ? 5 : 4)
  w.uint(code)
  w.str(why)
  if (type === Type.refused) w.str('')
  w.str(address)
  w.bin(token)
  return frame(type, w.take())
}

/** Returns a Structure message whose first record has number first. */
export function structure(first: number, ...records: Uint8Array[]): Uint8Array {
  const w = new ByteWriter()
  w.uvarint(first)
  w.uvarint(1)
  for (const r of records) w.bytes(r)
  return frame(Type.structure, w.take())
}

/** Returns an Enter of a crate with a purse and a name. */
export function enter(slot: number, generation: number, name = 'Ada'): Uint8Array {
  const w = new ByteWriter()
  w.u8(1 | (2 << 3))
  w.uvarint(slot)
  w.uvarint(generation)
  w.uvarint(0)
  w.uvarint(3)
  w.bytes(Uint8Array.of(0b10111, 0, 0)) // both components, 5 coins
  const text = new TextEncoder().encode(name)
  w.uvarint(1 + text.length)
  w.uvarint(text.length)
  w.bytes(text)
  return w.take()
}

/** Returns an Event of a number below 31. */
export function event(number: number, body: Uint8Array): Uint8Array {
  const w = new ByteWriter()
  w.u8(5 | (number << 3))
  w.uvarint(body.length)
  w.bytes(body)
  return w.take()
}

/** Returns a Destroy. */
export function destroy(slot: number, generation: number, cause = 0): Uint8Array {
  const w = new ByteWriter()
  w.u8(cause ? 3 | (1 << 3) : 3)
  w.uvarint(slot)
  w.uvarint(generation)
  if (cause) w.u8(cause)
  return w.take()
}

/** Returns a Result for a command without a target. */
export function result(id: number, code: number, answer = new Uint8Array(0)): Uint8Array {
  const w = new MsgpackWriter()
  w.array(6)
  w.uint(id)
  w.uint(code)
  w.u64(0n)
  w.uint(1)
  w.str('')
  w.bin(answer)
  return frame(Type.result, w.take())
}

/** Returns a State datagram without rows. With an audit it is complete. input is the newest input applied, 0: none. */
export function snapshot(seq: number, tick: number, structure: number, audit?: number, input = 0): Uint8Array {
  const w = new ByteWriter()
  w.u8(64)
  w.u32(0)
  w.u8(0)
  w.u8(0)
  w.u32(seq)
  w.u32(tick)
  w.u32(structure)
  w.uvarint(input === 0 ? 0 : tick + 1 - input)
  w.u8(audit === undefined ? 0 : 6)
  w.u8(0)
  w.u8(0)
  if (audit !== undefined) w.u32(audit)
  w.uvarint(0)
  return w.take()
}

export interface HelloSeen {
  schema: bigint
  epoch: bigint
  session: bigint
  secret: Uint8Array
  structure: number
  token: Uint8Array
  room: string
  abilities: number
  version: string
  minServer: string
}

/** A connection whose peer is the test. */
export class Link implements Connection {
  arrived: (() => void) | undefined
  bytesReceived = 0
  closed: number | undefined
  readonly datagrams: Uint8Array[] = []
  private in: Arrivals = { stream: [], datagrams: [], error: undefined }
  private readonly frames = new FrameReader()

  receive(): Arrivals {
    const arrivals = this.in
    this.in = { stream: [], datagrams: [], error: arrivals.error }
    return arrivals
  }

  sendStream(b: Uint8Array): void {
    this.frames.feed(b)
  }

  sendDatagram(d: Uint8Array): void {
    this.datagrams.push(d.slice())
  }

  close(code: number): void {
    this.closed ??= code
  }

  /** Delivers bytes of the stream to the client. */
  deliver(...all: Uint8Array[]): void {
    this.in.stream.push(...all)
    this.arrived?.()
  }

  deliverDatagram(bytes: Uint8Array, at: number): void {
    this.in.datagrams.push({ bytes, at })
    this.arrived?.()
  }

  break(error: unknown): void {
    this.in.error = error
    this.arrived?.()
  }

  /** Returns the next message that the client sent. */
  next(): { type: number; body: Uint8Array } | undefined {
    const body = this.frames.next()
    return body && { type: this.frames.type, body: body.slice() }
  }

  /** Returns the client's Hello. */
  hello(): HelloSeen {
    const m = this.next()
    if (m?.type !== Type.hello) throw new Error('no Hello')
    const r = new MsgpackReader(m.body)
    r.array(13)
    r.uint('protocol', version)
    const schema = r.u64('schema')
    r.uint('tables', 2 ** 32)
    const seen = {
      schema,
      epoch: r.u64('epoch'),
      session: r.u64('session'),
      secret: r.bin('secret', 16),
      structure: r.uint('structure', 2 ** 32),
      token: r.bin('token', 2048),
    }
    r.str('name', 64)
    return {
      ...seen,
      room: r.str('room', 64),
      abilities: r.uint('abilities', 1),
      version: r.str('version', 32),
      minServer: r.str('minServer', 32),
    }
  }
}

/**
 * Returns what an Input datagram holds: the acknowledged snapshot, the structure number and the
 * ticks of the inputs.
 */
export function inputsOf(d: Uint8Array): { newest: number; structure: number; ticks: number[] } {
  const r = new ByteReader(d, 6)
  const newest = r.u32()
  r.bytes(8)
  const structure = r.u32()
  const ticks: number[] = []
  for (let n = r.uvarint('inputs', 16); n > 0; n--) {
    ticks.push(r.u32())
    if (r.uvarint('back') > 0) r.u8()
    r.bytes(r.uvarint('length', 64))
  }
  r.expectEnd()
  return { newest, structure, ticks }
}
