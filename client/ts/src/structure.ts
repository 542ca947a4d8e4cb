// Structure messages: PROTOCOL.md, section 6.

import { ByteReader } from './bits.ts'
import { fail } from './codes.ts'
import type { Text } from './fields.ts'
import * as limit from './limits.ts'
import type { State } from './motion/columns.ts'
import type { Extension } from './motion/extension.ts'
import type { Simulation } from './simulation.ts'
import type { Payload } from './values.ts'

/** The kind of a record. */
export const Op = { enter: 1, leave: 2, destroy: 3, text: 4, event: 5, answer: 6, extension: 7 } as const

/** Why an entity left the view. */
export type Reason = 'interest' | 'rule'

/** A record. Fields that its op lacks are 0, false or empty. Bytes are views of the message. */
export class StructureRecord {
  readonly op: number
  readonly detail: number
  index = 0
  generation = 0
  kind = 0
  owned = false
  /** The form of the exact state, -1 without one; back is the state's age in ticks. */
  form = -1
  back = 0
  row = none
  /** The text, the event, or the texts of an Enter; otherwise empty. */
  data = none
  /** The number of a text field, an event or a provisional handle. */
  number = 0
  cause = 0
  extension: Extension | undefined
  /** Parts that the check of the message has decoded: an Enter's row, and an event. */
  decoded: EnterRow | undefined
  payload: Payload | undefined

  constructor(head: number) {
    this.op = head & 7
    this.detail = head >> 3
  }
}

/** The decoded row of an Enter. */
export interface EnterRow {
  readonly list: Uint32Array // for an Entity
  readonly mask: number
  readonly texts: Text[]
  readonly body: State | null // the exact state; null: ordinary
}

const none: Uint8Array = new Uint8Array(0)

export interface Structure {
  first: number
  ticks: number
  records: StructureRecord[]
}

/**
 * Reads all of a message except the rows and texts of its Enters, which need the schema.
 * Without simulation, records for simulating clients are an error.
 */
export function parseStructure(body: Uint8Array, simulation: Simulation | undefined): Structure {
  const r = new ByteReader(body)
  const m: Structure = { first: r.uvarint('first'), ticks: r.uvarint('ticks'), records: [] }
  while (r.left > 0) m.records.push(readRecord(r, simulation))
  if (m.first === 0 || m.records.length === 0) fail('a Structure message without records, or of record 0')
  if (m.first + m.records.length > 2 ** 32) fail('record numbers beyond 32 bits')
  return m
}

const highestDetail = [-1, 7, 1, 1, 31, 31, 1, 5]

function readRecord(r: ByteReader, simulation: Simulation | undefined): StructureRecord {
  const x = new StructureRecord(r.u8())
  if (x.detail > highestDetail[x.op]!) fail(`a record of op ${x.op} with detail ${x.detail}`)
  switch (x.op) {
    case Op.enter:
      readEnter(r, x)
      break
    case Op.leave:
      readHandle(r, x)
      break
    case Op.destroy:
      readHandle(r, x)
      if (x.detail === 1) {
        x.cause = r.u8()
        if (x.cause === 0) fail('a cause of 0')
      }
      break
    case Op.text:
      readNumber(r, x, limit.maxTextFields)
      readHandle(r, x)
      x.data = r.bytes(r.uvarint('text', limit.maxTextField))
      break
    case Op.event:
      readNumber(r, x, limit.maxEventKinds)
      x.data = r.bytes(r.uvarint('event', limit.maxArgs))
      break
    case Op.answer:
      x.number = r.uvarint('provisional handle')
      if (x.detail === 1) readHandle(r, x)
      break
    default:
      x.extension = simulation?.readExtension(r, x.detail)
  }
  if (!simulation && (x.op === Op.extension || x.form >= 0))
    fail('a record of a simulation, in a session that does not simulate')
  return x
}

function readEnter(r: ByteReader, x: StructureRecord): void {
  x.owned = (x.detail & 1) !== 0
  readHandle(r, x)
  x.kind = r.uvarint('kind', limit.maxKinds - 1)
  if (x.detail & 4) {
    const form = r.uvarint('form')
    x.form = form & 3
    x.back = form >>> 2
  }
  x.row = r.bytes(r.uvarint('row', limit.maxRowBytes))
  if (x.detail & 2) {
    x.data = r.bytes(r.uvarint('texts', limit.maxTexts))
    if (x.data.length === 0) fail('an Enter with texts of no bytes')
  }
}

function readHandle(r: ByteReader, x: StructureRecord): void {
  x.index = r.uvarint('slot', limit.maxSlots - 1)
  x.generation = r.uvarint('generation')
  if (x.generation % 2 === 0) fail(`a record of the even generation ${x.generation}`)
}

function readNumber(r: ByteReader, x: StructureRecord, below: number): void {
  x.number = x.detail < 31 ? x.detail : 31 + r.uvarint('number', below - 1 - 31)
}
