// The client's half of the protocol without socket and clock: PROTOCOL.md, sections 3, 4 and 11.

import { Budget, cost } from './budget.ts'
import { Code, fail, WireError } from './codes.ts'
import { Commands, encodeArgs, type SentCommand } from './commands.ts'
import type { Arrivals } from './connection.ts'
import type { Layout, Moment } from './entity.ts'
import { Events } from './events.ts'
import { guard } from './guard.ts'
import { type Handle, none, type Verdict } from './handles.ts'
import { checkMove, checkResumed, Handshake, noBytes, noWorld, type Resumption, type World } from './handshake.ts'
import * as limit from './limits.ts'
import * as messages from './messages.ts'
import { ReplicaStats } from './observer.ts'
import type { Predictor } from './predictor.ts'
import { Provisionals } from './provisionals.ts'
import type { KeptSession } from './reload.ts'
import { type Outcome, Replica } from './replica.ts'
import { ResyncPolicy } from './resync.ts'
import type { CommandKind, Message, Schema } from './schema.ts'
import { checkConfig, checkText, limitsOf, type SessionConfig, type SessionHooks } from './session_config.ts'
import { NotJoinedError } from './session_errors.ts'
import { SessionStream } from './session_stream.ts'
import { checkBodies } from './simulation.ts'
import { type Rendered, Timing } from './timing.ts'
import type { Payload, Struct } from './values.ts'

/** A session over any connection: bytes and times go in, bytes come out. Times are in ms since any fixed origin. */
export class Session {
  readonly events: Events
  #welcome: messages.Welcome | undefined
  #replica: Replica | undefined
  #controlled: Handle = none
  #prediction: Predictor | undefined
  readonly #config: SessionConfig
  readonly #hooks: SessionHooks
  readonly #handshake: Handshake
  readonly #provisionals = new Provisionals()
  readonly #commands: Commands
  readonly #stats = new ReplicaStats()
  readonly #budget = new Budget() // of the work that the server causes the client
  readonly #resync = new ResyncPolicy()
  #timing = new Timing(1, 0, 0)
  readonly #stream = new SessionStream()

  constructor(config: SessionConfig)
  /** @internal The hooks are a client's alone. */ constructor(config: SessionConfig, hooks?: SessionHooks)
  constructor(config: SessionConfig, hooks: SessionHooks = {}) {
    checkConfig(config)
    this.#config = config
    this.#hooks = hooks
    this.#handshake = new Handshake(config, hooks.kept)
    this.#commands = new Commands(this.#provisionals, config.result)
    this.events = config.events ?? new Events()
  }

  /**
   * Queues the Hello of a connection that was not used yet. reconnect leaves it to the first use:
   * a callback may call it in the middle of a message, and Hello tells all of what was applied.
   */
  #useConnection(): void {
    if (this.#stream.state !== 'unused') return
    this.#stream.enter('connecting')
    this.#stream.send(messages.Type.hello, this.#handshake.hello(this.#resumption(), !this.#resync.gaveUp))
  }

