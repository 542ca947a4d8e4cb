// A server with one avatar, and a client that predicts it.

import assert from 'node:assert/strict'
import { mock } from 'node:test'
import { type Avatar, type Motion, type Stick, steer } from '../page/steering.ts'
import { BitReader, BitWriter, ByteReader, ByteWriter } from '../src/bits.ts'
import { Client } from '../src/client.ts'
import type { Config } from '../src/client_config.ts'
import { newHandle } from '../src/handles.ts'
import { Type } from '../src/messages.ts'
import { MsgpackWriter } from '../src/msgpack.ts'
import { predict } from '../src/predict.ts'
import type { PredictConfig, Prediction, Step } from '../src/predict_config.ts'
import { hashOf, parseSchema } from '../src/schema_parser.ts'
import { Fold } from '../src/state.ts'
import { defaultTables } from '../src/tables.ts'
import { Shape } from '../src/values.ts'
import * as server from './server.ts'

await defaultTables() // load them first: afterwards clients wait for no I/O

mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const vector = (name: string, low: string, step: string, largest: number): string =>
  [0, 1, 2].map((i) => `${name}[${i}] range ${low} ${step} ${largest} linear\n`).join('')
export const schemaText = `worldd schema 2
component body
${vector('Position', 'c090000000000000', '3f70000000000000', 524288)}${vector('Velocity', 'c060000000000000', '3fa0000000000000', 8192)}kind avatar
input
X int 8
Z int 8
`
const schema = parseSchema(schemaText)
const body = new Shape(schema.components[0]!.fields, [])
const stick = new Shape(schema.input!.fields, [])
export const motion: Motion = { tickHz: 60, speed: 6, halfX: 100, halfZ: 100 }
const player = newHandle(5, 1)
const interval = 3 // ticks between snapshots
const reader = new BitReader()

type State = { body: Avatar }

/** A server with one avatar and a client that predicts it, over links with a delay in ms. */
export class Track {
  readonly delay: number
  now = 10_000
  tick = 1000
  truth: Avatar = { Position: [0, 0, 0], Velocity: [0, 0, 0] }
  held: Stick = { X: 0, Z: 0 }
  input: (frame: number) => Stick = () => ({ X: 0, Z: 0 })
  frames = 0
  client!: Client
  play!: Prediction<State>
  readonly links: server.Link[] = []
  readonly sticks = new Map<number, Stick>() // received, by tick
  readonly stepped: number[] = [] // ticks for which the client's step was called
  inside: (tick: number) => void = () => {}
  private applied = 0
  private late = 0 // newest input since the last one that arrived after its tick
  private seq = 0
  private records = 0
  private structured = 0 // tick of the newest record
  private stamp = 0
  private heard = 0
  private next = 0 // time of the next tick
  private read = 0 // datagrams of the link that were read
  private readonly up: { at: number; d: Uint8Array }[] = []
  private readonly down: { at: number; d: Uint8Array }[] = []

  constructor(delay: number) {
    this.delay = delay
    this.next = this.now
    performance.now = () => this.now
  }

  get link(): server.Link {
    return this.links.at(-1)!
  }

  /** @param step - moves the client's avatar by a tick, steer by default */
  async join(
    config: PredictConfig = {},
    more: Partial<Config> = {},
    step: Step<State, Stick> = (_tick, s, in_) => steer(motion, s.body, in_),
    components: readonly string[] = ['body'],
  ): Promise<this> {
    const connecting = Client.connect({
      ...more,
      url: 'https://game.example:7777/worldd',
      dial: async () => {
        this.links.push(new server.Link())
        return this.link
      },
    })
    await this.attached(1)
    this.link.deliver(server.welcome({ schema: hashOf(schemaText), text: schemaText }))
    this.client = await connecting
    this.play = predict<State, Stick>(
      this.client,
      components,
      (tick, s, in_) => {
        this.stepped.push(tick)
        this.inside(tick)
        step(tick, s, in_)
      },
      config,
    )
    this.enter(5)
    this.control(player)
    return this
  }

  /** Gives the client control of an entity. */
  control(h: bigint): void {
    const w = new MsgpackWriter()
    w.array(1)
    w.u64(h)
    this.link.deliver(server.frame(Type.control, w.take()))
    this.client.update()
  }

  /** Shows the client an avatar of its own. */
  enter(slot: number): void {
    const w = new ByteWriter()
    w.uvarint(++this.records)
    w.uvarint(this.tick - this.structured)
    this.structured = this.tick
    w.u8(1 | (1 << 3)) // owned
    w.uvarint(slot)
    w.uvarint(1)
    w.uvarint(0)
    const row = this.row(new BitWriter(), true)
    w.uvarint(row.length)
    w.bytes(row)
    this.link.deliver(server.frame(Type.structure, w.take()))
    this.client.update()
  }

  /** Begins another session after lose, from a tick on. */
  begin(tick: number): void {
    this.tick = tick
    this.applied = this.late = this.seq = this.records = this.structured = 0
    this.sticks.clear()
    this.link.deliver(server.welcome({ schema: hashOf(schemaText), text: '', session: 2 }))
    this.enter(5)
    this.control(player)
  }

  /** Loses the snapshots that the client has not received. */
  drop(): void {
    this.down.length = 0
  }

