// The server as its operator sees it: figures, sessions, rooms, nodes.

import { printable } from '../src/index.ts'
import { type Admin, getAuthorized, textOf } from './admin.ts'
import { Cluster } from './cluster.ts'
import { Confirmation } from './confirmation.ts'
import { bytes, element, fillTable, setText } from './dom.ts'
import { KeyedTable } from './keyed.ts'
import type { Message } from './message.ts'
import { Spark } from './spark.ts'

/** How often the figures are fetched, and how long a profile runs, both in ms. */
const period = 2000
const profileSeconds = 5
/** Bounds the sessions on the page, and the rooms. */
const maxShown = 100

/** The part of a session in GET /sessions that the page shows. */
interface SessionInfo {
  readonly id: number
  readonly room: string
  readonly name: string
  readonly user: string
  readonly away: boolean
  readonly entity: string
  readonly interest: number
  readonly rtt_ms: number
  readonly loss: number
  readonly transport: string
}

/** The part of a room in GET /rooms that the page shows. */
interface RoomInfo {
  readonly name: string
  readonly state: string
  readonly players: number
  readonly max_players: number
  readonly tick_p99_ms: number
}

function nameOf(s: SessionInfo): string {
  return printable(s.user || s.name) || 'nobody'
}

function textsOf(s: SessionInfo): string[] {
  const link = s.away ? ['away', '', ''] : [s.transport, `${s.rtt_ms.toFixed(0)} ms`, `${(100 * s.loss).toFixed(1)} %`]
  return [String(s.id), nameOf(s), printable(s.room), s.entity, String(s.interest), ...link]
}

/** Returns the sessions whose number, name, room, handle or transport contains a text. */
export function matching(all: readonly SessionInfo[], wanted: string): SessionInfo[] {
  const words = wanted.trim().toLowerCase().split(/\s+/)
  return all.filter((s) => {
    const text = [s.name, ...textsOf(s)].join(' ').toLowerCase()
    return words.every((w) => text.includes(w))
  })
}

function kickPath(id: number, reason: string): string {
  return `/sessions/${id}/kick${reason === '' ? '' : `?reason=${encodeURIComponent(reason)}`}`
}

/** Returns a link to the live page that shows what a session sees. */
function watchLink(s: SessionInfo, who: string): HTMLElement {
  const link = document.createElement('a')
  link.href = `live?${new URLSearchParams({ ...(s.room === '' ? {} : { room: s.room }), watch: String(s.id) })}`
  link.textContent = 'Watch'
  link.ariaLabel = `watch ${who}`
  return link
}

function buttonFor(text: string, label: string, press: () => Promise<void>): HTMLElement {
  const button = document.createElement('button')
  button.textContent = text
  button.ariaLabel = label
  button.onclick = () => void press()
  return button
}

/** Values by name and labels, as in name{label="value"}. */
export type Metrics = ReadonlyMap<string, number>

/** Reads Prometheus' text format. */
export function parseMetrics(text: string): Metrics {
  const all = new Map<string, number>()
  for (const line of text.split('\n')) {
    const m = /^(\w+(?:\{.*\})?) (\S+)/.exec(line)
    if (m) all.set(m[1]!, Number(m[2]))
  }
  return all
}

/** Returns the bytes encoded for all clients, by component. */
export function codedBytes(m: Metrics): Map<string, number> {
  const all = new Map<string, number>()
  for (const [name, value] of m) {
    const labels = /^worldd_bytes_total\{(.*)\}$/.exec(name)?.[1]
    const component = labels?.includes('dir="coded"') ? /component="([^"]*)"/.exec(labels)?.[1] : undefined
    if (component !== undefined) all.set(component, value)
  }
  return all
}

/** Shows the server, and does what the operator asks for. */
export class Console {
  readonly #admin: Admin
  readonly #message: Message
  readonly #confirmation = new Confirmation()
  readonly #cluster = new Cluster()
  readonly #p99Spark = new Spark('p99Spark')
  readonly #search = element<HTMLInputElement>('search')
  readonly #sessions: KeyedTable<SessionInfo>
  readonly #rooms: KeyedTable<RoomInfo>
  #all: readonly SessionInfo[] = []
  #before: { readonly at: number; readonly coded: Map<string, number> } | undefined

