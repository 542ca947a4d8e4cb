// The client's half of the protocol without socket and clock: PROTOCOL.md, sections 3, 4 and 11.

import { BitReader, ByteWriter } from './bits.ts'
import { Budget, cost } from './budget.ts'
import { Clock, maxDelay, Renderer } from './clock.ts'
import { Code, codeName, fail, WireError } from './codes.ts'
import type { Arrivals } from './connection.ts'
import { Layout, type Moment } from './entity.ts'
import { type Handle, indexOf, isProvisional, none, type Verdict, verdicts } from './handles.ts'
import { Inputs, stampAt } from './inputs.ts'
import * as limit from './limits.ts'
import * as messages from './messages.ts'
import { MsgpackReader, MsgpackWriter } from './msgpack.ts'
import type { Predictor } from './predictor.ts'
import { Events, guard, type Observer, type Outcome, Replica, ReplicaStats } from './replica.ts'
import { type CommandKind, type Message, type Payload, parseSchema, type Schema } from './schema.ts'
import { checkBodies, type Simulation } from './simulation.ts'
import type { Tables } from './tables.ts'
import { Shape, type Struct } from './values.ts'
import { checkWishes, Wishes } from './wishes.ts'

/** SessionConfig configures a Session. */
export interface SessionConfig {
  /** tables are those that the server codes rows with: see defaultTables. */
  readonly tables: Tables
  /** epoch is that of the handles which the caller still holds, 0n if it holds none. */
  readonly epoch?: bigint
  readonly token?: Uint8Array
  readonly name?: string
  readonly room?: string
  /**
   * maxEntities and maxBytes bound what the server can make the client keep: whole numbers of at
   * least 1, and of at least 2^20. By default they are 65,536 and 2^28.
   */
  readonly maxEntities?: number
  readonly maxBytes?: number
  /** simulation computes the bodies that only effects, gravity and the ground move, which then cost no rows. */
  readonly simulation?: Simulation
  readonly observer?: Observer
  readonly events?: Events
  /** result receives every Result, also of commands that were never sent. */
  readonly result?: (r: Result) => void
}

/** Result is the server's answer to a command. */
export interface Result {
  readonly id: number
  readonly target: bigint
  /** code is 0 if the command was executed, else it changed nothing; undefined: the connection broke, nobody knows. */
  readonly code: number | undefined
  /** codeName is the code's name, or unanswered. */
  readonly codeName: string
  readonly verdict: Verdict
  /** text may explain a refusal to the player. */
  readonly text: string
  /** answer is what the schema declares, if the command was executed. */
  readonly answer: Struct | undefined
  /** payload is answer, quantised. */
  readonly payload: Payload | undefined
}

interface Future {
  readonly id: number
  readonly name: string
  readonly target: bigint
  readonly provisional: number
  readonly wishes: number
  readonly resolve: (r: Result) => void
}

/** Sent is a command that was sent. */
export interface SentCommand {
  readonly id: number
  /** result resolves once, also if the connection breaks. */
  readonly result: Promise<Result>
}

const maxExtrapolate = 0.25 // seconds
const defaultMaxEntities = 65_536
const defaultMaxBytes = 256 * 2 ** 20
/** minMaxBytes is enough for a replica of few entities. */
const minMaxBytes = 2 ** 20
/** resyncEvery bounds how often computed bodies cause a Resync, in ms. */
const resyncEvery = 1000
/**
 * A session becomes ordinary after maxResyncs of them, each at most resyncsWithin ms after the one
 * before. Fewer mend what was wrong once.
 */
const maxResyncs = 10
const resyncsWithin = 30_000
const noBytes = new Uint8Array(0)

/** NotJoinedError says that there is no session at present. */
export class NotJoinedError extends Error {
  constructor() {
    super('not joined: wait for the session')
    this.name = 'NotJoinedError'
  }
}

/**
 * DivergedError is why a client replaces its session by one without SessionConfig.simulation, in
 * which the server sends rows of all bodies: ten Resyncs in a row did not mend computed bodies,
 * which is a bug on either side, or computing them took too long.
 */
export class DivergedError extends Error {
  constructor() {
    super("computed bodies kept differing from the server's, or took too long: the next session receives them as rows")
    this.name = 'DivergedError'
  }
}

