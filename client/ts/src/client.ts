// A client: a session over replaceable connections.

import { Code, WireError } from './codes.ts'
import type { Result, SentCommand } from './commands.ts'
import { bounded, type Connection } from './connection.ts'
import { dialServer } from './dial.ts'
import type { Entity, Moment } from './entity.ts'
import type { EventHandler } from './events.ts'
import { guard } from './guard.ts'
import { type Handle, none, type Verdict } from './handles.ts'
import { Metronome } from './metronome.ts'
import type { WorldChange } from './ranges.ts'
import type { Replica } from './replica.ts'
import type { Schema } from './schema.ts'
import { Session } from './session.ts'
import type { SessionConfig, WelcomeKind } from './session_config.ts'
import { DivergedError, ReceiveError, requireJoined } from './session_errors.ts'
import { defaultTables, type Tables } from './tables.ts'
import type { Struct } from './values.ts'

/** The state of a client's connection. */
export type State = 'connecting' | 'joined' | 'reconnecting' | 'ended'

/** The state that a client has entered. */
export interface StateChange {
  readonly state: State
  /** Why the connection was lost or the client ended: a WireError if the server said or caused it, a DivergedError if the client replaces its session. */
  readonly error?: unknown
  /** Whether the client resumed its session: all is as before. Otherwise, after reconnecting, the session is new, restored or moved. */
  readonly resumed: boolean
  /**
   * Whether the client reconnected to its session, and the server does not know what the client has in
   * view: it has come back after a crash. The player and its entities are as before; for the client's
   * entities and handles a new session has begun.
   */
  readonly restored: boolean
  /**
   * Whether the client is in another world, welcome.room, whose generations are new to it: the server has moved the
   * session to another room, or the client is on another server or in another run. Replica, schema
   * and clocks are the new world's. Every earlier handle is stale for ever, or until a newWorld.
   */
  readonly moved: boolean
  /**
   * Whether the client is in another world that uses generations of an earlier one again, or may. Forget all
   * handles: the same handle may name another entity. All else is as with moved.
   */
  readonly newWorld: boolean
}

/** The configuration of a Client. */
export interface Config extends Omit<SessionConfig, 'tables' | 'events'> {
  /** The address of the server, such as https://example.com:7777/worldd. */
  readonly url: string
  /**
   * Further addresses of the same game, such as other nodes of a cluster: if a server does not answer, is full or shuts
   * down, the client tries the next one, before it has joined and to replace its session.
   */
  readonly urls?: readonly string[]
  /**
   * Pin the server's certificate by SHA-256, in hexadecimal: for development, where the
   * server makes short-lived certificates. A function is called before each connection.
   */
  readonly certificateHashes?: readonly string[] | (() => Promise<readonly string[]>)
  /** The coding tables; undefined: the tables that ship with the package. */
  readonly tables?: Tables
  /** Called when the state changes. */
  readonly state?: (s: StateChange) => void
  /** Returns a token for reconnecting. It is needed where each token is good for one connection. */
  readonly freshToken?: () => Promise<Uint8Array>
  /** How long the client tries to reconnect, in ms: by default a minute; 0: it does not. */
  readonly giveUp?: number
  /** Whether to try WebSocket where UDP is blocked: by default true. With certificateHashes only where there is no WebTransport. */
  readonly fallback?: boolean
  /** Replaces the network, for example in tests. */
  readonly dial?: (url: string, now: () => number) => Promise<Connection>
}

const minBackoff = 250
const maxBackoff = 5000
const stableAfter = 1_000
const maxMoves = 4
/** Bounds the delay before attempt n. A connection that lasts as long resets the backoff. */
const longestBackoff = (n: number): number => Math.min(minBackoff * 2 ** n, maxBackoff)
const defaultGiveUp = 60_000
const joinTimeout = 5000
const maxJoinsAgain = 2
/** How long a server may be silent, and how much of the time between two checks counts as silence, in ms. */
const lostAfter = 4000
const maxCheckGap = 1000

const now = (): number => performance.now()

/**
 * Connects to a server and keeps a replica of what it shows. Call update once per frame, then
 * render. While the page is hidden the client updates itself.
 */
