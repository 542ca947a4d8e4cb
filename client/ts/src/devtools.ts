// An overlay for developers: the connection, the player's avatar, and what is true of handles. Games that do not
// import it do not bundle it.

import type { Client } from './client.ts'
import type { Entity } from './entity.ts'
import { formatHandle, generationOf, type Handle, indexOf, none, parseHandle, type Verdict } from './handles.ts'
import type { Prediction } from './predict_config.ts'
import { printable } from './printable.ts'
import type { Component } from './schema.ts'
import type { Struct } from './values.ts'

/** The options of devtools. */
export interface DevtoolsOptions {
  /** The prediction of the player's avatar, if the game predicts it. */
  readonly prediction?: Pick<Prediction<Struct>, 'stats' | 'error'>
  /** Where to add the overlay: by default to the page's body. */
  readonly parent?: HTMLElement
  /** Whether the overlay begins open: by default false. Then it is a button. */
  readonly open?: boolean
}

/** An overlay in a page. */
export interface Devtools {
  /** The overlay, which is in the page's lower left corner unless the page's style places it elsewhere. */
  readonly element: HTMLElement
  /** Adds a handle to the panel Truth. */
  hold(h: Handle): void
  /** Removes the overlay. */
  close(): void
}

const refresh = 250 // ms
const maxHeld = 12
/** So many entities that come into view are held without being asked for, so that the panel shows verdicts change. */
const sampled = 4

const style = `
:host { position: fixed; left: 8px; bottom: 8px; z-index: 2147483000; color-scheme: light dark; font: 12px/1.5 ui-monospace, monospace }
section, :host > button { border: 1px solid light-dark(#c9c5bb, #3b424b); border-radius: 6px; background: light-dark(#fffffff0, #1b1f25f0); color: light-dark(#22262b, #e6e3dc) }
section { width: min(340px, calc(100vw - 18px)); box-sizing: border-box; padding: 6px 10px 10px }
button, input { font: inherit; color: inherit }
button { border: 0; background: none; padding: 2px 8px; cursor: pointer }
:is(button, input, [role=tabpanel]):focus-visible { outline: 2px solid light-dark(#1a5fb4, #7cb7ff); outline-offset: 1px }
[role=tab][aria-selected=true] { border-bottom: 2px solid light-dark(#1a5fb4, #7cb7ff); font-weight: bold }
[role=tabpanel] { margin-top: 6px; max-height: 40vh; overflow: auto }
div:has(> [role=tablist]) { display: flex; justify-content: space-between }
[hidden] { display: none }
table { border-collapse: collapse; width: 100% }
th { text-align: left; font-weight: normal; color: light-dark(#5a5f66, #a8adb5); padding-right: 12px; white-space: nowrap; vertical-align: top }
td { overflow-wrap: anywhere }
td.live { color: light-dark(#1d6b34, #7fd897) }
td.stale { color: light-dark(#a02318, #ff9d92); text-decoration: line-through }
form button { border: 1px solid light-dark(#8b8f95, #6b727b); border-radius: 4px }
input { width: 9em; border: 1px solid light-dark(#8b8f95, #6b727b); border-radius: 4px; background: none; padding: 1px 4px }
`

function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value)
  e.append(...children)
  return e
}

/** A table of names and values, whose cells change only if their texts do. */
class Table {
  readonly element = make('table')
  readonly #cells = new Map<string, HTMLElement>()

  show(rows: Iterable<readonly [name: string, value: string, look?: string]>): void {
    const gone = new Set(this.#cells.keys())
    for (const [name, value, look = ''] of rows) {
      gone.delete(name)
      let cell = this.#cells.get(name)
      if (!cell) {
        cell = make('td')
        this.#cells.set(name, cell)
        this.element.append(make('tr', {}, make('th', { scope: 'row' }, name), cell))
      }
      if (cell.textContent !== value) cell.textContent = value
      if (cell.className !== look) cell.className = look
    }
    for (const name of gone) {
      this.#cells.get(name)?.parentElement?.remove()
      this.#cells.delete(name)
    }
  }
}

type Row = [name: string, value: string, look?: string]

const ms = (x: number): string => `${Math.round(x)} ms`

const short = (x: number): string => String(Math.round(x * 100) / 100)

/** Writes the value at a path of a component: numbers short, and references as 17v3. */
function write(value: unknown, of: Component, path = ''): string {
  if (typeof value === 'number') return short(value)
  if (typeof value === 'bigint') return of.field(path)?.kind === 'ref' ? formatHandle(value) : `${value}`
  if (typeof value !== 'object' || value === null) return printable(String(value))
  if (Array.isArray(value) || ArrayBuffer.isView(value))
    return `[${Array.from(value as ArrayLike<unknown>, (v, i) => write(v, of, `${path}[${i}]`)).join(', ')}]`
  const parts = Object.entries(value).map(([k, v]) => `${k} ${write(v, of, path ? `${path}.${k}` : k)}`)
  return parts.join(', ')
}

/** The newest state of each component of an entity. */
function states(c: Client, e: Entity): Row[] {
  return c.schema.components.filter((x) => e.has(x.name)).map((x): Row => [x.name, write(e.get(x.name), x)])
}

/** The connection's measurements: bytes a second since the last call. */
class ConnectionPanel {
  readonly #client: Client
  #bytes = 0
  #at = 0
  #rate = 0