  /** Returns the session that the next Hello asks to resume. */
  #resumption(): Resumption | undefined {
    return this.divergent ? undefined : this.#handshake.resumption(this.#welcome, this.#replica?.structure)
  }

  /** @internal Returns the session for the next page, which resumes it at its server's url. */
  keep(url: string): KeptSession | undefined {
    return this.#handshake.keep(url, this.#resumption())
  }

  /** Returns the bytes to write to the stream. */
  takeStream(): Uint8Array {
    this.#useConnection()
    return this.#stream.take()
  }

  /** The newest Welcome, undefined before the first. */
  get welcome(): messages.Welcome | undefined {
    return this.#welcome
  }

  /** The client's copy of its interest set, undefined before the first Welcome. A new session has a new one. */
  get replica(): Replica | undefined {
    return this.#replica
  }

  /** The entity that this session's inputs steer, or none. */
  get controlled(): Handle {
    return this.#controlled
  }

  /** @internal The newest render. */
  get rendered(): Rendered {
    return this.#timing.rendered
  }

  /** @internal Sets the session's only prediction. */
  attachPrediction(p: Predictor): void {
    if (this.#prediction) throw new TypeError('the session has a prediction already')
    this.#prediction = p
  }

  /** Whether this connection has received its Welcome. */
  get joined(): boolean {
    return this.#stream.isJoined && !this.#stream.hasFailed
  }

  /** The server's schema. Before the first Welcome it is SessionConfig.schema, or undefined. */
  get schema(): Schema | undefined {
    return this.#handshake.layout?.schema
  }

  /** @internal The schema that the game was built with, or else the server's. */
  get declared(): Schema | undefined {
    return this.#config.schema?.schema ?? this.schema
  }

  /** How the server's schema differs from SessionConfig.schema, one printable line each. */
  get schemaChanges(): readonly string[] {
    return this.#handshake.layout?.binding?.changes ?? []
  }

  /** The newest round trip in ms. */
  get rtt(): number {
    return this.#timing.rtt
  }

  /**
   * Applies bytes of the stream, in pieces of any size. An exception ends the session. Callbacks may
   * call lost and reconnect, after which the rest of p is dropped. They must not receive.
   */
  receiveStream(p: Uint8Array): void {
    this.#applyStream(p)
    this.#prediction?.reconcile()
  }

  #applyStream(p: Uint8Array): void {
    this.#useConnection()
    this.#stream.receive(p, (type, body) => {
      this.#receiveMessage(type, body)
      this.#budget.check()
    })
    if (this.#stream.isUsed) this.#resyncFaults()
  }

  /**
   * @internal Applies at now what arrived until then, and returns the number of datagrams to
   * answer. It throws an error that ends the session only after it has applied the server's
   * last datagrams. The prediction is compared once, with the newest state, so that a server
   * that sends many datagrams causes no more steps.
   */
  receive(arrivals: Arrivals, now: number): number {
    let fresh = 0
    let ended: unknown
    this.#budget.pay(now)
    try {
      for (const b of arrivals.stream) this.#applyStream(b)
    } catch (e) {
      ended = e
    }
    try {
      if (ended === undefined || this.#stream.state === 'dismissed') {
        for (const d of arrivals.datagrams) if (this.#applyDatagram(d.bytes, d.at) !== 'duplicate') fresh++
      }
    } catch (e) {
      ended ??= e
    }
    this.#prediction?.reconcile()
    if (ended !== undefined) throw ended
    return fresh
  }

  #receiveMessage(type: number, body: Uint8Array): void {
    const { Type } = messages
    if (!this.#stream.isJoined && type !== Type.welcome && type !== Type.refused)
      fail(`a message of type ${type} before Welcome`)
    switch (type) {
      case Type.pad:
        if (body.length > 0) fail('a Pad that is not empty')
        break
      case Type.welcome:
        this.#receiveWelcome(body)
        break
      case Type.refused:
      case Type.goodbye: {
        const end = messages.parseEnd(type, body)
        if (type === Type.goodbye) this.#stream.enter('dismissed')
        throw end
      }
      case Type.structure:
        this.replica?.applyStructure(body)
        break
      case Type.result:
        this.#commands.receiveResult(body, (h) => this.resolve(h))
        break
      case Type.control:
        this.#controlled = messages.parseControl(body)
        break
      default:
        fail(`a message of type ${type}`)
    }
  }

  // Joining: section 4.

  #receiveWelcome(body: Uint8Array): void {
    const m = messages.parseWelcome(body)
    if (this.#stream.isJoined) {
      const n = m.schemaText.length
      this.#budget.spend(cost.room + (n && cost.schema * (n + (this.#config.schema?.schema.text.length ?? 0))))
      checkMove(this.welcome, m)
    }
    this.#handshake.check(m, this.#stream.isJoined)
    this.#applyWelcome(m, this.#handshake.layoutOf(m, this.#stream.isJoined))
  }

  /** Applies a checked Welcome: the session resumes or moves, or a new one begins. */
  #applyWelcome(m: messages.Welcome, layout: Layout): void {
    const was = this.welcome
    if (m.resumed) checkResumed(was, m)
    const moves = this.#stream.isJoined
    const own = this.replica?.structure ?? 0
    const asked = this.#handshake.sessionOf(was)
    // The session may also have moved while the connection was broken, even there and back, or a crash has
    // cost the server what it knew of this client, or a reload the page.
    const moved = moves || (!m.resumed && this.#handshake.resumes && m.session === asked?.session && m.structure > own)
    const want = moves ? own + 1 : moved ? m.structure : m.resumed ? own : 0
    if (m.structure !== want) fail(`a Welcome of structure record ${m.structure}, want ${want}`)
    const before = this.replica
    const sameRun = asked?.epoch === m.epoch
    this.#stream.enter('welcomed') // the server would attribute what callbacks send to the old room
    if (was && !sameRun) this.#forgetWorld()
    const change = this.#handshake.adoptWelcome(layout, m)
    this.#commands.countFrom(m.commands)
    const welcome = { ...m, schemaText: '' } // the layout has it
    if (m.resumed) {
      this.#provisionals.sessionResumed(m.commands, m.tick)
      this.#timing.resume(m.snapshotHz)
      this.replica?.setInterval(this.#timing.interval)
      this.#welcome = welcome
    } else {
      this.#provisionals.rejectAll()
      const shown = this.replica
      shown?.leaveAll()
      if (this.replica !== shown) return // a callback has ended the world
      if (m.simulate) checkBodies(layout.schema, m.tickHz)
      const replica = this.#newReplica(layout, m)
      if (before && sameRun) replica.inheritStale(before)
      if (moved) replica.continueFrom(m.structure, moves ? before : undefined)
      this.#welcome = welcome
      this.#showReplica(replica, m)
    }
    this.#commands.abandon() // of the previous room; a lost connection has none
    // If a callback has closed the connection, the next one asks for the session that m has begun.
    if (this.#stream.state !== 'welcomed') return
    if (moves) this.#stream.send(messages.Type.arrived, noBytes)
    this.#stream.enter('joined')
    const kind = m.resumed ? 'resumes' : moved ? (sameRun || !was ? 'restored' : 'moves') : 'begins'
    guard(() => this.#hooks.welcomed?.(kind, change))
    if (moves) this.replica?.applyDue()
  }

  /** Makes every handle stale: the world of the session is gone. */
  #forgetWorld(): void {
    this.replica?.endWorld()
    this.#provisionals.forgetAll()
    this.#welcome = undefined
    this.#showReplica(this.#newReplica(this.#handshake.forgetWorld(), noWorld), noWorld)
  }

  /** Returns an empty replica, which keeps the counters. */
  #newReplica(layout: Layout, m: World): Replica {
    const { tables, observer = {}, simulation } = this.#config
    return new Replica({
      layout,
      tables,
      range: m,
      limits: limitsOf(this.#config),
      observer,
      events: this.events,
      provisionals: this.#provisionals,
      stats: this.#stats,
      budget: this.#budget,
      simulation: m.simulate ? simulation : undefined,
    })
  }

  /** Shows the game the replica of world m, with a new clock. */
  #showReplica(replica: Replica, m: World): void {
    this.#timing = new Timing(m.tickHz, m.snapshotHz, this.rtt)
    replica.setInterval(this.#timing.interval)
    this.#replica = replica
    this.#controlled = none
    this.#prediction?.restart(m.tickHz)
  }

  /** Reports whether to ask for the configured room: the refused Hello named another one, which may be gone. */
  asksAgain(why: WireError): boolean {
    return this.#handshake.asksAgain(why)
  }

  /** Notes that the connection ended, and why. The replica stays, and resolve still answers. */
  lost(why: unknown): void {
    if (this.#stream.isJoined) this.#prediction?.pause() // before Welcome the session has sent no inputs
    this.#stream.enter('lost')
    this.#commands.abandon()
    if (!(why instanceof WireError)) return
    this.#handshake.noteLost(why)
    if (why.code === Code.epochMismatch) this.#forgetWorld()
  }

  /** Makes the next Hello begin a new session, in the room of a redirection or of the config: another server may lack both. */
  forgetServer(to: WireError): void {
    this.#handshake.forgetServer(to)
    if (this.welcome) this.#welcome = { ...this.welcome, secret: noBytes }
  }

  /** Sets the token of the next Hello. */
  setToken(token: Uint8Array): void {
    this.#handshake.setToken(token)
  }

  /** Begins again on another connection, after lost: takeStream returns a new Hello. */
  reconnect(): void {
    this.#stream.restart()
  }

  /** Queues a Bye with the reason for leaving. */
  bye(code: number): void {
    this.#stream.send(messages.Type.bye, messages.encodeBye(code))
  }

  // Snapshots: section 11.3.

  /** Applies a datagram that arrived at now. It returns undefined before the Welcome. */
  receiveDatagram(d: Uint8Array, now: number): Outcome | undefined {
    this.#budget.pay(now)
    const outcome = this.#applyDatagram(d, now)
    this.#prediction?.reconcile()
    return outcome
  }

  #applyDatagram(d: Uint8Array, now: number): Outcome | undefined {
    const r = this.replica
    if (!r || !this.#stream.isJoined) return undefined
    const { clock } = this.#timing
    const copies = r.stats.duplicates
    const outcome = r.applyState(d)
    // A callback may have closed the connection. A copy is not answered, and says nothing about the link.
    if (!this.#stream.isJoined || r.stats.duplicates !== copies) return outcome
    if (!(outcome === 'held' && clock.isDistant(r.header.tick))) this.#timing.measure(now, r.header)
    this.#resyncFaults()
    this.#resyncBodies(r, now)
    if (r.tick > clock.hz) r.deliverRendered(r.tick - clock.hz)
    this.#budget.check()
    return outcome
  }

  /** Asks for all states again after a datagram with a wrong fold. */
  #resyncFaults(): void {
    if (this.#resync.isDueForFaults(this.#stats.faults)) this.#stream.send(messages.Type.resync, noBytes)
  }

  /** Asks for all states again if computed bodies differ from the server's, or computing took too long. */
  #resyncBodies(r: Replica, now: number): void {
    const mayGiveUp = !this.#handshake.hasToken || this.#hooks.freshToken === true
    if (r.bodies && this.#resync.isDueForBodies(r.bodies, now, mayGiveUp))
      this.#stream.send(messages.Type.resync, noBytes)
  }

  /** @internal Whether the session computes bodies but should stop. */
  get divergent(): boolean {
    return this.#resync.gaveUp && this.welcome?.simulate === true
  }

  /** Returns the verdict on any handle, pending before the first Welcome. */
  resolve(h: bigint): Verdict {
    return this.replica?.resolve(h) ?? 'pending'
  }

  /** Returns the moment to show at now. From the first call on, the replica keeps states for it. */
  render(now: number): Moment {
    const r = this.replica
    if (!r) return { tick: 0, newest: 0, maxExtrapolate: 0 }
    r.keepStates(this.#timing.span)
    const m = this.#timing.render(now, r.tick)
    if (m.tick > 0) r.setShown(Math.floor(m.tick))
    return m
  }

  /** Describes the connection: times in ms. */
  get link(): Timing['link'] {
    return this.#timing.link
  }

  /** Returns the server's tick at now with fractions, 0 before the first snapshot. */
  serverTick(now: number): number {
    return this.#timing.clock.serverTick(now)
  }

  // Inputs: section 10.

  /** Sets what the player holds down from now on, and returns the input's tick. */
  setInput(input: Struct | Uint8Array, now: number): number {
    const m = this.#handshake.inputForm(input)
    if (m && !(input instanceof Uint8Array)) {
      const p = m.shape.quantise(input, m.values)
      if (m === this.schema?.input) return this.setPayload(p, now)
      this.#provisionals.rejectEach(this.#provisionals.replaceAnswered(m, p, 'input'))
      return 0
    }
    if (input.length > limit.maxInputBytes)
      throw new RangeError(`an input of ${input.length} bytes, at most ${limit.maxInputBytes}`)
    return this.#timing.inputs.push(input.slice(), now, this.replica?.input ?? 0)
  }

  /** @internal Sets a quantised input, which it may change. */
  setPayload(p: Payload, now: number): number {
    const m = this.schema?.input
    if (!m) throw new TypeError('inputs are raw: want bytes')
    const named = this.#provisionals.replaceAnswered(m, p, 'input')
    const tick = this.#timing.inputs.push(m.append(p), now, this.replica?.input ?? 0)
    this.#provisionals.inputMade(named, tick)
    this.#prediction?.recordInput(tick, m.shape.restore(p))
    return tick
  }

  /** Returns the Input datagram to send at now, undefined before the Welcome. */
  input(now: number): Uint8Array | undefined {
    const r = this.replica
    return this.joined && r ? this.#timing.inputs.datagram(now, r.acks, r.structure, r.input) : undefined
  }

  /** Reports whether to send an input at now, after the arrival of so many datagrams. */
  inputDue(datagrams: number, now: number, streaming: boolean): boolean {
    const r = this.replica
    return this.joined && r !== undefined && this.#timing.inputs.isDue(datagrams, now, r.acks, r.waiting, streaming)
  }

  // Commands: section 11.5.

  /** Returns a new name for an entity that a command or an input is about to ask for. */
  provisional(): Handle {
    if (!this.welcome) throw new NotJoinedError()
    return this.#provisionals.create()
  }

  /** Returns the entity that a provisional handle stands for, or none. It returns any other handle unchanged. */
  real(h: Handle): Handle {
    return this.#provisionals.realOf(h)
  }

  /** Asks the server to execute a command once. args must have the form that the schema declares. */
  do(name: string, args: Struct = {}, target: Handle = none): SentCommand {
    const kind = this.#commandKind(name)
    if (!kind?.args) throw new TypeError(`the schema declares no command ${name} with arguments`)
    return this.doPayload(name, kind.args, kind.args.shape.quantise(args, kind.args.values), target)
  }

  /** @internal Asks for a command with quantised arguments, which it may change. */
  doPayload(name: string, args: Message, p: Payload, target: Handle): SentCommand {
    const named = this.#provisionals.replaceAnswered(args, p, 'command')
    return this.#sendCommand(name, target, args.append(p), named)
  }

  /**
   * Asks the server to execute a raw command.
   * @param args - any value that msgpack has, or undefined for none
   * @param provisionals - the provisional handles that the command asks for
   */
  doRaw(name: string, args?: unknown, target: Handle = none, provisionals: readonly Handle[] = []): SentCommand {
    if (this.#commandKind(name)?.args) throw new TypeError(`the schema declares the arguments of ${name}: use do`)
    checkText('command', name, limit.maxName)
    return this.#sendCommand(name, target, encodeArgs(args), this.#provisionals.indexesForCommand(provisionals))
  }

  #commandKind(name: string): CommandKind | undefined {
    this.#handshake.layout?.binding?.checkCommand(name)
    return this.schema?.commands.find((c) => c.name === name)
  }

  #sendCommand(name: string, target: Handle, args: Uint8Array, provisionals: readonly number[]): SentCommand {
    if (!this.joined) throw new NotJoinedError()
    const kind = this.#commandKind(name)
    const view = this.#timing.inputs.commandView
    const { message, sent } = this.#commands.encode({ name, kind, target, args, provisionals, view })
    this.#stream.send(messages.Type.command, message)
    return sent
  }
}
