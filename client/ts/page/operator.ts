// The operator's half of the page.

import { printable } from '../src/index.ts'
import { type Admin, textOf } from './admin.ts'
import { Cluster } from './cluster.ts'
import { element, fillTable, setText } from './dom.ts'
import { bytes } from './panel.ts'
import { Spark } from './spark.ts'

/** How often the figures are fetched, and how long a profile runs, both in ms. */
const period = 2000
const profileSeconds = 5
/** Bounds the sessions on the page. */
const maxShown = 50

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

/** Shows figures of the server while the operator's part of the page is open. */
export class Operator {
  readonly #admin: Admin
  readonly #part = element<HTMLDetailsElement>('operator')
  readonly #cluster = new Cluster()
  readonly #p99Spark = new Spark('p99Spark')
  #timer: ReturnType<typeof setTimeout> | undefined
  #before: { readonly at: number; readonly coded: Map<string, number> } | undefined

  constructor(admin: Admin) {
    this.#admin = admin
    this.#part.ontoggle = () => this.look()
    element('drain').onclick = () => {
      if (confirm('End all sessions, and let nobody join until the server is started again?'))
        void this.#command('/drain')
    }
    element('profile').onclick = () => void this.#profile()
  }

  /** Fetches the figures now, and repeatedly while they are shown. */
  look(): void {
    clearTimeout(this.#timer)
    if (this.#part.open) void this.#refresh().finally(() => (this.#timer = setTimeout(() => this.look(), period)))
  }

  async #refresh(): Promise<void> {
    try {
      const [sessions, metrics] = await Promise.all([this.#admin.get('/sessions'), this.#admin.get('/metrics')])
      this.#showSessions(await sessions.json())
      this.#showMetrics(parseMetrics(await metrics.text()))
      await this.#cluster.refresh(this.#admin)
      setText('trouble', '')
    } catch (e) {
      setText('trouble', e instanceof Error ? e.message : String(e))
    }
  }

  #showSessions(all: readonly SessionInfo[]): void {
    setText('sessions', all.length)
    fillTable(
      'visitors',
      all
        .slice(0, maxShown)
        .map((s) => [
          [printable(s.user || s.name), s.room].filter(Boolean).join(' in '),
          s.away ? 'away' : s.entity,
          s.away ? '' : `${s.rtt_ms.toFixed(0)} ms`,
          this.#kick(s),
        ]),
    )
  }

  #kick(s: SessionInfo): HTMLElement {
    const button = document.createElement('button')
    button.textContent = 'Kick'
    button.ariaLabel = `kick ${printable(s.user || s.name)}, session ${s.id}`
    button.onclick = () => void this.#command(`/sessions/${s.id}/kick`)
    return button
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

  async #command(path: string): Promise<void> {
    try {
      const answer = await this.#admin.ask(path, 'POST')
      setText('trouble', answer.ok ? '' : await textOf(answer))
      this.look()
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
