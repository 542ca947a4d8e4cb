// Stream messages: PROTOCOL.md, section 3.

import type { ByteWriter } from './bits.ts'
import { Code, fail, WireError } from './codes.ts'
import type { Handle } from './handles.ts'
import * as limit from './limits.ts'
import { MsgpackReader, MsgpackWriter } from './msgpack.ts'
import { isVersion } from './version.ts'

/** Types of stream messages. */
export const Type = {
  pad: 0,
  hello: 1,
  command: 2,
  bye: 3,
  resync: 4,
  arrived: 5,
  listRooms: 6,
  welcome: 16,
  refused: 17,
  structure: 18,
  result: 19,
  control: 20,
  goodbye: 21,
  roomList: 22,
} as const

const u16 = 0xffff
const u32 = 0xffffffff

export interface Hello {
  schema: bigint
  tables: number
  epoch: bigint
  session: bigint
  secret: Uint8Array
  structure: number
  token: Uint8Array
  name: string
  room: string
  abilities: number
  version: string
  minServer: string
}

export function encodeHello(m: Hello): Uint8Array {
  const w = new MsgpackWriter()
  w.array(13)
  w.uint(limit.version)
  w.u64(m.schema)
  w.uint(m.tables)
  w.u64(m.epoch)
  w.u64(m.session)
  w.bin(m.secret)
  w.uint(m.structure)
  w.bin(m.token)
  w.str(m.name)
  w.str(m.room)
  w.uint(m.abilities)
  w.str(m.version)
  w.str(m.minServer)
  return w.take()
}

export interface Command {
  id: number
  name: string
  target: bigint
  args: Uint8Array
  provisional: number
  provisionals: number
  view: number
}

export function encodeCommand(m: Command): Uint8Array {
  const w = new MsgpackWriter()
  w.array(7)
  w.uint(m.id)
  w.str(m.name)
  w.u64(m.target)
  w.bin(m.args)
  w.uint(m.provisional)
  w.uint(m.provisionals)
  w.uint(m.view)
  return w.take()
}

export function encodeBye(code: number, text = ''): Uint8Array {
  const w = new MsgpackWriter()
  w.array(2)
  w.uint(code)
  w.str(text)
  return w.take()
}

/** The server's answer to Hello. A later one moves the session to another room. */
export interface Welcome {
  protocol: number
  schema: bigint
  tables: number
  epoch: bigint
  generationFloor: number
  generationCeiling: number
  tickHz: number
  snapshotHz: number
  maxSlots: number
  session: bigint
  tick: number
  resumed: boolean
  secret: Uint8Array
  room: string
  simulate: boolean
  commands: number
  structure: number
  /** The version of the server's game, '' if it has none: show it by printable. */
  version: string
  schemaText: string
}

export function parseWelcome(b: Uint8Array): Welcome {
  const r = new MsgpackReader(b)
  r.array(19)
  const m: Welcome = {
    protocol: r.uint('protocol', u16),
    schema: r.u64('schema'),
    tables: r.uint('tables', u32),
    epoch: r.u64('epoch'),
    generationFloor: r.uint('generation_floor', u32),
    generationCeiling: r.uint('generation_ceiling', u32),
    tickHz: r.uint('tick_hz', u16),
    snapshotHz: r.uint('snapshot_hz', u16),
    maxSlots: r.uint('max_slots', u32),
    session: r.u64('session'),
    tick: r.uint('tick', u32),
    resumed: r.uint('resumed', 1) === 1,
    secret: r.bin('secret', 16),
    room: r.str('room', limit.maxRoom),
    simulate: r.uint('simulate', 1) === 1,
    commands: r.uint('commands', u32),
    structure: r.uint('structure', u32),
    version: r.str('version', limit.maxVersion),
    schemaText: r.str('schema_text', limit.maxSchemaText),
  }
  r.expectEnd()
  if (m.version !== '' && !isVersion(m.version)) fail('a version of another form')
  if (m.secret.length !== 0 && m.secret.length !== 16) fail(`a secret of ${m.secret.length} bytes`)
  if (m.snapshotHz < 1 || m.snapshotHz > m.tickHz) fail(`${m.snapshotHz} snapshots in ${m.tickHz} ticks a second`)
  if (m.generationCeiling < m.generationFloor) fail(`generations ${m.generationFloor} to ${m.generationCeiling}`)
  return m
}

