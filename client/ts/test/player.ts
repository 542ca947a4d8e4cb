// Plays the sessions of the conformance vectors, as internal/vectors does.

import { ByteReader } from '../src/bits.ts'
import { WireError } from '../src/codes.ts'
import type { Result } from '../src/commands.ts'
import { Events } from '../src/events.ts'
import type { Text } from '../src/fields.ts'
import { formatHandle, type Handle, indexOf, isProvisional, newHandle, parseHandle } from '../src/handles.ts'
import { FrameReader, Type } from '../src/messages.ts'
import { State } from '../src/motion/columns.ts'
import { MsgpackReader } from '../src/msgpack.ts'
import type { Message } from '../src/schema.ts'
import { Session } from '../src/session.ts'
import type { SessionConfig } from '../src/session_config.ts'
import { simulation } from '../src/simulation.ts'
import type { Tables } from '../src/tables.ts'
import type { Payload } from '../src/values.ts'
import { bitsOf } from './hex.ts'

export interface Step {
  case?: string
  about?: string
  protocol?: number
  schema?: string
  schema_hash?: string
  simulate?: boolean
  handles?: string[] | null
  stream?: string
  datagram?: string
  lost?: boolean
  forgotten?: boolean
  provisional?: { handles: string[]; command?: number; input?: number }
  send?: { command?: string; id?: number; words?: number[]; texts?: string[] }
  expect?: Expect
}

export interface Expect {
  [name: string]: unknown
}

export interface Base64 {
  decode(s: string): Uint8Array
  encode(b: Uint8Array): string
}

const encoder = new TextEncoder()

/** A session of a case. */
export class Player {
  session: Session
  readonly events = new Events()
  private readonly config: SessionConfig
  private readonly handles: Handle[]
  private readonly base64: Base64
  private readonly verdicts = new Map<Handle, string>()
  private entities = new Map<Handle, string>()
  private exact = new Map<Handle, string>()
  private taken = 0
  private asked = new Set<number>()
  private heard: unknown[] = []
  private results: unknown[] = []

  constructor(tables: Tables, handles: string[], base64: Base64, simulate = false, more: Partial<SessionConfig> = {}) {
    this.events.any = (tick, kind, p) => this.heard.push({ tick, event: kind.name, ...this.contents(p) })
    this.handles = handles.map((h) => parseHandle(h)!)
    this.base64 = base64
    this.config = {
      tables,
      events: this.events,
      result: (r) => this.result(r),
      ...(simulate && { simulation }),
      ...more,
    }
    this.session = new Session(this.config)
  }

  private texts(texts: readonly Text[]): string[] {
    return texts.map((t) => this.base64.encode(typeof t === 'string' ? encoder.encode(t) : t))
  }

  private contents(p: Payload): object {
    return {
      ...(p.values.length > 0 && { words: [...p.values] }),
      ...(p.texts.length > 0 && { texts: this.texts(p.texts) }),
    }
  }

  private result(r: Result): void {
    if (!this.asked.delete(r.id) || r.code === undefined) return
    this.results.push({ id: r.id, code: r.codeName, ...(r.payload && this.contents(r.payload)) })
  }

  /** Applies a step and returns its results, in the form of the vectors' expectations. */
  play(s: Step): Expect {
    const e: Expect = {}
    this.heard = []
    this.results = []
    try {
      if (s.provisional) this.name(s.provisional)
      else if (s.send) e.sent = this.send(s.send)
      else if (s.lost) e.hello = this.reconnect(s.forgotten ?? false)
      else if (s.datagram) {
        const outcome = this.session.receiveDatagram(this.base64.decode(s.datagram), 0)
        if (outcome !== undefined && this.session.joined) e.outcome = outcome
      } else {
        this.session.takeStream() // output of earlier steps
        this.session.receiveStream(this.base64.decode(s.stream ?? ''))
      }
    } catch (err) {
      if (!(err instanceof WireError)) throw err
      e.error = err.codeName
    }
    if (s.stream !== undefined) this.countArrived(e)
    this.observe(e)
    return e
  }

  /** Counts the Arrived messages that the client sent in a step. */
  private countArrived(e: Expect): void {
    const frames = new FrameReader()
    frames.feed(this.session.takeStream())
    let n = 0
    while (frames.next()) if (frames.type === Type.arrived) n++
    if (n > 0) e.arrived = n
  }

  private observe(e: Expect): void {
    const r = this.session.replica
    if (this.heard.length > 0) e.events = this.heard
    if (this.results.length > 0) e.results = this.results
    e.structure = r?.structure ?? 0
    e.newest = r?.acks.newest ?? 0
    e.mask = [r?.acks.high ?? 0, r?.acks.low ?? 0].map((v) => v.toString(16).padStart(8, '0')).join('')
    e.faults = r?.stats.faults ?? 0
    if (!r) return
    const verdicts: Record<string, string> = {}
    for (const h of this.handles) {
      const v = this.session.resolve(h)
      if (v === this.verdicts.get(h)) continue
      this.verdicts.set(h, v)
      verdicts[formatHandle(h)] = v
    }
    if (Object.keys(verdicts).length > 0) e.verdicts = verdicts
    const changed = this.changed()
    if (changed.length > 0) e.entities = changed
    const { bodies } = r
    if (!bodies) return
    const computed = this.computed()
    if (computed.length > 0) e.exact = computed
    if (bodies.stats.audited > 0) e.audits = bodies.stats.audited
    if (bodies.stats.faults > 0) e.error = 'an audit failed'
  }

