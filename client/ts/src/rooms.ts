// Lists of rooms, and queries for them: PROTOCOL.md, sections 4.3 and 4.4.

import { ByteWriter } from './bits.ts'
import type { Config } from './client_config.ts'
import { Code, fail, WireError } from './codes.ts'
import type { Connection } from './connection.ts'
import { dialServer } from './dial.ts'
import * as limit from './limits.ts'
import { appendFrame, FrameReader, parseEnd, Type } from './messages.ts'
import { MsgpackReader, MsgpackWriter } from './msgpack.ts'

/** A room in a list. */
export interface RoomInfo {
  readonly name: string
  /** Sessions, away ones included. */
  readonly players: number
  /** Places that nobody has or has reserved. */
  readonly free: number
  readonly attributes: ReadonlyMap<string, string>
}

const maxListPages = 8
const listTimeout = 5000 // ms

/**
 * Returns the listed rooms of a server that suit a query, by name, without a session. The list may be a second old.
 * A query is KIND?KEY=VALUE&KEY=VALUE, such as match?mode=ranked; match? is for all rooms of a kind, and '' for all
 * rooms. Lists of more than 128 KiB are cut. Join a room by Config.room, which takes the same queries: then the server
 * chooses. Call listRooms every few seconds at most: each call is a connection of its own.
 */
export async function listRooms(
  config: Pick<Config, 'url' | 'certificateHashes' | 'fallback' | 'dial'>,
  query: string,
): Promise<RoomInfo[]> {
  parseQuery(query)
  const now = (): number => performance.now()
  const { url, dial, fallback, certificateHashes: pins } = config
  const hashes = typeof pins === 'function' ? await pins() : (pins ?? [])
  const until = now() + listTimeout
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new WireError(Code.timeout, 'no connection to the server')), listTimeout)
  const { signal } = late
  let link: Connection | undefined
  try {
    link = await (dial ? dial(url, now, signal) : dialServer(url, hashes, fallback, now, signal))
    const all: RoomInfo[] = []
    const frames = new FrameReader()
    for (let page = 0; page < maxListPages; page++) {
      const last = all.at(-1)?.name ?? ''
      send(link, query, last)
      const list = await readList(link, frames, until)
      if (list.rooms[0] && list.rooms[0].name <= last) fail(`a list of rooms from ${list.rooms[0].name} after ${last}`)
      all.push(...list.rooms)
      if (!list.more) break
    }
    return all
  } finally {
    clearTimeout(timer)
    link?.close(Code.ok)
  }
}

function send(link: Connection, query: string, after: string): void {
  const w = new MsgpackWriter()
  w.array(2)
  w.str(query)
  w.str(after)
  const out = new ByteWriter()
  appendFrame(out, Type.listRooms, w.take())
  link.sendStream(out.take())
}

interface RoomList {
  readonly rooms: readonly RoomInfo[]
  readonly more: boolean
}

/** Waits for the next list. */
async function readList(link: Connection, frames: FrameReader, until: number): Promise<RoomList> {
  for (;;) {
    const body = frames.next()
    if (body !== undefined) {
      if (frames.type === Type.refused) throw parseEnd(frames.type, body)
      if (frames.type !== Type.roomList) fail(`message type ${frames.type} in place of a list of rooms`)
      return parseRoomList(body)
    }
    const { stream, error } = link.receive()
    for (const p of stream) frames.feed(p)
    if (stream.length > 0) continue
    if (error !== undefined) throw error
    if (performance.now() > until) throw new WireError(Code.timeout, 'no list of rooms from the server')
    await new Promise<void>((resolve) => {
      link.arrived = resolve
      setTimeout(resolve, 50) // also for what arrived before
    })
  }
}

function parseRoomList(b: Uint8Array): RoomList {
  const r = new MsgpackReader(b)
  r.array(2)
  const rooms = parseRooms(r.str('rooms', limit.maxRoomList))
  const more = r.uint('more', 1) === 1
  r.expectEnd()
  if (more && rooms.length === 0) fail('a list without rooms, and more to come')
  return { rooms, more }
}

/** Parses the lines of a list. */
export function parseRooms(text: string): RoomInfo[] {
  const rooms: RoomInfo[] = []
  let last = ''
  let from = 0
  while (from < text.length) {
    const end = text.indexOf('\n', from)
    const m = /^([!-~]{1,64}) (0|[1-9]\d{0,9}) (0|[1-9]\d{0,9}) (.*)$/s.exec(text.slice(from, Math.max(end, from)))
    if (m === null) return fail(`line ${rooms.length + 1} of a list of rooms has another form`)
    const [name, players, free] = [m[1]!, Number(m[2]), Number(m[3])]
    if (name <= last || players >= 2 ** 31 || free >= 2 ** 31) fail(`room ${name} in a list after ${last}`)
    rooms.push({ name, players, free, attributes: parseAttributes(m[4]!) })
    last = name
    from = end + 1
  }
  return rooms
}

/** Parses a query. It does not check the kind. */
export function parseQuery(text: string): { kind: string; attributes: Map<string, string> } {
  if (byteLength(text) > limit.maxRoomQuery) fail(`a query of ${byteLength(text)} bytes for a room`)
  const i = text.indexOf('?')
  if (i < 0) return { kind: text, attributes: new Map() }
  return { kind: text.slice(0, i), attributes: parseAttributes(text.slice(i + 1)) }
}

function parseAttributes(text: string): Map<string, string> {
  const attributes = new Map<string, string>()
  if (text === '') return attributes
  if (byteLength(text) > limit.maxAttributes) fail(`attributes of ${byteLength(text)} bytes`)
  for (const part of text.split('&')) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: values have none
    const m = /^([a-z0-9_-]{1,24})=([^\u0000-\u001f\u007f-\u009f&]+)$/.exec(part)
    if (m === null || byteLength(m[2]!) > limit.maxAttributeValue) return fail('an attribute of another form')
    if (attributes.has(m[1]!)) fail(`attribute ${m[1]} is given twice`)
    attributes.set(m[1]!, m[2]!)
  }
  if (attributes.size > limit.maxAttributeCount) fail(`${attributes.size} attributes`)
  return attributes
}

function byteLength(s: string): number {
  return new TextEncoder().encode(s).length
}