/** Reads a Refused or Goodbye, which says why the session ends. */
export function parseEnd(type: number, b: Uint8Array): WireError {
  const r = new MsgpackReader(b)
  const refused = type === Type.refused
  const known = refused ? 5 : 4
  const n = r.array(known, refused)
  const code = r.uint('code', u16)
  const text = r.str('text', limit.maxText)
  if (refused) r.str('want', limit.maxText)
  const address = r.str('address', limit.maxText)
  const token = r.bin('token', limit.maxToken)
  for (let i = known; i < n; i++) r.value(limit.maxNesting - 1)
  r.expectEnd()
  const moved = code === Code.moved
  if (moved ? address === '' : address !== '' || token.length > 0) fail('only moved has an address, and always')
  return new WireError(code, text, address, token)
}

/** The answer to a Command. */
export interface ResultMessage {
  id: number
  code: number
  target: bigint
  verdict: number
  text: string
  answer: Uint8Array
}

export function parseResult(b: Uint8Array): ResultMessage {
  const r = new MsgpackReader(b)
  r.array(6)
  const m: ResultMessage = {
    id: r.uint('id', u32),
    code: r.uint('code', u16),
    target: r.handle('target'),
    verdict: r.uint('verdict', 3),
    text: r.str('text', limit.maxText),
    answer: r.bin('answer', limit.maxArgs),
  }
  r.expectEnd()
  if (m.code !== Code.ok && m.answer.length > 0) fail(`an answer with code ${m.code}`)
  return m
}

export function parseControl(b: Uint8Array): Handle {
  const r = new MsgpackReader(b)
  r.array(1)
  const entity = r.handle('entity')
  r.expectEnd()
  return entity
}

/** Writes a frame: uvarint length | u8 type | body. */
export function appendFrame(w: ByteWriter, type: number, body: Uint8Array): void {
  w.uvarint(body.length + 1)
  w.u8(type)
  w.bytes(body)
}

/** Takes frames from the bytes of the stream, in pieces of any size. */
export class FrameReader {
  #b: Uint8Array = new Uint8Array(1024)
  #from = 0
  #to = 0
  /** The type of the frame that next returned. */
  type = 0

  feed(p: Uint8Array): void {
    if (this.#from === this.#to) this.#from = this.#to = 0
    if (this.#to + p.length > this.#b.length) {
      const left = this.#to - this.#from
      const b: Uint8Array =
        left + p.length > this.#b.length ? new Uint8Array(Math.max(2 * this.#b.length, left + p.length)) : this.#b
      b.set(this.#b.subarray(this.#from, this.#to))
      this.#b = b
      this.#from = 0
      this.#to = left
    }
    this.#b.set(p, this.#to)
    this.#to += p.length
  }

  /** The memory of the buffer. */
  get size(): number {
    return this.#b.length
  }

  /** Returns the body of the next whole frame, valid until the next feed, or undefined. */
  next(): Uint8Array | undefined {
    let length = 0
    let at = this.#from
    for (let shift = 0; ; shift += 7) {
      if (at === this.#to) return undefined
      const c = this.#b[at++]!
      length += (c & 0x7f) * 2 ** shift
      if (c < 0x80) {
        if (c === 0 && shift > 0) fail('the length of a frame is not in its shortest form')
        break
      }
      if (shift === 14) fail('a frame is too long')
    }
    if (length < 1 || length > limit.maxFrame) fail(`a frame of ${length} bytes`)
    if (this.#to - at < length) return undefined
    this.type = this.#b[at]!
    this.#from = at + length
    return this.#b.subarray(at + 1, this.#from)
  }
}