/** resumedAlike and movedAlike are what a Welcome has from the one before, if the session resumes or moves. */
const resumedAlike = [
  'session',
  'epoch',
  'generationFloor',
  'generationCeiling',
  'maxSlots',
  'schema',
  'simulate',
] as const
const movedAlike = ['protocol', 'tables', 'session'] as const

function same(a: messages.Welcome, b: messages.Welcome, keys: readonly (keyof messages.Welcome)[]): boolean {
  return keys.every((k) => a[k] === b[k])
}

/** World is what a Welcome says of a world. */
type World = Pick<
  messages.Welcome,
  'generationFloor' | 'generationCeiling' | 'maxSlots' | 'tickHz' | 'snapshotHz' | 'simulate'
>

const noWorld: World = {
  generationFloor: 0,
  generationCeiling: 0,
  maxSlots: 0,
  tickHz: 1,
  snapshotHz: 0,
  simulate: false,
}

/** Session takes bytes and times, and gives bytes. Times are in ms since any fixed origin. */
export class Session {
  /** welcome is the newest Welcome, undefined before the first. */
  welcome: messages.Welcome | undefined
  /** replica is undefined before the first Welcome; a new session has a new one. */
  replica: Replica | undefined
  /** controlled is the entity that this session's inputs steer, none if there is none. */
  controlled: Handle = none
  /** rtt is the newest round trip in ms. */
  rtt = 0
  /** @internal moved says that the newest Welcome moved the session to another room. */
  moved = false
  /** @internal onWelcome is called for each Welcome before anything that follows it. */
  onWelcome: (() => void) | undefined
  /** @internal goodbye says that the server sent Goodbye. */
  goodbye = false
  /** @internal freshToken says that the next Hello may begin a session though its token is used. */
  freshToken = false
  /** @internal prediction is that of predict. */
  prediction: Predictor | undefined
  /** @internal rendered is when the newest render was, and the tick with fractions for which an input was made then; 0: unknown. */
  rendered = { at: 0, inputTick: 0 }
  /** @internal inputShape is that of the input that the schema declares. */
  inputShape: Shape | undefined
  readonly events: Events

  private readonly config: SessionConfig
  private layout: Layout | undefined // of the newest Welcome
  private named = 0n // schema in this connection's Hello; 0 asks for the text
  private resumes = false // this connection's Hello asks to resume
  private able = false // this connection's Hello says that the client simulates
  private room: string // of the next Hello
  private outdated = false // the server refused the schema of layout
  private epoch: bigint
  private token: Uint8Array
  private joinedNow = false
  private error: unknown
  private frames = new messages.FrameReader()
  private out = new ByteWriter()
  private command = 0 // id of the newest
  private commands = 0 // number in the session of the newest that is not known to be lost
  private unanswered: Future[] = []
  private readonly wishes = new Wishes()
  private readonly stats = new ReplicaStats()
  private readonly budget = new Budget() // of the work that the server causes
  private busy = false // receive is under way, and compares the prediction once
  private clock = new Clock(1)
  private renderer = new Renderer()
  private inputs = new Inputs(this.clock, this.renderer, 0)
  private faultsKnown = 0
  private resyncAt = -Infinity // before which no Resync for computed bodies is sent
  private resyncs = 0 // for computed bodies, in a row
  private ordinary = false // there were too many: Hello says that the client does not simulate
  private readonly bits = new BitReader()

  constructor(config: SessionConfig) {
    this.config = config
    this.epoch = config.epoch ?? 0n
    this.token = config.token ?? noBytes
    this.room = config.room ?? ''
    this.events = config.events ?? new Events()
    checkLimit('maxEntities', config.maxEntities, 1, defaultMaxEntities)
    checkLimit('maxBytes', config.maxBytes, minMaxBytes, defaultMaxBytes)
    checkText('name', config.name, limit.maxName)
    checkText('room', config.room, limit.maxRoom)
    if ((config.token?.length ?? 0) > limit.maxToken)
      throw new RangeError(`token has ${config.token!.length} bytes, at most ${limit.maxToken}`)
    this.send(messages.Type.hello, this.hello())
  }

  private send(type: number, body: Uint8Array): void {
    messages.appendFrame(this.out, type, body)
  }

  /** takeStream returns the bytes to write to the stream. */
  takeStream(): Uint8Array {
    const out = this.out.take()
    this.out.reset()
    return out
  }

  /** joined reports whether this connection has had its Welcome. */
  get joined(): boolean {
    return this.joinedNow && this.error === undefined
  }