export class Client {
  readonly #config: Config
  /** @internal */ readonly session: Session
  #url: string
  readonly #urls: readonly string[]
  #link: Connection | undefined
  #stateNow: State = 'connecting'
  #error: unknown
  #sendError: unknown // that the link's stream caused
  #updating = false
  #datagrams = 0 // received since the newest Input, without copies
  #heard = 0
  #checked = 0
  #began = 0 // when the outage began
  #joinedAt = 0
  #attempts = 0
  #moves = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  readonly #metronome: Metronome
  #joining: { resolve: () => void; reject: (e: unknown) => void } | undefined
  #streamed = false // stream bytes arrived since the newest Input

  private constructor(config: Config, tables: Tables) {
    this.#config = config
    this.#url = config.url
    // In an order of this client's own: the clients of a failed node spread over the others.
    this.#urls = [config.url, ...[...(config.urls ?? [])].sort(() => Math.random() - 0.5)]
    this.session = new Session(
      { ...config, tables },
      { welcomed: (kind, change) => this.#handleWelcome(kind, change), freshToken: config.freshToken !== undefined },
    )
    this.#metronome = new Metronome(() => this.#tryUpdate())
  }

  /**
   * Returns a client that has joined a session. It rejects with a WireError if the server refuses. If the server
   * ends meanwhile, it tries again twice, unless giveUp is 0.
   */
  static async connect(config: Config): Promise<Client> {
    const c = new Client(config, config.tables ?? (await defaultTables()))
    await new Promise<void>((resolve, reject) => {
      c.#joining = { resolve, reject }
      void c.#attemptConnection(config.token ?? new Uint8Array())
    })
    return c
  }

  async #dial(): Promise<Connection> {
    const { dial, certificateHashes, fallback } = this.#config
    if (dial) return dial(this.#url, now)
    const hashes = typeof certificateHashes === 'function' ? await certificateHashes() : (certificateHashes ?? [])
    if (this.#hasEnded) throw this.#error
    return dialServer(this.#url, hashes, fallback !== false, now)
  }

  #attach(link: Connection): void {
    this.#link = link
    this.#sendError = undefined
    this.#heard = this.#checked = now()
    // Frames drive the client only once a session is joined.
    link.arrived = () => {
      if (this.#stateNow !== 'joined') this.#tryUpdate()
    }
    if (this.#joining)
      this.#timer = setTimeout(() => {
        const e = new WireError(Code.timeout, 'no Welcome from the server')
        this.#attempts < this.#urls.length - 1 ? this.#handleLoss(e) : this.#endWith(e)
      }, joinTimeout)
  }

  /**
   * Applies everything that has arrived, runs the callbacks and answers. It throws when the
   * client has ended. A lost connection is no error: the client replaces it.
   */
  update(): void {
    if (this.#updating) throw new Error('update was called from a callback')
    this.#updating = true
    try {
      this.#receiveArrivals()
    } finally {
      this.#updating = false
    }
    if (this.#hasEnded) throw this.#error
  }

  #tryUpdate(): void {
    if (this.#updating || this.#hasEnded) return
    try {
      this.update()
    } catch {
      // config.state has reported the error.
    }
  }

  #receiveArrivals(): void {
    const { session } = this
    const link = this.#link
    if (!link || this.#hasEnded) return
    const arrivals = link.receive()
    const t = now()
    const stuck = (session.replica?.waiting ?? 0) > 0 // snapshots wait for structure that does not arrive
    let ended: unknown
    try {
      this.#datagrams += session.receive(arrivals, t)
    } catch (e) {
      ended = e instanceof WireError ? e : new ReceiveError(e)
    }
    if (this.#hasEnded) return // a callback closed the client
    ended ??= arrivals.error
    this.#streamed ||= arrivals.stream.length > 0
    if (this.#isSilent(t, arrivals.stream.length > 0 || (arrivals.datagrams.length > 0 && !stuck))) {
      ended ??= new WireError(Code.timeout, `nothing new arrived from the server for ${lostAfter / 1000} s`)
    }
    if (this.#stateNow === 'joined' && this.session.divergent && this.#config.giveUp !== 0)
      ended ??= new DivergedError()
    if (ended === undefined) {
      this.#sendInput(t)
      this.#flush()
      ended = this.#sendError
    }
    if (ended !== undefined) this.#handleLoss(ended)
  }

  /**
   * Reports whether the server has been silent for too long. A page that was frozen checks
   * before it reads what arrived.
   */
  #isSilent(t: number, arrived: boolean): boolean {
    this.#heard += Math.max(t - this.#checked - maxCheckGap, 0)
    this.#checked = t
    if (arrived) this.#heard = t
    return t - this.#heard > lostAfter
  }

  #sendInput(t: number): void {
    if (!this.#link || !this.session.inputDue(this.#datagrams, t, this.#streamed)) return
    const d = this.session.input(t)
    if (d) this.#link.sendDatagram(d)
    this.#datagrams = 0
    this.#streamed = false
  }

  /** Sends what is queued. An update handles the failure, since callbacks run in updates alone. */
  #flush(): void {
    if (this.#sendError !== undefined) return
    try {
      this.#link?.sendStream(this.session.takeStream())
    } catch (e) {
      this.#sendError = e
    }
  }

  // Reconnecting.

  #handleWelcome(kind: WelcomeKind, change: WorldChange): void {
    if (this.#stateNow !== 'joined') this.#joinedAt = now()
    this.#metronome.start()
    this.#enterState('joined', {
      resumed: kind === 'resumes',
      restored: kind === 'restored',
      moved: change === 'fresh',
      newWorld: change === 'reused',
    })
    clearTimeout(this.#timer)
    this.#joining?.resolve()
    this.#joining = undefined
  }

  /** Whether the client has ended, perhaps by a callback since the caller looked last. */
  get #hasEnded(): boolean {
    return this.#stateNow === 'ended'
  }

  #enterState(state: State, change: Partial<StateChange>): void {
    this.#stateNow = state
    const f = this.#config.state
    if (f) guard(() => f({ state, resumed: false, restored: false, moved: false, newWorld: false, ...change }))
  }

  #handleLoss(why: unknown): void {
    const t = now()
    const giveUp = this.#config.giveUp ?? defaultGiveUp
    const servers = this.#urls.length
    const at = this.#urls.indexOf(this.#url)
    if (this.#stateNow === 'joined') {
      this.#began = t
      const lasted = t - this.#joinedAt
      if (lasted >= longestBackoff(this.#attempts / servers)) this.#attempts = 0
      if (lasted >= stableAfter) this.#moves = 0
    }
    const e = why instanceof WireError ? why : undefined
    const code = e?.code
    if (e && code === Code.moved) {
      this.#connectElsewhere(e)
      return
    }
    const elsewhere = e?.retry ?? true
    // After a server that ends, another process may continue the world.
    const ended = code === Code.draining || code === Code.timeout || at < 0
    const tries = this.#joining
      ? elsewhere && this.#attempts < servers - 1 + (ended && giveUp ? maxJoinsAgain : 0)
      : giveUp > 0 && (elsewhere || (e && this.session.asksAgain(e))) && t - this.#began <= giveUp
    if (!tries) {
      this.#endWith(why)
      return
    }
    if (elsewhere && (this.#stateNow !== 'joined' || code === Code.draining)) {
      // The next address, or after a redirection the first one.
      this.#url = this.#urls[(at + 1) % servers]!
      this.#moves = 0
    }
    this.#leaveConnection(why)
    if (this.#hasEnded) return
    const n = this.#attempts++ / servers
    const delay = n === 0 ? Math.random() * minBackoff : ((1 + Math.random()) / 2) * longestBackoff(n)
    this.#reconnect(delay, undefined)
  }

  #leaveConnection(why: unknown): void {
    if (this.session.divergent) this.#leaveSession(Code.ok)
    else this.#link?.close(Code.timeout) // ok would end the session
    this.#link = undefined
    if (this.#stateNow === 'joined') {
      this.#enterState('reconnecting', { error: why })
    }
    this.session.lost(why)
  }

  /**
   * Connects to the server to which the present one redirects. A new session begins there, unless a client that looks for its
   * session is sent to another of its addresses.
   */
  #connectElsewhere(to: WireError): void {
    if (this.#moves++ === maxMoves || !/^[^/?#@\s]+:\d{1,5}$/.test(to.address)) {
      this.#endWith(to)
      return
    }
    const url = new URL(this.#url)
    url.host = to.address
    this.#url = url.href
    const resumes = this.#stateNow === 'reconnecting' && this.#urls.includes(this.#url)
    this.#leaveConnection(to)
    if (this.#hasEnded) return
    if (!resumes) this.session.forgetServer()
    this.#reconnect(0, to.token)
  }

  #reconnect(delay: number, token: Uint8Array | undefined): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#attemptConnection(token), delay)
  }

  async #attemptConnection(token: Uint8Array | undefined): Promise<void> {
    let link: Connection
    try {
      token ??= await this.#config.freshToken?.()
      if (this.#hasEnded) return
      link = await (this.#urls.length > 1 ? bounded(this.#dial()) : this.#dial())
    } catch (e) {
      if (!this.#hasEnded) this.#handleLoss(e)
      return
    }
    if (this.#hasEnded) {
      link.close(Code.ok)
      return
    }
    // A token of an earlier redirection is used, or of another server.
    this.session.setToken(token ?? this.#config.token ?? new Uint8Array())
    this.session.reconnect()
    this.#attach(link)
    this.#flush()
    this.#tryUpdate()
  }

  #endWith(why: unknown): void {
    this.#error = why
    this.#stateNow = 'ended'
    this.#metronome.stop()
    clearTimeout(this.#timer)
    this.session.lost(why)
    this.#leaveSession(why instanceof WireError ? why.code : Code.ok)
    this.#link = undefined
    this.#enterState('ended', { error: why })
    this.#joining?.reject(why)
  }

  /** Ends the session and its connection. */
  #leaveSession(code: number): void {
    if (!this.#link) return
    this.session.bye(code)
    this.#flush() // if the send buffer is full, the server will not learn why the client leaves
    this.#link.close(code)
  }

  /** Leaves the session. It may be called more than once. */
  close(): void {
    if (!this.#hasEnded) this.#endWith(new WireError(Code.ok, 'closed'))
  }

  // Methods for games.

  /** The state of the connection. */
  get state(): State {
    return this.#stateNow
  }

  /** The replica. Only update changes it. Read this property each time: a new session has a new replica. */
  get replica(): Replica {
    return requireJoined(this.session.replica)
  }

  /** The server's schema. */
  get schema(): Schema {
    return requireJoined(this.session.schema)
  }

  /** How the server's schema differs from Config.schema, one printable line each. */
  get schemaChanges(): readonly string[] {
    return this.session.schemaChanges
  }

  /** The server's description of the session, for example its tick rate, epoch and room. */
  get welcome(): Session['welcome'] {
    return this.session.welcome
  }

  /** The entity that this client's inputs steer, or none. It may be pending. */
  get controlled(): Handle {
    return this.session.controlled
  }

  /** Measurements of the connection: times in ms. */
  get linkStats(): Session['link'] & Pick<Connection, 'bytesReceived' | 'transport'> {
    return { ...this.session.link, bytesReceived: this.#link?.bytesReceived ?? 0, transport: this.#link?.transport }
  }

  /** Returns the entity of a handle, undefined unless it is live. */
  entity(h: bigint): Entity | undefined {
    return this.session.replica?.entity(h)
  }

  /** Returns the verdict on any handle. */
  resolve(h: bigint): Verdict {
    return this.session.resolve(h)
  }

  /** Returns the moment to show in a picture drawn now. */
  render(): Moment {
    return this.session.render(now())
  }

  /**
   * Registers a handler for the events of a name.
   * @param rendered - whether to call it when the render reaches the event's tick, not on
   * arrival
   */
  on(event: string, f: EventHandler, rendered = false): void {
    this.session.events.on(event, f, rendered)
  }

  /**
   * Sets what the player holds down from now on, in the form that the schema declares, and
   * returns the input's tick.
   */
  setInput(input: Struct | Uint8Array): number {
    const t = now()
    const tick = this.session.setInput(input, t)
    this.#sendInput(t)
    return tick
  }

  /** Asks the server to execute a command once. The result says whether the server executed it. */
  do(name: string, args: Struct = {}, target: Handle = none): Promise<Result> {
    return this.#flushCommand(this.session.do(name, args, target))
  }

  /** Asks the server to execute a command whose arguments the schema does not declare. */
  doRaw(name: string, args?: unknown, target: Handle = none, provisionals: readonly Handle[] = []): Promise<Result> {
    return this.#flushCommand(this.session.doRaw(name, args, target, provisionals))
  }

  #flushCommand(c: SentCommand): Promise<Result> {
    if (!this.#updating) this.#flush()
    return c.result
  }

  /** Returns a name for an entity that a command or an input is about to ask for. */
  provisional(): Handle {
    return this.session.provisional()
  }

  /** Returns the handle of the entity that a provisional handle stands for. */
  real(h: Handle): Handle {
    return this.session.real(h)
  }
}