  constructor(c: Client) {
    this.#client = c
  }

  rows(): Row[] {
    const c = this.#client
    const { rtt, jitter, delay, lead, bytesReceived, transport } = c.linkStats
    const now = performance.now()
    if (now - this.#at >= 1000) {
      this.#rate = (Math.max(bytesReceived - this.#bytes, 0) / (now - this.#at)) * 1000
      this.#bytes = bytesReceived
      this.#at = now
    }
    const w = c.welcome
    const rows: Row[] = [
      ['state', c.state],
      ['transport', transport ?? ''],
      ['round trip', `${ms(rtt)}, jitter ${ms(jitter)}`],
      ['shown behind', ms(delay)],
      ['inputs ahead', ms(lead)],
      ['received', `${(this.#rate / 1000).toFixed(1)} kB/s, ${Math.round(bytesReceived / 1000)} kB`],
    ]
    if (!w) return rows
    const { snapshots, held, rowsLate, faults } = c.replica.stats
    rows.push(
      ['server', `version ${printable(w.version) || 'unknown'}${w.room && `, room ${printable(w.room)}`}`],
      ['tick', `${c.replica.tick}, ${w.tickHz} a second`],
      ['snapshots', `${snapshots}, ${w.snapshotHz} a second; held ${held}, late rows ${rowsLate}, faults ${faults}`],
      ['entities', `${c.replica.all.length}`],
      ...c.schemaChanges.map((line, i): Row => [`schema ${i + 1}`, line]),
    )
    return rows
  }
}

/** The controlled entity as the server has it, and the work of its prediction. */
function avatarRows(c: Client, prediction: DevtoolsOptions['prediction']): Row[] {
  const h = c.controlled
  if (h === none) return [['avatar', 'none is controlled']]
  const rows: Row[] = [['handle', `${formatHandle(h)} ${c.resolve(h)}`]]
  const e = c.entity(h)
  if (e) {
    rows.push(['kind', e.kindName], ...states(c, e))
  }
  const s = prediction?.stats
  if (!s) return [...rows, ['prediction', 'off: options.prediction has it']]
  if (prediction.error) rows.push(['error', printable(String(prediction.error.cause)), 'stale'])
  rows.push(
    ['ahead', `${Math.max(s.predicted - s.confirmed, 0)} ticks, stalled ${s.stalled}`],
    ['agreed', `${s.agreed}`],
    ['corrected', `${s.corrected}, by late inputs ${s.missed}`],
  )
  for (const f of s.fields)
    rows.push([`${f.component}.${f.field}`, `${f.count} times, last ${short(f.last)}, largest ${short(f.largest)}`])
  return rows
}

/** Handles that are held, and what they stand for. */
class TruthPanel {
  readonly #client: Client
  readonly held = new Map<Handle, { kind: string; sampled: boolean }>()

  constructor(c: Client) {
    this.#client = c
  }

  hold(h: Handle, isSample = false): void {
    if (this.held.size === maxHeld) {
      const oldest = [...this.held].find(([, about]) => about.sampled) ?? [...this.held][0]!
      this.held.delete(oldest[0])
    }
    this.held.set(h, { kind: '', sampled: isSample })
  }

  rows(): Row[] {
    const c = this.#client
    if (c.welcome) this.#sample()
    return [...this.held].map(([h, about]): Row => {
      const verdict = c.resolve(h)
      const e = c.entity(h)
      if (e) about.kind = e.kindName
      const values = e ? states(c, e).map(([name, value]) => `${name} ${value}`) : []
      return [
        formatHandle(h),
        [verdict, about.kind, this.#tenantOf(h, verdict), ...values].filter(Boolean).join(' · '),
        verdict,
      ]
    })
  }

  /** Says which entity has the slot of a stale handle now. */
  #tenantOf(h: Handle, verdict: Verdict): string {
    if (verdict !== 'stale') return ''
    const next = this.#client.replica.all.find((e) => e.index === indexOf(h) && e.generation !== generationOf(h))
    return next ? `slot is ${formatHandle(next.handle)}'s` : ''
  }

  /** Holds some entities in view. Stale ones stay until the list is full. */
  #sample(): void {
    const c = this.#client
    const fresh = [...this.held].filter(([h, about]) => about.sampled && c.resolve(h) !== 'stale').length
    const { all } = c.replica
    for (let i = fresh; i < sampled && all.length > 0; i++) {
      const e = all[Math.floor(Math.random() * all.length)]
      if (e && !this.held.has(e.handle)) this.hold(e.handle, true)
    }
  }
}