  /** schema is the server's, undefined before the first Welcome. */
  get schema(): Schema | undefined {
    return this.layout?.schema
  }

  private hello(): Uint8Array {
    const { config, welcome } = this
    this.named = this.layout && !this.outdated ? this.layout.schema.hash : 0n
    const resumes = welcome !== undefined && welcome.secret.length > 0 && !this.divergent
    this.resumes = resumes
    this.able = this.simulates
    return messages.encodeHello({
      schema: this.named,
      tables: config.tables.version,
      epoch: welcome ? 0n : this.epoch,
      session: resumes ? welcome!.session : 0n,
      secret: resumes ? welcome!.secret : noBytes,
      structure: resumes ? this.replica!.structure : 0,
      token: this.token,
      name: config.name ?? '',
      room: this.room,
      abilities: this.able ? 1 : 0,
    })
  }

  /** receiveStream applies bytes of the stream, in pieces of any size. What it throws ends the session. */
  receiveStream(p: Uint8Array): void {
    if (this.error !== undefined) throw this.error
    try {
      this.frames.feed(p)
      for (let body = this.frames.next(); body !== undefined; body = this.frames.next()) {
        this.message(this.frames.type, body)
        this.budget.check()
      }
    } catch (e) {
      this.error = e
      throw e
    }
    this.checkFaults()
    this.reconcilePrediction()
  }

  private reconcilePrediction(): void {
    if (!this.busy) this.prediction?.reconcile()
  }

  /**
   * @internal receive applies at now what arrived until then, and returns how many datagrams are to
   * be answered. What ends the session is thrown after the server's last datagrams were applied. The
   * prediction is compared once, with the newest state: a server that sends many causes no more steps.
   */
  receive(arrivals: Arrivals, now: number): number {
    let fresh = 0
    let ended: unknown
    this.budget.pay(now)
    this.busy = true
    try {
      for (const b of arrivals.stream) this.receiveStream(b)
    } catch (e) {
      ended = e
    }
    try {
      if (ended === undefined || this.goodbye) {
        for (const d of arrivals.datagrams) if (this.receiveDatagram(d.bytes, d.at) !== 'duplicate') fresh++
      }
    } catch (e) {
      ended ??= e
    }
    this.busy = false
    this.reconcilePrediction()
    if (ended !== undefined) throw ended
    return fresh
  }

  private message(type: number, body: Uint8Array): void {
    const { Type } = messages
    if (!this.joinedNow && type !== Type.welcome && type !== Type.refused)
      fail(`a message of type ${type} before Welcome`)
    switch (type) {
      case Type.pad:
        if (body.length > 0) fail('a Pad that is not empty')
        break
      case Type.welcome:
        this.receiveWelcome(body)
        break
      case Type.refused:
      case Type.goodbye: {
        const end = messages.parseEnd(type, body)
        if (end.code === Code.schemaMismatch && this.named !== 0n) this.outdated = true
        this.goodbye = type === Type.goodbye
        throw end
      }
      case Type.structure:
        this.replica!.applyStructure(body)
        break
      case Type.result:
        this.receiveResult(body)
        break
      case Type.control:
        this.controlled = messages.parseControl(body) as Handle
        break
      default:
        fail(`a message of type ${type}`)
    }
  }

  private receiveWelcome(body: Uint8Array): void {
    const m = messages.parseWelcome(body)
    const { tables } = this.config
    if (this.joinedNow) this.checkMove(m)
    if (m.protocol !== limit.version)
      throw new WireError(Code.protocolVersion, `the server speaks version ${m.protocol}, the client ${limit.version}`)
    if (m.tables !== tables.version)
      throw new WireError(
        Code.tablesMismatch,
        `the server has tables ${m.tables.toString(16)}, the client ${tables.version.toString(16)}`,
      )
    if (!this.welcome && this.epoch !== 0n && m.epoch !== this.epoch) throw new WireError(Code.epochMismatch)
    if (m.maxSlots > limit.maxSlots) fail(`a world of ${m.maxSlots} slots`)
    if (m.simulate && !this.able) fail('simulate, which the client did not ask for')
    this.join(m, this.layoutOf(m))
  }