  /** Returns the exact entities whose states have changed. */
  private computed(): unknown[] {
    const { all, bodies } = this.session.replica!
    const before = this.exact
    this.exact = new Map()
    const s = new State()
    const changed: { handle: Handle; exact: object }[] = []
    for (const x of all) {
      const tick = bodies!.newestState(x.index, s)
      if (tick === 0) continue
      const state = [...[s.x, s.y, s.z, s.vx, s.vy, s.vz].map(bitsOf), s.awake ? 1 : 0, s.rest]
      this.exact.set(x.handle, state.join())
      if (before.get(x.handle) !== state.join())
        changed.push({ handle: x.handle, exact: { handle: formatHandle(x.handle), tick, state } })
    }
    return changed.sort((a, b) => (a.handle < b.handle ? -1 : 1)).map((x) => x.exact)
  }

  private changed(): unknown[] {
    const before = this.entities
    this.entities = new Map()
    const changed: { handle: Handle; entity: object }[] = []
    for (const x of this.session.replica!.all) {
      const entity = {
        handle: formatHandle(x.handle),
        kind: x.kind,
        tick: x.tick,
        components: x.mask,
        ...(x.owned && { owned: true }),
        words: [...x.values],
        ...(x.texts.length > 0 && { texts: this.texts(x.texts) }),
        ...(x.teleported > 0 && { teleported: x.teleported }),
      }
      const text = JSON.stringify(entity)
      this.entities.set(x.handle, text)
      if (before.get(x.handle) !== text) changed.push({ handle: x.handle, entity })
    }
    return changed.sort((a, b) => (a.handle < b.handle ? -1 : 1)).map((x) => x.entity)
  }

  private take(h: Handle): void {
    for (; isProvisional(h) && this.taken <= indexOf(h); this.taken++) this.session.provisional()
  }

  private name(w: NonNullable<Step['provisional']>): void {
    const handles = w.handles.map((h) => parseHandle(h)!)
    for (const h of handles) this.take(h)
    if (w.command) {
      const { id } = this.session.doRaw('name', undefined, undefined, handles)
      if (id !== w.command) throw new Error(`a command with id ${id}, want ${w.command}`)
      return
    }
    const tick = this.session.setInput({ At: handles[0] }, 0)
    if (tick !== w.input) throw new Error(`an input of tick ${tick}, want ${w.input}`)
    this.session.input(0)
  }

  private send(s: NonNullable<Step['send']>): string {
    const schema = this.session.schema!
    const kind = schema.commands.find((c) => c.name === s.command)
    const m = kind ? kind.args! : schema.input!
    const p = this.payload(m, s)
    if (!kind) {
      this.session.setPayload(p, 0)
      return this.base64.encode(newestInput(this.session.input(0)!))
    }
    this.session.takeStream()
    const { id } = this.session.doPayload(kind.name, m, p, 0n as Handle)
    if (id !== s.id) throw new Error(`a command with id ${id}, want ${s.id}`)
    this.asked.add(id)
    const frames = new FrameReader()
    frames.feed(this.session.takeStream())
    const r = new MsgpackReader(frames.next()!)
    r.array(7)
    r.uint('id', 2 ** 32)
    r.str('name', 64)
    r.handle('target')
    return this.base64.encode(r.bin('args', 1024))
  }

  private payload(m: Message, s: NonNullable<Step['send']>): Payload {
    const values = Uint32Array.from(s.words ?? [])
    for (const f of m.fields) if (f.kind === 'ref') this.take(newHandle(values[f.index]!, values[f.index + 1]!))
    const texts = m.texts.map((f, i) => {
      const b = this.base64.decode(s.texts?.[i] ?? '')
      return f.bytes ? b : new TextDecoder().decode(b)
    })
    return { values, texts }
  }

  private reconnect(forgotten: boolean): object {
    this.session.takeStream()
    this.asked.clear()
    this.session.lost(new WireError(11))
    if (forgotten) {
      this.session = new Session(this.config, { kept: this.session.keep('') })
      this.taken = 0
    }
    this.session.reconnect()
    const frames = new FrameReader()
    frames.feed(this.session.takeStream())
    const r = new MsgpackReader(frames.next()!)
    r.array(13)
    for (let i = 0; i < 4; i++) r.u64('')
    return {
      session: r.u64('session'),
      secret: this.base64.encode(r.bin('secret', 16)),
      structure: r.uint('structure', 2 ** 32),
    }
  }
}

/** Returns the bytes of the newest input in an Input datagram. */
function newestInput(d: Uint8Array): Uint8Array {
  const r = new ByteReader(d, 1 + 4 + 1 + 4 + 8 + 4)
  r.uvarint('n')
  r.u32()
  if (r.uvarint('back') > 0) r.u8()
  return r.bytes(r.uvarint('length')).slice()
}
