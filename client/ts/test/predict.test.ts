import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { type Avatar, type Motion, type Stick, steer } from '../page/steering.ts'
import { BitReader, BitWriter, ByteReader, ByteWriter } from '../src/bits.ts'
import { Client } from '../src/client.ts'
import { newHandle } from '../src/handles.ts'
import { inputLead } from '../src/limits.ts'
import { Type } from '../src/messages.ts'
import { MsgpackWriter } from '../src/msgpack.ts'
import { predict } from '../src/predict.ts'
import type { PredictConfig, Prediction } from '../src/predict_config.ts'
import { windowOf } from '../src/predict_window.ts'
import { hashOf, parseSchema } from '../src/schema_parser.ts'
import { Fold } from '../src/state.ts'
import { defaultTables } from '../src/tables.ts'
import { Shape } from '../src/values.ts'
import * as server from './server.ts'
import { readFile } from './vectors.ts'

await defaultTables() // load them first: afterwards clients wait for no I/O

mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const vector = (name: string, low: string, step: string, largest: number): string =>
  [0, 1, 2].map((i) => `${name}[${i}] range ${low} ${step} ${largest} linear\n`).join('')
const schemaText = `worldd schema 2
component body
${vector('Position', 'c090000000000000', '3f70000000000000', 524288)}${vector('Velocity', 'c060000000000000', '3fa0000000000000', 8192)}kind avatar
input
X int 8
Z int 8
`
const schema = parseSchema(schemaText)
const body = new Shape(schema.components[0]!.fields, [])
const stick = new Shape(schema.input!.fields, [])
const motion: Motion = { tickHz: 60, speed: 6, halfX: 100, halfZ: 100 }
const player = newHandle(5, 1)
const interval = 3 // ticks between snapshots
const reader = new BitReader()

type State = { body: Avatar }

/** A server with one avatar and a client that predicts it, over links with a delay in ms. */
class Track {
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