  /** checkMove checks a Welcome after the first of a connection: section 4.2. */
  private checkMove(m: messages.Welcome): void {
    const was = this.welcome!
    this.budget.spend(cost.room + cost.schema * m.schemaText.length)
    if (!same(was, m, movedAlike) || m.epoch === was.epoch || m.resumed || m.commands !== 0)
      fail('a Welcome that is no move to another room')
  }

  /** layoutOf returns the layout of the schema that a Welcome names, and brings if the client lacks it. */
  private layoutOf(m: messages.Welcome): Layout {
    const known = this.joinedNow ? this.layout!.schema.hash : this.named
    if (m.schema === known || (!this.joinedNow && known !== 0n)) {
      if (m.schemaText !== '') fail('a schema text, which the client has')
      if (m.schema !== known) fail('another schema than in Hello')
      return this.layout!
    }
    const schema = parseSchema(m.schemaText)
    if (schema.hash !== m.schema) fail('a schema text with another hash')
    return this.layout?.schema.hash === schema.hash ? this.layout : new Layout(schema)
  }

  /** join handles a checked Welcome: the session resumes or moves, or a new one begins (section 4). */
  private join(m: messages.Welcome, layout: Layout): void {
    const was = this.welcome
    if (m.resumed && !(was && was.secret.length > 0 && same(was, m, resumedAlike)))
      fail('a session resumes, which was not requested')
    const moves = this.joinedNow
    const own = this.replica?.structure ?? 0
    // The session may also have moved while the connection was broken, and even have come back.
    this.moved = moves || (!m.resumed && this.resumes && m.session === was!.session && m.structure > own)
    const want = moves ? own + 1 : this.moved ? m.structure : m.resumed ? own : 0
    if (m.structure !== want) fail(`a Welcome of structure record ${m.structure}, want ${want}`)
    const before = this.replica
    this.joinedNow = false // what callbacks send would be of the old room
    if (was && was.epoch !== m.epoch) this.forget()
    this.layout = layout
    this.outdated = false
    this.commands = m.commands
    if (m.resumed) {
      this.wishes.resumed(m.commands, m.tick)
      this.inputs.reconnected()
      this.renderer.resumed = true
    } else {
      this.wishes.renew()
      before?.deliverRendered(Infinity)
      before?.leaveAll()
      if (m.simulate) checkBodies(layout.schema, m.tickHz)
      this.renew(layout, m)
      if (before && was?.epoch === m.epoch) this.replica!.inheritStale(before)
      if (this.moved) this.replica!.follow(m.structure, moves ? before : undefined)
    }
    this.welcome = { ...m, schemaText: '' } // the layout has it
    this.room = m.room
    if (moves) {
      this.abandon()
      this.send(messages.Type.arrived, noBytes)
    }
    this.joinedNow = true
    if (this.onWelcome) guard(this.onWelcome)
    if (moves) this.replica!.release()
  }

  /** forget drops everything known of a world that is gone: every handle is Stale. */
  private forget(): void {
    this.replica?.deliverRendered(Infinity)
    this.replica?.destroyAll()
    this.wishes.forget()
    this.layout ??= new Layout(parseSchema('worldd schema 2\ninput raw\n'))
    this.renew(this.layout, noWorld)
    this.welcome = undefined
    this.epoch = 0n
  }

  /** renew makes an empty replica, which keeps the counters, and an unset clock. */
  private renew(layout: Layout, m: World): void {
    const { config } = this
    const limits = { entities: config.maxEntities ?? defaultMaxEntities, bytes: config.maxBytes ?? defaultMaxBytes }
    this.replica = new Replica(
      layout,
      config.tables,
      m.generationFloor,
      m.generationCeiling,
      m.maxSlots,
      limits,
      config.observer ?? {},
      this.events,
      this.wishes,
      this.stats,
      this.budget,
      m.simulate ? config.simulation : undefined,
    )
    if (m.snapshotHz > 0) this.replica.interval = Math.floor(m.tickHz / m.snapshotHz)
    this.controlled = none
    this.clock = new Clock(m.tickHz)
    this.renderer = new Renderer()
    this.inputs = new Inputs(this.clock, this.renderer, m.snapshotHz)
    const { input } = layout.schema
    this.inputShape = input && new Shape(input.fields, input.texts)
    this.prediction?.restart(m.tickHz)
  }

  /** asksAgain reports whether why says that the schema or the room is not what it was: the next Hello asks for the schema, or for the room of the config. */
  asksAgain(why: WireError): boolean {
    const { room = '' } = this.config
    const roomGone = (why.code === Code.noRoom || why.code === Code.roomClosed) && this.room !== room
    if (roomGone) this.room = room
    return roomGone || (why.code === Code.schemaMismatch && this.outdated)
  }