  constructor(admin: Admin, message: Message) {
    this.#admin = admin
    this.#message = message
    this.#sessions = new KeyedTable('visitors', {
      key: (s) => String(s.id),
      texts: textsOf,
      actions: (current) => this.#sessionActions(current),
    })
    this.#rooms = new KeyedTable('roomlist', {
      key: (r) => r.name,
      texts: (r) => [printable(r.name), r.state, `${r.players} of ${r.max_players}`, `${r.tick_p99_ms.toFixed(2)} ms`],
      actions: (current) => this.#roomActions(current),
    })
    this.#search.oninput = () => this.#showSessions()
    element('drain').onclick = () =>
      void this.#confirmed(
        'End all sessions, and let nobody join until the server is started again?',
        'End all sessions',
        () => '/drain',
      )
    element('profile').onclick = () => void this.#profile()
  }

  /** Fetches the figures for ever. */
  async run(): Promise<never> {
    for (;;) {
      await this.#refresh()
      await new Promise((resolve) => setTimeout(resolve, period))
    }
  }

  async #refresh(): Promise<void> {
    try {
      const first = await getAuthorized(this.#admin, this.#message, '/sessions')
      if (!first.ok) throw new Error(await textOf(first))
      this.#all = await first.json()
      const [rooms, metrics] = await Promise.all([this.#admin.get('/rooms'), this.#admin.get('/metrics')])
      this.#showSessions()
      this.#showRooms(await rooms.json())
      this.#showMetrics(parseMetrics(await metrics.text()))
      await this.#cluster.refresh(this.#admin)
      setText('trouble', '')
    } catch (e) {
      setText('trouble', e instanceof Error ? e.message : String(e))
    }
    this.#message.hide()
  }

  /** Shows the sessions that contain what the operator searches for. */
  #showSessions(): void {
    const found = matching(this.#all, this.#search.value)
    this.#sessions.show(found.slice(0, maxShown))
    const more = found.length - maxShown
    setText('sessions', this.#all.length)
    setText('unshown', more > 0 ? `${more} more: search for a name, a room, a handle or a number.` : '')
    element('nosession').hidden = found.length > 0
  }

  #sessionActions(current: () => SessionInfo): HTMLElement[] {
    const s = current()
    const who = `${nameOf(s)}, session ${s.id}`
    return [
      watchLink(s, who),
      buttonFor('Kick', `kick ${who}`, () =>
        this.#confirmed(`End the session of ${who}?`, 'End the session', (reason) => kickPath(s.id, reason), true),
      ),
    ]
  }

  /** Shows the rooms, unless the server has one world. */
  #showRooms(all: readonly RoomInfo[]): void {
    const named = all.filter((r) => r.name !== '')
    element('roomspart').hidden = named.length === 0
    this.#rooms.show(named.slice(0, maxShown))
  }

  #roomActions(current: () => RoomInfo): HTMLElement[] {
    const { name } = current()
    return [
      buttonFor('Close', `close ${printable(name)}`, () =>
        this.#confirmed(
          `End room ${printable(name)} and its sessions? Its name stays closed until you make it again.`,
          'Close the room',
          () => `/rooms/close?room=${encodeURIComponent(name)}`,
        ),
      ),
    ]
  }

  #showMetrics(m: Metrics): void {
    for (const [id, quantile] of [
      ['p50', '0.5'],
      ['p99', '0.99'],
      ['longest', '1'],
    ] as const) {
      setText(id, `${(1000 * (m.get(`worldd_tick_quantile_seconds{quantile="${quantile}"}`) ?? 0)).toFixed(2)} ms`)
    }
    this.#p99Spark.add(performance.now(), 1000 * (m.get('worldd_tick_quantile_seconds{quantile="0.99"}') ?? 0))
    setText('overruns', m.get('worldd_tick_overruns_total') ?? 0)
    const now = { at: performance.now(), coded: codedBytes(m) }
    const before = this.#before
    this.#before = now
    if (!before) return
    const seconds = (now.at - before.at) / 1000
    const rates = [...now.coded].map(([name, n]) => ({
      name,
      rate: Math.max(n - (before.coded.get(name) ?? 0), 0) / seconds,
    }))
    rates.sort((a, b) => b.rate - a.rate)
    fillTable(
      'coded',
      rates.filter((x) => x.rate >= 1).map((x) => [x.name, `${bytes(x.rate)}/s`]),
    )
  }

  /** Sends a command once the operator has confirmed it. */
  async #confirmed(
    question: string,
    verb: string,
    path: (reason: string) => string,
    wantsReason = false,
  ): Promise<void> {
    const reason = await this.#confirmation.ask(question, verb, wantsReason)
    if (reason === undefined) return
    try {
      const answer = await this.#admin.ask(path(reason), 'POST')
      if (!answer.ok) throw new Error(await textOf(answer))
      await this.#refresh()
    } catch (e) {
      setText('trouble', e instanceof Error ? e.message : String(e))
    }
  }

  /** Downloads a CPU profile of the server. */
  async #profile(): Promise<void> {
    const button = element<HTMLButtonElement>('profile')
    button.disabled = true
    try {
      const answer = await this.#admin.get(`/debug/pprof/profile?seconds=${profileSeconds}`)
      const link = document.createElement('a')
      link.href = URL.createObjectURL(await answer.blob())
      link.download = 'worldd.pprof'
      link.click()
      URL.revokeObjectURL(link.href)
      setText('trouble', '')
    } catch (e) {
      setText('trouble', e instanceof Error ? e.message : String(e))
    }
    button.disabled = false
  }
}
