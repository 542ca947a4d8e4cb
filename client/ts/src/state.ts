// State and Input datagrams: PROTOCOL.md, sections 8 to 10.

import { type BitReader, ByteReader, type ByteWriter } from './bits.ts'
import { fail } from './codes.ts'
import * as limit from './limits.ts'

const typeState = 64
const typeInput = 65

/** An event in a State datagram. */
export interface StateEvent {
  number: number
  age: number
  body: Uint8Array
}

/** A row whose entity was teleported. */
export interface Teleport {
  readonly row: number
  /** Ticks from the first tick in which the entity was there to the datagram. */
  readonly age: number
}

/** The header of a State datagram: everything before its bit string. */
export class StateHeader {
  echo = 0
  hold = 0
  seq = 0
  tick = 0
  structure = 0
  /** The tick of the newest input applied, 0 if there is none. */
  input = 0
  fold = 0
  events: readonly StateEvent[] = noEvents
  complete = false
  audited = false
  continued = false
  /** Whether some rows have exact states. */
  exact = false
  audit = 0
  /** By ascending rows. */
  teleports: readonly Teleport[] = noTeleports
  rows = 0
  /** Where the bit string begins. */
  rest = 0

  /** Reads the header of a datagram. */
  parse(d: Uint8Array): void {
    if (d.length > limit.maxDatagram) fail(`a datagram of ${d.length} bytes`)
    const r = new ByteReader(d)
    const type = r.u8()
    if (type !== typeState) fail(`a datagram of type ${type}`)
    this.echo = r.u32()
    this.hold = r.u16()
    this.seq = r.u32()
    this.tick = r.u32()
    this.structure = r.u32()
    const input = r.uvarint('input')
    const flags = r.u8()
    this.fold = r.u16()
    this.events = flags & 1 ? readEvents(r) : noEvents
    this.complete = (flags & 2) !== 0
    this.audited = (flags & 4) !== 0
    this.continued = (flags & 8) !== 0
    this.exact = (flags & 16) !== 0
    this.audit = this.audited ? r.u32() : 0
    this.teleports = flags & 32 ? readTeleports(r, this.tick) : noTeleports
    this.rows = r.uvarint('rows', limit.maxRows)
    this.rest = r.at
    if (
      flags > 63 ||
      (this.audited && !this.complete) ||
      (this.exact && this.rows === 0) ||
      (this.continued && this.seq === 1)
    )
      fail(`a State datagram with the flags ${flags}`)
    if ((this.teleports.at(-1)?.row ?? -1) >= this.rows) fail(`a teleport beyond ${this.rows} rows`)
    if (input > this.tick + 1) fail(`an input of ${input - 1} ticks before tick ${this.tick}`)
    if (this.seq === 0 || this.tick === 0) fail('a State datagram of number 0 or tick 0')
    this.input = input === 0 ? 0 : this.tick + 1 - input
  }
}

const noTeleports: readonly Teleport[] = []

function readTeleports(r: ByteReader, tick: number): Teleport[] {
  const end = r.uvarint('teleports', limit.maxDatagram) + r.at
  const all: Teleport[] = []
  for (let next = 0; r.at < end || all.length === 0; ) {
    const row = next + r.uvarint('rows before a teleport', limit.maxRows - 1)
    const age = r.uvarint('age')
    if (age >= tick || r.at > end) fail(`a teleport of ${age} ticks before tick ${tick}`)
    all.push({ row, age })
    next = row + 1
  }
  return all
}

const noEvents: readonly StateEvent[] = []

function readEvents(r: ByteReader): StateEvent[] {
  const n = r.uvarint('events', limit.maxDatagram)
  if (n === 0) fail('no events where flags announce some')
  if (n > r.left) fail('events end early')
  const all: StateEvent[] = []
  const events = new ByteReader(r.b, r.at, r.at + n)
  while (events.left > 0) {
    const number = events.uvarint('event', limit.maxEventKinds - 1)
    const age = events.uvarint('age')
    all.push({ number, age, body: events.bytes(events.uvarint('event', limit.maxArgs)) })
  }
  r.bytes(n)
  return all
}