  /** lost tells the session that its connection ended, and why. The replica stays, and resolve answers. */
  lost(why: unknown): void {
    if (this.joinedNow) this.prediction?.pause() // an attempt that fails has sent no inputs
    this.joinedNow = false
    this.abandon()
    if (why instanceof WireError && why.code === Code.epochMismatch) this.forget()
  }

  /** abandon ends the commands that will not be answered. */
  private abandon(): void {
    for (const f of this.unanswered.splice(0)) {
      this.finish(f, {
        id: f.id,
        target: f.target,
        code: undefined,
        codeName: 'unanswered',
        verdict: 'pending',
        text: '',
        answer: undefined,
        payload: undefined,
      })
    }
  }

  /** forgetServer makes the next Hello begin a new session and ask for the schema: another server knows neither. */
  forgetServer(): void {
    this.outdated = true
    this.room = this.config.room ?? ''
    if (this.welcome) this.welcome = { ...this.welcome, secret: noBytes }
  }

  /** setToken sets the token of the next Hello. */
  setToken(token: Uint8Array): void {
    this.token = token
  }

  /** reconnect starts over on another connection, after lost: takeStream returns a new Hello. */
  reconnect(): void {
    this.frames = new messages.FrameReader()
    this.out.reset()
    this.error = undefined
    this.goodbye = false
    this.send(messages.Type.hello, this.hello())
  }

  /** bye queues a Bye: the client leaves, and why. */
  bye(code: number): void {
    this.send(messages.Type.bye, messages.encodeBye(code))
  }

  /** receiveDatagram applies a datagram that arrived at now; undefined: before Welcome. */
  receiveDatagram(d: Uint8Array, now: number): Outcome | undefined {
    if (!this.joinedNow) return undefined
    if (!this.busy) this.budget.pay(now)
    const r = this.replica!
    const copies = r.stats.duplicates
    const outcome = r.applyState(d)
    if (r.stats.duplicates !== copies) return outcome // a copy says nothing about the link, and is not answered
    if (!(outcome === 'held' && this.clock.distant(r.stateHeader.tick))) this.measure(now)
    if (r.tick > this.clock.hz) r.deliverRendered(r.tick - this.clock.hz)
    this.checkFaults()
    this.checkBodies(now)
    this.reconcilePrediction()
    this.budget.check()
    return outcome
  }

  /** measure learns from the header of the newest datagram. */
  private measure(now: number): void {
    const h = this.replica!.stateHeader
    const c = this.clock
    if (h.echo !== 0 && h.hold !== 65_535) {
      const hold = h.hold / 10
      this.rtt = Math.max(((stampAt(now) - h.echo) | 0) / 10 - hold, 0)
      c.trips.add(now, this.rtt)
      const sent = c.timeOf(h.tick)
      this.inputs.echoed(now, h.echo, sent - hold, sent)
    }
    let before = c.tick
    if (h.seq === c.next) {
      // others would have been empty too, and were not sent
      before = Math.max(before, h.tick - this.intervalTicks)
    }
    c.snapshot(now, h.tick, before)
    if (h.tick <= before) return
    this.renderer.snapshot(now, c, before)
    c.next = h.rows + h.events.length === 0 ? h.seq + 1 : 0
  }

  /** intervalTicks is how many ticks the Welcome says are between two snapshots. */
  get intervalTicks(): number {
    const w = this.welcome!
    return Math.floor(w.tickHz / w.snapshotHz)
  }

  /** checkFaults requests everything again after a datagram whose fold was wrong. */
  private checkFaults(): void {
    const { faults } = this.stats
    if (faults > this.faultsKnown) this.send(messages.Type.resync, noBytes)
    this.faultsKnown = faults
  }

  /** checkBodies requests everything again if computed bodies differ from the server's, or were not computed in time. */
  private checkBodies(now: number): void {
    const { bodies } = this.replica!
    if (!bodies || now < this.resyncAt || !bodies.needsResync()) return
    if (now - this.resyncAt > resyncsWithin - resyncEvery) this.resyncs = 0
    this.resyncs++
    if (this.resyncs === maxResyncs && (this.token.length === 0 || this.freshToken)) this.ordinary = true
    this.resyncAt = now + resyncEvery
    this.send(messages.Type.resync, noBytes)
  }