/** A tab and its panel, which is a table below other elements. */
class Panel {
  readonly tab: HTMLButtonElement
  readonly element: HTMLElement
  readonly #table = new Table()
  readonly #rows: () => Row[]

  constructor(name: string, rows: () => Row[], ...above: HTMLElement[]) {
    this.#rows = rows
    const id = name.toLowerCase()
    this.tab = make('button', { type: 'button', role: 'tab', id: `tab-${id}`, 'aria-controls': id }, name)
    this.element = make(
      'div',
      { role: 'tabpanel', id, 'aria-labelledby': `tab-${id}`, tabindex: '0' },
      ...above,
      this.#table.element,
    )
  }

  select(isSelected: boolean): void {
    this.tab.setAttribute('aria-selected', String(isSelected))
    this.tab.tabIndex = isSelected ? 0 : -1
    this.element.hidden = !isSelected
    if (isSelected) this.refresh()
  }

  refresh(): void {
    this.#table.show(this.#rows())
  }
}

/** The tabs: the arrow keys, Home and End choose one, as in all lists of tabs. */
class Tabs {
  readonly element = make('div', { role: 'tablist', 'aria-label': 'worldd' })
  readonly #panels: readonly Panel[]
  selected: Panel

  constructor(panels: readonly [Panel, ...Panel[]]) {
    this.#panels = panels
    this.selected = panels[0]
    for (const p of panels) p.tab.onclick = () => this.select(p)
    this.element.append(...panels.map((p) => p.tab))
    this.element.onkeydown = (e) => {
      const n = panels.length
      const at = panels.indexOf(this.selected)
      const to = { ArrowLeft: at + n - 1, ArrowRight: at + 1, Home: 0, End: n - 1 }[e.key]
      if (to === undefined) return
      e.preventDefault()
      this.select(panels[to % n]!)
      this.selected.tab.focus()
    }
  }

  select(panel: Panel): void {
    this.selected = panel
    for (const p of this.#panels) p.select(p === panel)
  }
}

/** Adds an overlay to the page: a button that opens panels. Its keys do not reach the game. */
export function devtools(c: Client, options: DevtoolsOptions = {}): Devtools {
  const truth = new TruthPanel(c)
  const connection = new ConnectionPanel(c)
  const field = make('input', { id: 'handle', placeholder: '17v3', autocomplete: 'off', spellcheck: 'false' })
  const form = make('form', {}, make('label', { for: 'handle' }, 'handle '), field, make('button', {}, 'hold'))
  const panels: [Panel, ...Panel[]] = [
    new Panel('Connection', () => connection.rows()),
    new Panel('Avatar', () => avatarRows(c, options.prediction)),
    new Panel('Truth', () => truth.rows(), form),
  ]
  form.onsubmit = (e) => {
    e.preventDefault()
    const h = parseHandle(field.value.trim())
    field.setCustomValidity(h === undefined || h === none ? 'A handle is written as 17v3: slot, v, generation.' : '')
    if (!field.reportValidity() || h === undefined) return
    truth.hold(h)
    field.value = ''
  }
  field.oninput = () => field.setCustomValidity('')
  return overlay(panels, options, (h) => truth.hold(h))
}

function overlay(panels: [Panel, ...Panel[]], o: DevtoolsOptions, hold: (h: Handle) => void): Devtools {
  const tabs = new Tabs(panels)
  const open = make('button', { type: 'button' }, 'worldd')
  const shut = make('button', { type: 'button', 'aria-label': 'close' }, '×')
  const bar = make('div', {}, tabs.element, shut)
  const section = make('section', { 'aria-label': 'worldd developer tools' }, bar, ...panels.map((p) => p.element))
  const element = make('worldd-devtools' as 'div')
  const sheet = new CSSStyleSheet() // a page's policy for inline styles does not concern it
  sheet.replaceSync(style)
  const root = element.attachShadow({ mode: 'open' })
  root.adoptedStyleSheets = [sheet]
  root.append(open, section)
  const toggle = (isOpen: boolean): void => {
    section.hidden = !isOpen
    open.hidden = isOpen
    if (isOpen) tabs.select(tabs.selected)
  }
  open.onclick = () => {
    toggle(true)
    tabs.selected.tab.focus()
  }
  const leave = (): void => {
    toggle(false)
    open.focus()
  }
  shut.onclick = leave
  element.onkeydown = (e) => {
    e.stopPropagation() // keys for the overlay do not steer
    if (e.key === 'Escape' && open.hidden) leave()
  }
  toggle(o.open === true)
  const timer = setInterval(() => {
    if (!section.hidden && !document.hidden) tabs.selected.refresh()
  }, refresh)
  ;(o.parent ?? document.body).append(element)
  return {
    element,
    hold,
    close() {
      clearInterval(timer)
      element.remove()
    },
  }
}
