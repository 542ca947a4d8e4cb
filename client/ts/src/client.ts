// A client: a session over replaceable connections.

import type { Config, State, StateChange } from './client_config.ts'
import { Code, WireError } from './codes.ts'
import type { Result, SentCommand } from './commands.ts'
import type { Connection } from './connection.ts'
import { addressDelay, attemptOrder, dial, dialFirst } from './dial.ts'
import type { Entity, Moment } from './entity.ts'
import type { EventHandler } from './events.ts'
import { guard } from './guard.ts'
import { type Handle, none, type Verdict } from './handles.ts'
import { Metronome } from './metronome.ts'
import type { WorldChange } from './ranges.ts'
import { type KeptSession, Reload } from './reload.ts'
import type { Replica } from './replica.ts'
import type { Schema } from './schema.ts'
import { Session } from './session.ts'
import { tokenBytes, type WelcomeKind } from './session_config.ts'
import { DivergedError, ReceiveError, requireJoined } from './session_errors.ts'
import { defaultTables, type Tables } from './tables.ts'
import type { Struct } from './values.ts'

const minBackoff = 250
const maxBackoff = 5000
const stableAfter = 1_000
const maxMoves = 4
/** Bounds the delay before attempt n. A connection that lasts as long resets the backoff. */
const longestBackoff = (n: number): number => Math.min(minBackoff * 2 ** n, maxBackoff)
const defaultGiveUp = 60_000
const defaultConnectTimeout = 10_000
const longestTimer = 2 ** 31 - 1
/** How long the last address of an attempt may take if there are others, in ms: browsers try dead ones for long, Firefox for half a minute. */
const patience = 5000
const maxJoinsAgain = 2
/** How long a server may be silent, and how much of the time between two checks counts as silence, in ms. */
const lostAfter = 4000
const maxCheckGap = 1000

/** How long the game may call no update until the client updates itself, in ms. */
const idleAfter = 250

const now = (): number => performance.now()

/**
 * Connects to a server and keeps a replica of what it shows. Call update once per frame, then
 * render. While the page is hidden, or the game calls no update, the client updates itself.
 */
export class Client {
  readonly #config: Config
  /** @internal */ readonly session: Session
  #url: string
  readonly #urls: readonly string[]
  readonly #reload: Reload | undefined
  #link: Connection | undefined
  #dialling: AbortController | undefined // of the attempt that has no link yet
  #stateNow: State = 'connecting'
  #error: unknown
  #sendError: unknown // that the link's stream caused
  #updating = false
  #driven = -idleAfter // when the game called update last
  #datagrams = 0 // received since the newest Input, without copies
  #heard = 0
  #checked = 0
  #began = 0 // when the outage began
  #joinedAt = 0
  #attempts = 0
  #further = 0 // addresses of the attempt, besides the first, while none has answered
  #moves = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  readonly #metronome: Metronome
  #joining: { resolve: () => void; reject: (e: unknown) => void } | undefined
  #streamed = false // stream bytes arrived since the newest Input

  private constructor(config: Config, tables: Tables) {
    this.#config = config
    this.#reload = config.resume === false ? undefined : new Reload(config.url, config.room ?? '')
    const kept = this.#reload?.take()
    this.#url = kept?.url ?? config.url
    // In an order of this client's own: the clients of a failed node spread over the others.
    this.#urls = [config.url, ...[...(config.urls ?? [])].sort(() => Math.random() - 0.5)]
    const welcomed = (kind: WelcomeKind, change: WorldChange): void => this.#handleWelcome(kind, change)
    this.session = new Session({ ...config, tables }, { welcomed, freshToken: config.freshToken !== undefined, kept })
    this.#reload?.watch(() => this.#leavePage())
    this.#metronome = new Metronome(() => this.#updateIdle())
  }