  /** simulates reports whether the next session computes bodies if the server allows it. */
  private get simulates(): boolean {
    return this.config.simulation !== undefined && !this.ordinary
  }

  /** @internal divergent reports whether the session computes bodies, but should not any more. */
  get divergent(): boolean {
    return this.ordinary && this.welcome?.simulate === true
  }

  /** resolve returns the verdict on any handle; pending before the first Welcome. */
  resolve(h: bigint): Verdict {
    return this.replica?.resolve(h) ?? 'pending'
  }

  /** render returns the moment to show at now. From the first call on, the replica keeps states for it. */
  render(now: number): Moment {
    const r = this.replica
    const { clock, renderer, inputs } = this
    if (!r) return { tick: 0, newest: 0, maxExtrapolate: 0 }
    r.span = Math.ceil(clock.ticks(maxDelay))
    this.rendered = { at: now, inputTick: inputs.inputTick(now) }
    if (renderer.delay.count === 0) return { tick: 0, newest: 0, maxExtrapolate: 0 }
    renderer.advance(now, clock)
    const tick = inputs.shownTick
    r.shown = Math.floor(tick)
    r.deliverRendered(r.shown)
    return { tick, newest: r.tick, maxExtrapolate: maxExtrapolate * clock.hz }
  }

  /** link describes the connection: times in ms. */
  get link(): { readonly rtt: number; readonly jitter: number; readonly delay: number; readonly lead: number } {
    return {
      rtt: this.clock.trips.least,
      jitter: this.clock.jitter,
      delay: this.renderer.delay.value,
      lead: this.inputs.lead.value,
    }
  }

  /** serverTick returns the server's tick at now with fractions, 0 before the first snapshot. */
  serverTick(now: number): number {
    return this.clock.serverTick(now)
  }

  // Inputs: section 10.

  /** setInput sets what the player holds down from now on, and returns the tick that it is for. */
  setInput(input: Struct | Uint8Array, now: number): number {
    const m = this.schema?.input
    if (m ? input instanceof Uint8Array : !(input instanceof Uint8Array))
      throw new TypeError(m ? 'the schema declares the input: want an object' : 'inputs are raw: want bytes')
    if (!m) {
      if (input.length > limit.maxInputBytes)
        throw new RangeError(`an input of ${input.length} bytes, at most ${limit.maxInputBytes}`)
      return this.inputs.push((input as Uint8Array).slice(), now, this.replica?.input ?? 0)
    }
    return this.setPayload(this.inputShape!.quantise(input, m.values), now)
  }

  /** @internal setPayload is setInput of a quantised input, which it may change. */
  setPayload(p: Payload, now: number): number {
    const m = this.schema!.input!
    const wishes = this.wishes.forward(m, p, true)
    const tick = this.inputs.push(m.append(p), now, this.replica?.input ?? 0)
    this.wishes.pushed(wishes, tick)
    this.prediction?.recordInput(tick, this.inputShape!.restore(p))
    return tick
  }

  /** input returns the Input datagram to send at now, undefined before Welcome. */
  input(now: number): Uint8Array | undefined {
    const r = this.replica
    return this.joined && r ? this.inputs.datagram(now, r.acks, r.structure, r.input) : undefined
  }

  /** inputDue reports whether to send an input at now, if that many datagrams arrived since the last. */
  inputDue(datagrams: number, now: number, streaming: boolean): boolean {
    const r = this.replica
    return this.joined && r !== undefined && this.inputs.due(datagrams, now, r.acks, r.waiting, streaming)
  }

  // Commands: section 11.5.

  /** provisional returns a new name for an entity that a command or an input is about to ask for. */
  provisional(): Handle {
    if (!this.welcome) throw new NotJoinedError()
    return this.wishes.take()
  }

  /** real returns the handle that a provisional one stands for, none without one; any other as it is. */
  real(h: Handle): Handle {
    return isProvisional(h) ? this.wishes.entity(indexOf(h)) : h
  }

  /** do asks the server to execute a command once. Arguments are as the schema declares them. */
  do(name: string, args: Struct = {}, target: Handle = none): SentCommand {
    const kind = this.commandKind(name)
    if (!kind?.args) throw new TypeError(`the schema declares no command ${name} with arguments`)
    return this.doPayload(kind, new Shape(kind.args.fields, kind.args.texts).quantise(args, kind.args.values), target)
  }