/** The states from which a row is predicted, in ticks before the datagram's. */
export class Baseline {
  age = 0
  gap = 0

  read(r: BitReader, tick: number): void {
    this.age = r.golomb(4)
    this.gap = 0
    if (this.age === 0) return
    if (this.age >= tick) r.refuse(`a baseline of ${this.age} ticks before tick ${tick}`)
    this.gap = r.golomb(2)
    if (this.gap > 0 && this.gap >= tick - this.age)
      r.refuse(`a baseline of ${this.gap} ticks before tick ${tick - this.age}`)
  }
}

/** The fold of section 9. */
export class Fold {
  #x = 0

  reset(): void {
    this.#x = 0
  }

  add(index: number, generation: number): void {
    let x = Math.imul(this.#x ^ index, 0x9e3779b1)
    x = Math.imul(x ^ (x >>> 15) ^ generation, 0x85ebca77)
    this.#x = x ^ (x >>> 13)
  }

  get value(): number {
    return (this.#x ^ (this.#x >>> 16)) & 0xffff
  }
}

/** Which of the newest snapshot and the 64 before it were applied. */
export class Acks {
  newest = 0
  /** Bit i of low and high, 32 bits each, stands for newest − 1 − i. */
  low = 0
  high = 0

  /** Reports whether seq was applied, or is too old to tell. */
  isDuplicate(seq: number): boolean {
    if (seq > this.newest) return false
    const i = this.newest - seq - 1
    if (i < 0 || i > 63) return true
    return (((i < 32 ? this.low : this.high) >>> (i & 31)) & 1) !== 0
  }

  /** Returns how many snapshots before the newest were applied without a gap. */
  get run(): number {
    const ones = (mask: number): number => (mask === 0xffffffff ? 32 : 31 - Math.clz32(~mask & -~mask))
    return this.low === 0xffffffff ? 32 + ones(this.high) : ones(this.low)
  }

  add(seq: number): void {
    if (seq < this.newest) {
      const i = this.newest - seq - 1
      if (i < 32) this.low = (this.low | (1 << i)) >>> 0
      else this.high = (this.high | (1 << (i - 32))) >>> 0
      return
    }
    const d = this.newest === 0 ? 65 : seq - this.newest
    this.newest = seq
    if (d > 64) {
      this.low = this.high = 0
      return
    }
    for (let i = 0; i < d; i++) {
      this.high = ((this.high << 1) | (this.low >>> 31)) >>> 0
      this.low = (this.low << 1) >>> 0
    }
    if (d <= 32) this.low = (this.low | (1 << (d - 1))) >>> 0
    else this.high = (this.high | (1 << (d - 33))) >>> 0
  }

  equals(a: Acks): boolean {
    return this.newest === a.newest && this.low === a.low && this.high === a.high
  }

  copy(a: Acks): void {
    this.newest = a.newest
    this.low = a.low
    this.high = a.high
  }
}

/** An input of a tick. */
export interface TickInput {
  tick: number
  /** The view moment is tick − back + fraction / 256; if back is 0 there is none. */
  back: number
  fraction: number
  data: Uint8Array
}

/** Writes an Input datagram with the newest n inputs, newest first. */
export function encodeInput(
  w: ByteWriter,
  stamp: number,
  acks: Acks,
  structure: number,
  inputs: readonly TickInput[],
  from: number,
  n: number,
): void {
  w.reset()
  w.u8(typeInput)
  w.u32(stamp)
  w.u8(acks.newest === 0 ? 0 : 1)
  w.u32(acks.newest)
  w.u32(acks.low)
  w.u32(acks.high)
  w.u32(structure)
  w.uvarint(n)
  for (let i = from; i < from + n; i++) {
    const t = inputs[i]!
    w.u32(t.tick)
    w.uvarint(t.back)
    if (t.back > 0) w.u8(t.fraction)
    w.uvarint(t.data.length)
    w.bytes(t.data)
  }
}
