// Damaged messages of recorded sessions, as in the Go client. A message that a client refuses
// ends the session with a code and changes nothing. An accepted message is applied whole, in
// bounded memory.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ByteReader } from '../src/bits.ts'
import { WireError } from '../src/codes.ts'
import { FrameReader, Type } from '../src/messages.ts'
import type { Replica } from '../src/replica.ts'
import { Session } from '../src/session.ts'
import { simulation } from '../src/simulation.ts'
import { defaultTables, type Tables } from '../src/tables.ts'
import { randomOf } from './random.ts'
import { frame } from './server.ts'
import { bytes, lines } from './vectors.ts'

const rounds = 24
const mutantsOfRound = 64
const maxBytes = 4 << 20

/** A datagram, or a message of the stream. */
interface Message {
  readonly type: number // 0: a datagram
  readonly body: Uint8Array
}

/** Returns what the first connection of a file's first case received. */
function recording(file: string): Message[] {
  const all: Message[] = []
  const frames = new FrameReader()
  for (const s of lines<{ case?: string; stream?: string; datagram?: string; lost?: boolean }>(file)) {
    if (s.lost || (s.case !== undefined && all.length > 0)) break
    if (s.datagram) all.push({ type: 0, body: bytes(s.datagram) })
    if (s.stream) frames.feed(bytes(s.stream))
    for (let b = frames.next(); b !== undefined; b = frames.next()) all.push({ type: frames.type, body: b.slice() })
  }
  return all.slice(all.findIndex((m) => m.type === Type.welcome)) // datagrams may precede it
}

/** Returns a session that has received messages. */
function begin(tables: Tables, messages: readonly Message[], simulates: boolean): Session {
  const s = new Session({ tables, maxBytes, ...(simulates && { simulation }) })
  for (const m of messages) receive(s, m)
  return s
}

function receive(s: Session, { type, body }: Message): string {
  if (type === 0) return s.receiveDatagram(body, 0) ?? 'not joined'
  s.receiveStream(frame(type, body))
  return 'taken'
}

/** Hashes everything of a replica that a game can see or that later messages depend on. */
function digest(r: Replica): number {
  let x = 0
  const add = (v: number): void => {
    x = Math.imul(x ^ v, 0x9e3779b1)
    x ^= x >>> 15
  }
  for (const v of [
    r.structure,
    r.tick,
    r.input,
    r.acks.newest,
    r.acks.low,
    r.acks.high,
    r.bodies?.now ?? 0,
    r.all.length,
  ])
    add(v)
  for (const e of r.all) {
    for (const v of [e.index, e.generation, e.kind, e.mask, e.owned ? 1 : 0, e.tick]) add(v)
    for (const v of e.all) add(v)
    for (const t of e.texts) for (const c of t) add(typeof c === 'number' ? c : c.codePointAt(0)!)
  }
  return x
}

/** Damages messages, with a seed. */
class Mutator {
  private readonly random: () => number

  constructor(seed: number) {
    this.random = randomOf(seed)
  }

  below(n: number): number {
    return Math.floor(this.random() * n)
  }

  of(b: Uint8Array, other: Uint8Array): Uint8Array {
    const at = this.below(b.length + 1)
    switch (this.below(5)) {
      case 0:
        return b.slice(0, at)
      case 1: // append random bytes
        return Uint8Array.of(...b.subarray(0, at), ...other.subarray(this.below(other.length + 1))).slice(0, 1300)
      case 2:
        return Uint8Array.of(...b.subarray(0, at), ...b.subarray(this.below(at + 1))).slice(0, 1300)
    }
    const m = b.slice()
    for (let n = 1 + this.below(3); n > 0 && m.length > 0; n--) {
      const i = this.below(m.length)
      m[i] = this.below(3) === 0 ? [0, 1, 0x7f, 0x80, 0xff][this.below(5)]! : m[i]! ^ (1 << this.below(8))
    }
    return m
  }
}

const seqAt = 7
const structureAt = 15

/** Gives a datagram a new number and an applied structure number. */
function plausible(d: Uint8Array, r: Replica): void {
  if (d.length < structureAt + 4) return
  const view = new DataView(d.buffer, d.byteOffset)
  view.setUint32(seqAt, r.acks.newest + 1, true)
  view.setUint32(structureAt, r.structure, true)
}

/** Gives a datagram with a wrong fold the fold of its rows. */
function refold(d: Uint8Array, r: Replica): void {
  const reader = new ByteReader(d, structureAt + 4)
  reader.uvarint('input')
  new DataView(d.buffer, d.byteOffset).setUint16(reader.at + 1, r.fold, true)
}

/** Returns the body of a Structure message with another first record. */
function renumbered(body: Uint8Array, first: number): Uint8Array {
  let n = 0
  while (n < body.length && body[n]! >= 0x80) n++
  const out: number[] = []
  for (; first >= 0x80; first = Math.floor(first / 0x80)) out.push((first & 0x7f) | 0x80)
  return Uint8Array.of(...out, first, ...body.subarray(n + 1))
}

/** Returns the outcome of a message, or the code of the error that ends the session. */
function attempt(s: Session, m: Message): string {
  try {
    return receive(s, m)
  } catch (e) {
    assert.ok(
      e instanceof WireError,
      `${e} is no WireError: ${e instanceof Error ? e.stack : ''}; message ${m.type}, ${m.body}`,
    )
    return e.codeName
  }
}

for (const [file, simulates] of [
  ['simulation-5', false],
  ['simulation-riders', false],
  ['simulation-texts', false],
  ['clean', true],
] as const) {
  test(`damaged messages of ${file}.jsonl`, async () => {
    const tables = await defaultTables()
    const all = recording(`${file}.jsonl`)
    const mutator = new Mutator(all.length)
    const outcomes = new Map<string, number>()
    for (let round = 0; round < rounds; round++) {
      const from = 1 + mutator.below(all.length - 1)
      let s = begin(tables, all.slice(0, from), simulates)
      for (let i = 0; i < mutantsOfRound; i++) {
        const next =
          mutator.below(4) > 0
            ? all[Math.min(from + mutator.below(4), all.length - 1)]!
            : all[1 + mutator.below(all.length - 1)]!
        let body = mutator.of(next.body, all[mutator.below(all.length)]!.body)
        if (mutator.below(8) > 0) {
          if (next.type === 0) plausible(body, s.replica!)
          if (next.type === Type.structure) body = renumbered(body, s.replica!.structure + 1)
        }
        const before = digest(s.replica!)
        const releases = next.type !== 0 && s.replica!.waiting > 0 // held datagrams, which may be damaged too
        let outcome = attempt(s, { type: next.type, body })
        if (outcome === 'faulty') {
          refold(body, s.replica!)
          outcome = attempt(s, { type: 0, body })
        }
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
        if (outcome !== 'applied' && outcome !== 'taken' && !releases) {
          assert.equal(digest(s.replica!), before, `${outcome}, but the replica changed: message ${next.type}, ${body}`)
        }
        assert.ok(s.replica!.waiting <= 16 && s.replica!.bytes <= maxBytes)
        if (!s.joined) s = begin(tables, all.slice(0, from), simulates)
      }
    }
    for (const outcome of ['applied', 'taken', 'bad-message', 'unreadable', 'held', 'duplicate'])
      assert.ok(outcomes.get(outcome)! > 0, `${outcome}: ${JSON.stringify([...outcomes])}`)
  })
}