  /** @internal doPayload is do with quantised arguments, which it may change. */
  doPayload(kind: CommandKind, p: Payload, target: Handle): SentCommand {
    const wishes = this.wishes.forward(kind.args!, p, false)
    return this.sendCommand(kind.name, target, kind.args!.append(p), wishes)
  }

  /**
   * doRaw asks for a raw command: args is any value that msgpack has, or undefined for none,
   * and wishes are the provisional handles that it asks for.
   */
  doRaw(name: string, args?: unknown, target: Handle = none, wishes: readonly Handle[] = []): SentCommand {
    if (this.commandKind(name)?.args) throw new TypeError(`the schema declares the arguments of ${name}: use do`)
    checkText('command', name, limit.maxName)
    let body: Uint8Array = noBytes
    if (args !== undefined) {
      const w = new MsgpackWriter()
      w.value(args)
      body = w.take()
      new MsgpackReader(body).value()
    }
    return this.sendCommand(name, target, body, this.wishes.ofCommand(wishes))
  }

  private commandKind(name: string): CommandKind | undefined {
    return this.schema?.commands.find((c) => c.name === name)
  }

  private sendCommand(name: string, target: Handle, args: Uint8Array, wishes: number[]): SentCommand {
    if (!this.joined) throw new NotJoinedError()
    if (name === '' || args.length > limit.maxArgs)
      throw new RangeError(`command ${name} with ${args.length} bytes of arguments, at most ${limit.maxArgs}`)
    if (this.unanswered.length === limit.maxUnanswered)
      throw new RangeError(`${limit.maxUnanswered} commands are unanswered`)
    checkWishes(wishes)
    const real = this.real(target)
    if (real !== target && real === none)
      throw new RangeError('the target is provisional: command the entity after the answer')
    const id = (this.command + 1) >>> 0
    this.command = id
    this.commands++
    const provisional = wishes[0] ?? 0
    this.wishes.sent(provisional, wishes.length, this.commands)
    this.send(
      messages.Type.command,
      messages.encodeCommand({
        id,
        name,
        target: real,
        args,
        provisional,
        wishes: wishes.length,
        view: this.inputs.commandView,
      }),
    )
    const result = new Promise<Result>((resolve) =>
      this.unanswered.push({ id, name, target: real, provisional, wishes: wishes.length, resolve }),
    )
    return { id, result }
  }

  private receiveResult(body: Uint8Array): void {
    const m = messages.parseResult(body)
    let verdict = verdicts[m.verdict]
    let { code } = m
    if (verdict === 'pending' && this.resolve(m.target) === 'stale') {
      verdict = 'stale'
      if (code === Code.unknownHandle) code = Code.staleHandle
    }
    const i = this.unanswered.findIndex((f) => f.id === m.id)
    const f = this.unanswered[i] as Future | undefined
    const form = f && this.commandKind(f.name)?.answer
    const payload = f && code === Code.ok ? this.readAnswer(form, m.answer) : undefined
    if (f) {
      this.unanswered.splice(i, 1)
      this.wishes.result(f.provisional, f.wishes)
    }
    const answer = form && payload ? new Shape(form.fields, form.texts).restore(payload) : undefined
    this.finish(f, {
      id: m.id,
      target: m.target,
      code,
      codeName: codeName(code),
      verdict,
      text: m.text,
      answer,
      payload,
    })
  }

  private readAnswer(form: Message | undefined, b: Uint8Array): Payload | undefined {
    if (form) return form.parse(this.bits, b)
    if (b.length > 0) fail('an answer to a command that has none')
    return undefined
  }

  private finish(f: Future | undefined, r: Result): void {
    f?.resolve(r)
    if (this.config.result) guard(() => this.config.result!(r))
  }
}

function checkLimit(what: string, n: number | undefined, least: number, otherwise: number): void {
  if (n !== undefined && !(Number.isSafeInteger(n) && n >= least)) {
    throw new RangeError(
      `${what} is ${n}: in the client's config, give a whole number of at least ${least}, or undefined for ${otherwise}`,
    )
  }
}

function checkText(what: string, s: string | undefined, max: number): void {
  const n = new TextEncoder().encode(s ?? '').length
  if (n > max) throw new RangeError(`${what} has ${n} bytes, at most ${max}`)
}