  async join(config: PredictConfig = {}): Promise<this> {
    const connecting = Client.connect({
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
      ['body'],
      (tick, s, in_) => {
        this.stepped.push(tick)
        this.inside(tick)
        steer(motion, s.body, in_)
      },
      config,
    )
    const control = new MsgpackWriter()
    control.array(1)
    control.u64(player)
    const enter = new ByteWriter()
    enter.u8(1 | (1 << 3)) // owned
    enter.uvarint(5)
    enter.uvarint(1)
    enter.uvarint(0)
    const row = this.row(new BitWriter(), true)
    enter.uvarint(row.length)
    enter.bytes(row)
    this.link.deliver(server.structure(++this.records, enter.take()), server.frame(Type.control, control.take()))
    this.client.update()
    return this
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

const zigzag = (frame: number): Stick => ({
  X: Math.round(127 * Math.sin(frame >> 4)),
  Z: Math.round(127 * Math.cos(3 * (frame >> 4))),
})

/** Counts the corrections that no late input explains. */
const surprises = (k: Track): number => k.play.stats.corrected - k.play.stats.missed

const { now } = performance
test.afterEach(() => {
  performance.now = now
})

test('steer has the bits of the server', () => {
  const text = new TextDecoder().decode(readFile('internal/scenes/steering/testdata/steps.txt'))
  const bits = new Uint32Array(1)
  const single = new Float32Array(bits.buffer)
  const hex = (v: number): string => {
    single[0] = v
    return bits[0]!.toString(16).padStart(8, '0')
  }
  const a: Avatar = { Position: [0, 0, 0], Velocity: [0, 0, 0] }
  const lines = text.trimEnd().split('\n')
  for (const line of lines) {
    const [x, z, ...want] = line.split(' ')
    steer({ tickHz: 60, speed: 6, halfX: 3, halfZ: 2 }, a, { X: Number(x), Z: Number(z) })
    assert.deepEqual(
      [a.Position[0], a.Position[2], a.Velocity[0], a.Velocity[2]].map((v) => hex(v!)),
      want,
      line,
    )
  }
  assert.ok(lines.length >= 500)
})

test('without surprises nothing is corrected, and an input moves the avatar in its frame', async () => {
  const k = await new Track(60).join()
  k.run(3000)
  assert.ok(k.play.state)
  k.input = zigzag
  const ahead: number[] = []
  k.run(10_000, () => {
    const { predicted, confirmed } = k.play.stats
    ahead.push(predicted - confirmed)
    assert.equal(k.stepped.at(-1), predicted)
  })
  const { corrected, agreed, stalled, replayed } = k.play.stats
  assert.equal(corrected, 0)
  assert.equal(stalled, 0)
  assert.ok(agreed > 180, `${agreed}`)
  assert.ok(replayed < 60, `${replayed} ticks predicted again`)
  assert.ok(Math.min(...ahead) >= 7, 'a round trip ahead')
  k.input = () => ({ X: 0, Z: 0 })
  k.run(1000)
  assert.deepEqual(k.play.state!.body.Position, k.truth.Position, 'the same bits')
  k.client.close()
})

test('on a busy machine each correction is explained by inputs that came late', async () => {
  let seed = 1
  const random = (): number => (seed = (seed * 48_271) % 0x7fffffff) / 0x7fffffff
  let late = 0
  for (const delay of [0, 10, 60]) {
    const k = await new Track(delay).join()
    k.run(3000)
    k.input = () => ({ X: Math.floor(255 * random()) - 127, Z: Math.floor(255 * random()) - 127 })
    k.crowded(20_000, random)
    const { corrected, missed, agreed } = k.play.stats
    assert.equal(corrected - missed, 0, `of ${corrected}`)
    assert.ok(agreed > 200, `${agreed}`)
    late += missed
    k.client.close()
  }
  assert.ok(late > 10, `${late}`)
})

test('rings and leads last as long at every tick rate', () => {
  assert.deepEqual([1, 60, 240, 1000, 65_535].map(windowOf), [4, 181, 721, 3001, 3001])
  assert.deepEqual([1, 60, 65, 240, 1000].map(inputLead), [32, 32, 33, 120, 500])
})

test('an update compares once, with the newest state', async () => {
  const k = await new Track(5).join()
  k.run(3000)
  const before = surprises(k)
  for (let push = 0; push < 10; push++) {
    k.run(100, () => {}, false) // the client draws nothing
    k.truth.Position[2] = Math.fround(k.truth.Position[2]! + 1)
  }
  k.run(6, () => {}, false)
  k.run(1)
  assert.ok(surprises(k) - before <= 1, `${surprises(k) - before}`)
  k.client.close()
})

test('a push is corrected within a round trip and an interval, and drawn smoothly', async () => {
  const k = await new Track(60).join()
  k.input = () => ({ X: 20, Z: 0 })
  k.run(3000)
  const before = surprises(k)
  for (let push = 0; push < 8; push++) {
    k.run(500 + 7 * push)
    k.truth.Position[2] = Math.fround(k.truth.Position[2]! + 1)
    const pushed = k.now
    let last = k.play.draw()!.body.Position[2]!
    let took = 0
    k.run(1000, () => {
      const drawn = k.play.draw()!.body.Position[2]!
      assert.ok(Math.abs(drawn - last) < 0.15, `a jump of ${drawn - last}`)
      last = drawn
      if (took === 0 && Math.abs(k.play.state!.body.Position[2]! - k.truth.Position[2]!) < 1 / 256)
        took = k.now - pushed
    })
    assert.ok(took > 0 && took <= 2 * 60 + 50 + 17, `${took} ms`) // 17: the next frame notices it
    assert.ok(Math.abs(last - k.truth.Position[2]) < 0.01, 'the error is gone')
    assert.equal(surprises(k) - before, push + 1)
  }
  k.truth.Position[0]! += 3
  let jumps = 0
  let last = k.play.draw()!.body.Position[0]!
  k.run(500, () => {
    const drawn = k.play.draw()!.body.Position[0]!
    if (drawn - last > 2.9) jumps++
    last = drawn
  })
  assert.equal(jumps, 1, 'beyond snap it is drawn at once')
  k.client.close()
})

test('an effect starts once, and is undone if its tick is predicted again without it', async () => {
  const undone: unknown[] = []
  const k = await new Track(60).join({ undo: (tick, key) => undone.push([tick, key]) })
  k.input = zigzag
  k.run(2000)
  const started: number[] = []
  let wanted = true
  k.inside = (tick) => {
    if (wanted && tick % 20 === 0 && k.play.once(tick, 7)) started.push(tick)
  }
  assert.equal(k.play.once(k.play.stats.predicted, 7), false, 'outside step')
  k.run(1000)
  const before = k.play.stats.replayed
  k.truth.Position[2]! += 1
  k.run(1000)
  assert.ok(k.play.stats.replayed > before, 'ticks were predicted again')
  assert.equal(new Set(started).size, started.length)
  assert.ok(started.length >= 5)
  assert.deepEqual(undone, [])
  for (let i = 0; i < 200 && started.at(-1)! <= k.play.stats.predicted - 4; i++) k.run(5)
  const last = started.at(-1)!
  wanted = false
  k.truth.Position[2]! += 1
  k.run(1000)
  assert.deepEqual(undone, [[last, 7]])
  k.client.close()
})

test('an outage pauses the prediction, which goes on when the session has resumed', async () => {
  const k = await new Track(60).join()
  k.input = zigzag
  k.run(3000)
  await k.lose()
  const { predicted } = k.play.stats
  k.run(1500, undefined, false)
  k.client.setInput({ X: 127, Z: 127 })
  assert.equal(k.play.stats.predicted, predicted, 'it stands still')
  k.resume()
  k.run(2000)
  assert.ok(k.play.stats.confirmed > predicted + 100)
  k.input = () => ({ X: 0, Z: 0 })
  k.run(1000)
  const { corrected } = k.play.stats
  k.run(1000)
  assert.equal(k.play.stats.corrected, corrected, 'all is well again')
  for (const i of [0, 2]) assert.ok(Math.abs(k.play.state!.body.Position[i]! - k.truth.Position[i]!) <= 1 / 256)
  k.client.close()
})

test('a step that throws turns the prediction off, and the session goes on', async () => {
  const k = await new Track(60).join()
  k.run(1000)
  k.inside = () => {
    throw new Error('mine')
  }
  k.run(100)
  assert.equal(k.play.error?.name, 'StepError')
  assert.match(String(k.play.error?.cause), /mine/)
  assert.equal(k.play.state, undefined)
  assert.equal(k.play.draw(), undefined)
  assert.equal(k.client.state, 'joined')
  k.client.close()
})

test('what predict needs', async () => {
  const k = await new Track(60).join()
  assert.throws(() => predict(k.client, ['body'], () => {}), /already/)
  k.client.close()
  const other = await new Track(60).join()
  other.client.session.prediction = undefined
  assert.throws(() => predict(other.client, ['wings'], () => {}), /no component wings/)
  assert.throws(() => predict(other.client, [], () => {}), RangeError)
  other.client.close()
})