  /**
   * Returns a client that has joined a session. It rejects with a WireError if the server refuses, and after
   * connectTimeout. If the server ends meanwhile, it tries again twice, unless giveUp is 0.
   */
  static async connect(config: Config): Promise<Client> {
    const { signal, connectTimeout = defaultConnectTimeout * (1 + (config.urls?.length ?? 0)) } = config
    signal?.throwIfAborted()
    let stop: (why: unknown) => void = () => {}
    const stopped = new Promise<never>((_, reject) => (stop = reject))
    const late = new WireError(Code.timeout, `not connected after ${connectTimeout / 1000} s`)
    const timer = setTimeout(() => stop(late), Math.min(connectTimeout, longestTimer))
    const abort = (): void => stop(signal?.reason)
    signal?.addEventListener('abort', abort)
    let c: Client | undefined
    try {
      const tables = config.tables ?? (await Promise.race([defaultTables(), stopped]))
      c = new Client(config, tables)
      await Promise.race([c.#join(), stopped])
      if (c.#hasEnded) throw c.#error // after its Welcome
      return c
    } catch (e) {
      if (c && !c.#hasEnded) c.#endWith(e)
      throw e
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
  }

  #join(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#joining = { resolve, reject }
      void this.#attemptConnection(this.#config.token ?? '')
    })
  }

  #attach(link: Connection): void {
    this.#link = link
    this.#sendError = undefined
    this.#heard = this.#checked = now()
    // Frames drive the client only once a session is joined.
    link.arrived = () => {
      if (this.#stateNow !== 'joined') this.#tryUpdate()
    }
    if (!this.#joining) clearTimeout(this.#timer) // from now on updates notice silence
  }

  /**
   * Applies everything that has arrived, runs the callbacks and answers. It throws when the
   * client has ended. A lost connection is no error: the client replaces it.
   */
  update(): void {
    this.#driven = now()
    this.#update()
  }

  #update(): void {
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
      this.#update()
    } catch {
      // config.state has reported the error.
    }
  }

  /** Updates if no frame does: the page is hidden, or the game has not begun its loop, or stopped it. */
  #updateIdle(): void {
    const hidden = typeof document === 'undefined' || document.hidden
    if (hidden || now() - this.#driven >= idleAfter) this.#tryUpdate()
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

  #handleLoss(cause: unknown): void {
    const overtaken = cause instanceof WireError && cause.code === Code.moved && cause.address === ''
    // Only the message has the address, and the close has arrived before it: ask again.
    const why = overtaken ? new WireError(Code.timeout, 'closed before its address') : cause
    this.#attempts += this.#further
    this.#further = 0
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
    const asksAgain = e !== undefined && this.session.asksAgain(e)
    const tries = this.#joining
      ? asksAgain || (elsewhere && this.#attempts < servers - 1 + (ended && giveUp ? maxJoinsAgain : 0))
      : giveUp > 0 && (elsewhere || asksAgain) && t - this.#began <= giveUp
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
    this.#dialling?.abort()
    if (this.session.divergent) this.#leaveSession(Code.ok)
    else this.#link?.close(Code.timeout) // ok would end the session
    this.#link = undefined
    if (this.#stateNow === 'joined') {
      this.#enterState('reconnecting', { error: why })
    }
    this.session.lost(why)
  }

  /**
   * Connects to the server to which the present one redirects. A new session begins there, unless the session may be there, or a
   * client that looks for its session is sent to another of its addresses: PROTOCOL.md, section 4.
   */
  #connectElsewhere(to: WireError): void {
    if (this.#moves++ === maxMoves || !/^[^/?#@\s]+:\d{1,5}$/.test(to.address)) {
      this.#endWith(to)
      return
    }
    const url = new URL(this.#url)
    url.host = to.address
    this.#url = url.href
    const isThere = to.detail === 'the session may be there'
    const resumes = isThere || (this.#stateNow !== 'joined' && this.#urls.includes(this.#url))
    this.#leaveConnection(to)
    if (this.#hasEnded) return
    if (!resumes) this.session.forgetServer(to)
    this.#reconnect(0, resumes && !to.token.length ? undefined : to.token)
  }

  #reconnect(delay: number, token: Uint8Array | undefined): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#attemptConnection(token), delay)
  }

  async #attemptConnection(token: Uint8Array | string | undefined): Promise<void> {
    const dialling = new AbortController()
    const { signal } = dialling
    this.#dialling = dialling
    const urls = this.#moves ? [this.#url] : attemptOrder(this.#urls, this.#url) // another would redirect it again
    this.#further = urls.length - 1
    let link: Connection
    try {
      token ??= await this.#config.freshToken?.()
      if (signal.aborted) return
      const late = (): void => this.#handleLoss(new WireError(Code.timeout, 'no answer'))
      if (!this.#joining || this.#urls.length > 1)
        this.#timer = setTimeout(late, patience + this.#further * addressDelay)
      ;[link, this.#url] = await dialFirst(urls, (url, own) => dial(this.#config, url, this.#reload, own), signal)
    } catch (e) {
      if (!signal.aborted) this.#handleLoss(e)
      return
    }
    if (signal.aborted) {
      link.close(Code.ok)
      return
    }
    this.#dialling = undefined
    this.#further = 0
    this.#attempts += urls.indexOf(this.#url)
    // A token of an earlier redirection is used, or of another server.
    this.session.setToken(tokenBytes(token ?? this.#config.token))
    this.session.reconnect()
    this.#attach(link)
    this.#flush()
    this.#tryUpdate()
  }

  /** Returns the session for the next page, and breaks the connection so that the server waits for it. */
  #leavePage(): KeptSession | undefined {
    const kept = this.session.keep(this.#url)
    if (kept) this.#link?.close(Code.timeout) // ok would end the session
    return kept
  }

  #endWith(why: unknown): void {
    const unanswered = this.#joining && this.session.keep(this.#url)
    if (unanswered && (!(why instanceof WireError) || why.retry)) this.#reload?.put(unanswered) // for another connect
    this.#reload?.stop()
    this.#error = why
    this.#stateNow = 'ended'
    this.#metronome.stop()
    this.#dialling?.abort()
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