  async attached(n: number): Promise<void> {
    for (let i = 0; i < 1000 && !this.links[n - 1]?.arrived; i++) await turn()
    assert.equal(this.links.length, n)
  }

  /** Breaks the connection. Everything under way is lost. */
  async lose(): Promise<void> {
    this.link.break(new Error('gone'))
    this.client.update()
    mock.timers.tick(6000)
    await this.attached(this.links.length === 1 ? 2 : this.links.length)
    this.up.length = this.down.length = this.read = 0
  }

  resume(): void {
    this.link.deliver(server.welcome({ schema: hashOf(schemaText), text: '', resumed: true, structure: this.records }))
    this.client.update()
  }

  private row(w: BitWriter, masked: boolean): Uint8Array {
    if (masked) w.bits(1, 1)
    const { values } = body.quantise(this.truth, schema.values)
    for (const f of body.fields) f.write(w, values, f.index)
    return w.bytes()
  }

  /** Plays a tick of the server, which keeps using the newest stick. */
  private serve(): void {
    this.tick++
    const due = this.sticks.has(this.tick) ? this.tick : this.late
    this.late = 0
    if (due > this.applied) {
      this.held = this.sticks.get(due)!
      this.applied = due
    }
    steer(motion, this.truth, this.held)
    if (this.tick % interval === 0) this.down.push({ at: this.now + this.delay, d: this.snapshot() })
  }

  private snapshot(): Uint8Array {
    const fold = new Fold()
    fold.add(5, 1)
    const w = new ByteWriter()
    w.u8(64)
    w.u32(this.stamp)
    const hold = Math.min((this.now - this.heard) * 10, 65_535)
    w.u8(hold & 255)
    w.u8(hold >> 8)
    w.u32(++this.seq)
    w.u32(this.tick)
    w.u32(this.records)
    w.uvarint(this.applied === 0 ? 0 : this.tick - this.applied + 1)
    w.u8(0)
    w.u8(fold.value & 255)
    w.u8(fold.value >> 8)
    w.uvarint(1)
    const bits = new BitWriter()
    bits.bits(4, 4) // number of bits of the distance between rows
    bits.bits(0, 5) // in full
    bits.bits(5 << 1, 5) // slot 5
    bits.bits(0, 1)
    w.bytes(this.row(bits, false))
    return w.take()
  }

  private receive(d: Uint8Array): void {
    const r = new ByteReader(d, 1)
    this.stamp = r.u32()
    this.heard = this.now
    r.bytes(17)
    for (let n = r.uvarint('inputs', 16); n > 0; n--) {
      const tick = r.u32()
      if (r.uvarint('back') > 0) r.u8()
      const bits = r.bytes(r.uvarint('length', 64))
      if (tick <= this.applied) continue
      if (tick <= this.tick) this.late = Math.max(this.late, tick)
      this.sticks.set(tick, stick.restore(schema.input!.parse(reader, bits)) as Stick)
    }
  }

  /**
   * Plays ms milliseconds on an overloaded machine: the client does nothing between frames of 4
   * to 40 ms, one frame in 40 is up to 200 ms late, and one datagram in ten is lost.
   */
  crowded(ms: number, random: () => number): void {
    let next = this.now
    for (const end = this.now + ms; this.now < end; this.now++) {
      while (this.up.length > 0 && this.up[0]!.at <= this.now) this.receive(this.up.shift()!.d)
      if (this.now >= this.next) {
        this.next += 1000 / motion.tickHz
        this.serve()
      }
      if (this.now < next) continue
      next = this.now + 4 + Math.floor(36 * random()) + (random() < 1 / 40 ? 50 + Math.floor(150 * random()) : 0)
      for (; this.down.length > 0 && this.down[0]!.at <= this.now; this.down.shift())
        this.link.deliverDatagram(this.down[0]!.d, this.now)
      this.client.update()
      this.client.setInput(this.input(this.frames++))
      this.client.render()
      this.client.update()
      for (; this.read < this.link.datagrams.length; this.read++) {
        if (random() >= 0.1) this.up.push({ at: this.now + this.delay, d: this.link.datagrams[this.read]! })
      }
    }
  }

  /** Plays ms milliseconds. frame is called for each frame of the client, after its input. */
  run(ms: number, frame: () => void = () => {}, connected = true): void {
    for (const end = this.now + ms; this.now < end; this.now++) {
      while (this.up.length > 0 && this.up[0]!.at <= this.now) this.receive(this.up.shift()!.d)
      if (this.now >= this.next) {
        this.next += 1000 / motion.tickHz
        this.serve()
      }
      if (!connected) continue
      for (; this.down.length > 0 && this.down[0]!.at <= this.now; this.down.shift())
        this.link.deliverDatagram(this.down[0]!.d, this.now)
      this.client.update()
      if (this.now % 17 === 0) {
        this.client.setInput(this.input(this.frames++))
        this.client.render()
        frame()
      }
      for (; this.read < this.link.datagrams.length; this.read++)
        this.up.push({ at: this.now + this.delay, d: this.link.datagrams[this.read]! })
    }
  }
}

/** A stick that turns every 16 frames. */
export const zigzag = (frame: number): Stick => ({
  X: Math.round(127 * Math.sin(frame >> 4)),
  Z: Math.round(127 * Math.cos(3 * (frame >> 4))),
})
