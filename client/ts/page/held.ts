// The list of held handles, with their verdicts.

import {
  type Client,
  type Entity,
  formatHandle,
  generationOf,
  indexOf,
  isProvisional,
  none,
  parseHandle,
  printable,
  type Verdict,
} from '../src/index.ts'
import { element } from './dom.ts'
import { whyStale } from './words.ts'

const maxHeld = 12
/** Bounds the characters of an entity's components. */
const maxState = 200

/** Tells the holder of a handle the meaning of each verdict. */
const meanings: Record<Exclude<Verdict, 'stale'>, string> = {
  live: 'in view',
  hidden: 'exists perhaps, out of view',
  pending: 'not heard of yet',
  provisional: 'asked for',
}

/** One held handle. */
interface Row {
  readonly item: HTMLLIElement
  readonly verdict: HTMLElement
  readonly note: HTMLElement
  readonly state: HTMLElement // values of the entity's components
  what: string
  last: Verdict | undefined
  tenant: bigint // entity that now has the slot, if it is another
  left: boolean // the handle is of a room that the client has left
}

/** Holds handles, newest first. */
export class Held {
  readonly #rows = new Map<bigint, Row>()
  readonly #list = element<HTMLOListElement>('held')

  constructor() {
    const form = element<HTMLFormElement>('paste')
    const field = element<HTMLInputElement>('handle')
    form.onsubmit = (e) => {
      e.preventDefault()
      const h = parseHandle(field.value.trim())
      field.setCustomValidity(h === undefined || h === none ? 'A handle is written as 17v3: slot, v, generation.' : '')
      if (!field.reportValidity() || h === undefined) return
      this.hold(h)
      field.value = ''
    }
    field.oninput = () => field.setCustomValidity('')
    this.clear()
  }

  get handles(): ReadonlyMap<bigint, unknown> {
    return this.#rows
  }

  /** Adds a handle to the list. A full list drops its oldest handle. */
  hold(h: bigint): void {
    this.#drop(h)
    for (const old of this.#rows.keys()) if (this.#rows.size >= maxHeld) this.#drop(old)
    const item = document.createElement('li')
    const name = document.createElement('code')
    name.textContent = formatHandle(h)
    const verdict = document.createElement('b')
    const note = document.createElement('span')
    const state = document.createElement('small')
    const button = document.createElement('button')
    button.textContent = '×'
    button.ariaLabel = `let go of ${formatHandle(h)}`
    button.onclick = () => this.#drop(h)
    item.append(name, verdict, note, button, state)
    this.#list.prepend(item)
    this.#rows.set(h, { item, verdict, note, state, what: '', last: undefined, tenant: none, left: false })
  }

  #drop(h: bigint): void {
    this.#rows.get(h)?.item.remove()
    this.#rows.delete(h)
  }

  /** Drops all handles. It is called in another world. */
  clear(): void {
    this.#rows.clear()
    this.#list.replaceChildren()
  }

  /** Marks all handles as handles of another room. */
  leaveRoom(): void {
    for (const row of this.#rows.values()) row.left = true
  }

  /** Shows the components of held entities. */
  sample(c: Client): void {
    for (const [h, row] of this.#rows) {
      const e = c.entity(h)
      const text = e ? describe(c, e) : ''
      if (row.state.textContent !== text) row.state.textContent = text
    }
  }

  /** Shows the present verdicts. */
  update(c: Client): void {
    for (const [h, row] of this.#rows) {
      const verdict = c.resolve(h)
      const e = c.entity(h)
      if (e) row.what = h === c.controlled ? `${e.kindName}, yours` : e.kindName
      const tenant = verdict === 'stale' && !row.left ? tenantOf(c, h) : none
      if (verdict === row.last && tenant === row.tenant) continue
      if (verdict !== row.last && row.last !== undefined)
        row.item.animate?.(
          [{ background: 'color-mix(in srgb, var(--accent) 30%, transparent)' }, { background: 'transparent' }],
          900,
        )
      row.last = verdict
      row.tenant = tenant
      row.verdict.textContent = verdict
      row.verdict.className = verdict
      let words = 'of another room: final'
      if (!row.left && tenant !== none) words = `destroyed; its slot is now ${formatHandle(tenant)}`
      else if (!row.left) words = verdict === 'stale' ? whyStale(h, c.welcome, row.what !== '') : meanings[verdict]
      row.note.textContent = [row.what, words].filter(Boolean).join(' · ')
    }
  }
}

/** Returns an entity's components as text, without its motion, and without 64-bit integers, which are identifiers. */
function describe(c: Client, e: Entity): string {
  const { components, texts } = c.schema
  const parts = components
    .filter((x) => x.name !== 'body' && e.has(x.name))
    .map((x) => {
      const fields = x.fields
        .filter((f) => f.n < 64 || f.kind === 'float')
        .map((f) => `${f.path} ${f.kind === 'ref' ? formatHandle(e.reference(f)) : rounded(e.number(f))}`)
      const words = texts.flatMap((t, i) =>
        t.component === x.index && typeof e.texts[i] === 'string' && e.texts[i] !== ''
          ? [`${t.path} ${printable(e.texts[i] as string)}`]
          : [],
      )
      return [x.name, [...fields, ...words].join(', ')].filter(Boolean).join(': ')
    })
  const text = parts.join(' · ')
  return text.length > maxState ? `${text.slice(0, maxState)} …` : text
}

function rounded(n: number): string {
  return String(Math.round(n * 100) / 100)
}

/** Returns the live entity in the slot of a stale handle, or none if none is in view. */
function tenantOf(c: Client, h: bigint): bigint {
  if (isProvisional(h)) return none
  for (const e of c.replica.all) if (e.index === indexOf(h) && e.generation !== generationOf(h)) return e.handle
  return none
}
