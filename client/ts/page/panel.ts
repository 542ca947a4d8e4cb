// The panel: figures of the session.

import type { Client } from '../src/index.ts'
import type { OwnAvatar } from './avatar.ts'
import { bytes, element, fillTable, setText } from './dom.ts'
import type { Look } from './looks.ts'
import { Spark } from './spark.ts'
import type { Seen } from './view.ts'

/** The number of samples that a rate covers. */
const window = 4

interface Sample {
  readonly at: number
  readonly bytes: number
  readonly rows: number
  readonly snapshots: number
  readonly components: readonly { readonly bits: number; readonly rows: number }[]
}

/** Shows a client's figures. */
export class Panel {
  /** Counts the handles that are not live. */
  verdicts: () => { hidden: number; stale: number } = () => ({ hidden: 0, stale: 0 })
  readonly #samples: Sample[] = []
  readonly #bytesSpark = new Spark('bytesSpark')
  readonly #rttSpark = new Spark('rttSpark')
  #busy = 0
  #frames = 0
  #computes = false // bodies of some kind are computed

  /** Counts a frame and the time in ms that it took, and shows where the avatar is drawn. */
  frame(ms: number, [x, z]: readonly [x: number, z: number]): void {
    this.#busy += ms
    this.#frames++
    setText('place', `${x.toFixed(2)}, ${z.toFixed(2)} m`)
  }

  /** Shows the present figures. */
  sample(c: Client, seen: Seen, avatar: OwnAvatar, at: number): void {
    const r = c.replica
    const link = c.linkStats
    this.#samples.push({
      at,
      bytes: link.bytesReceived,
      rows: r.stats.rows,
      snapshots: r.stats.snapshots,
      components: r.received.map((x) => ({ ...x })),
    })
    if (this.#samples.length > window) this.#samples.shift()
    const first = this.#samples[0]!
    const last = this.#samples[this.#samples.length - 1]!
    const rate = (k: 'bytes' | 'rows' | 'snapshots'): number =>
      last.at > first.at ? (1000 * Math.max(last[k] - first[k], 0)) / (last.at - first.at) : 0
    setText('bytes', `${(rate('bytes') / 1000).toFixed(1)} kB/s`)
    this.#bytesSpark.add(at, rate('bytes') / 1000)
    this.#rttSpark.add(at, link.rtt)
    setText('rows', `${Math.round(rate('rows'))}/s`)
    setText('snapshots', `${rate('snapshots').toFixed(0)}/s`)
    setText('rtt', `${link.rtt.toFixed(1)} ms`)
    setText('delay', `${link.delay.toFixed(0)} ms`)
    setText('work', `${(this.#busy / Math.max(this.#frames, 1)).toFixed(1)} ms a frame`)
    this.#busy = this.#frames = 0
    this.#components(c, first, last)
    this.#own(c, avatar)
    this.#looks(seen.looks)
    const { hidden, stale } = this.verdicts()
    setText('live', r.all.length)
    setText('hidden', hidden)
    setText('stale', stale)
    const m = r.bodies?.stats
    setText('audited', m?.audited ?? 0)
    setText('faults', (m?.faults ?? 0) + r.stats.faults)
    element('faults').classList.toggle('bad', (m?.faults ?? 0) + r.stats.faults > 0)
    setText('tick', r.tick)
  }

  #own(c: Client, avatar: OwnAvatar): void {
    const { ahead, agreed, corrected, late, fields } = avatar.stats
    element('own').hidden = !avatar.isPredicted
    setText('ahead', `${ahead} ticks`)
    setText('agreed', agreed)
    setText('corrected', corrected)
    setText('late', late)
    element('differed').hidden = fields.length === 0
    fillTable(
      'fields',
      fields.map((f) => [`${f.component}.${f.field}`, f.count, f.last.toFixed(3), f.largest.toFixed(3)].map(String)),
    )
    const body = c.entity(c.controlled)?.has('body')
    setText(
      'unpredicted',
      avatar.isPredicted
        ? ''
        : body
          ? 'Drawn as the server sends it: this page does not know how the game moves it. A client of the game can predict it.'
          : 'You control no body. Drag the picture to move it.',
    )
  }

  #looks(seen: Record<Look, number>): void {
    this.#computes ||= seen.awake + seen.asleep + seen.owed > 0
    element('computed').hidden = !this.#computes
    element('allsent').hidden = this.#computes
    for (const k of ['awake', 'asleep', 'owed', 'sent'] as const) setText(k, seen[k])
  }

  /** Shows the rates between two samples by component, the most expensive first. */
  #components(c: Client, first: Sample, last: Sample): void {
    const seconds = Math.max(last.at - first.at, 1) / 1000
    const rates = c.schema.components.map(({ name, index }) => {
      const [from, to] = [first.components[index], last.components[index]]
      return {
        name,
        rows: Math.max((to?.rows ?? 0) - (from?.rows ?? 0), 0) / seconds,
        bytes: Math.max((to?.bits ?? 0) - (from?.bits ?? 0), 0) / 8 / seconds,
      }
    })
    rates.sort((a, b) => b.bytes - a.bytes)
    const rest = Math.max((last.bytes - first.bytes) / seconds - rates.reduce((n, x) => n + x.bytes, 0), 0)
    fillTable('components', [
      ...rates.map((x) => [x.name, Math.round(x.rows).toLocaleString('en'), bytes(x.bytes)]),
      ['all else', '', bytes(rest)],
    ])
  }
}
