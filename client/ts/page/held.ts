// The list of held handles, with their verdicts.

import { formatHandle, type Handle, none, parseHandle, type Verdict } from '../src/index.ts'
import { element } from './dom.ts'
import { Details } from './inspect.ts'
import type { Knowledge } from './scene.ts'

const maxHeld = 12

/** One held handle. */
interface Row {
  readonly item: HTMLLIElement
  readonly verdict: HTMLElement
  readonly note: HTMLElement
  readonly state: HTMLElement // values of the entity's components, while details are closed
  readonly details: Details
  readonly button: HTMLButtonElement // opens the details
  what: string
  last: Verdict | undefined
  tenant: Handle // entity that now has the slot, if it is another
  left: boolean // the handle is of a room that the client has left
}

/** Holds handles, newest first. */
export class Held {
  readonly #rows = new Map<Handle, Row>()
  readonly #list = element<HTMLOListElement>('held')
  readonly #follow: ((h: Handle) => void) | undefined

  /** @param follow - called when the picture is to follow a handle's entity; absent if that cannot be chosen */
  constructor(follow?: (h: Handle) => void) {
    this.#follow = follow
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

  get handles(): ReadonlyMap<Handle, unknown> {
    return this.#rows
  }

  /** Adds a handle to the list, and shows its details alone if inspects. A full list drops its oldest handle. */
  hold(h: Handle, inspects = false): void {
    if (inspects) for (const row of this.#rows.values()) this.#open(row, false)
    const known = this.#rows.get(h)
    if (known) {
      this.#list.prepend(known.item)
      if (inspects) this.#open(known, true)
      return
    }
    for (const old of this.#rows.keys()) if (this.#rows.size >= maxHeld) this.#drop(old)
    const item = document.createElement('li')
    const name = document.createElement('button')
    name.className = 'name'
    name.textContent = formatHandle(h)
    name.ariaLabel = `inspect ${formatHandle(h)}`
    name.onclick = () => this.#open(row, !row.details.open)
    const verdict = document.createElement('b')
    const note = document.createElement('span')
    const state = document.createElement('small')
    const button = document.createElement('button')
    button.textContent = '×'
    button.ariaLabel = `let go of ${formatHandle(h)}`
    button.onclick = () => this.#drop(h)
    const details = new Details()
    item.append(name, verdict, note, button, state, details.box)
    if (this.#follow) button.before(this.#followButton(h))
    this.#list.prepend(item)
    const row: Row = {
      ...{ item, verdict, note, state, details, button: name },
      ...{ what: '', last: undefined, tenant: none, left: false },
    }
    this.#rows.set(h, row)
    this.#open(row, inspects)
  }

  #open(row: Row, open: boolean): void {
    row.details.open = open
    row.state.hidden = open
    row.button.ariaExpanded = String(open)
  }

  #followButton(h: Handle): HTMLElement {
    const button = document.createElement('button')
    button.textContent = 'Follow'
    button.ariaLabel = `follow ${formatHandle(h)}`
    button.onclick = () => this.#follow?.(h)
    return button
  }

  #drop(h: Handle): void {
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
  sample(c: Knowledge): void {
    for (const [h, row] of this.#rows) {
      const text = c.describe(h)
      if (row.state.textContent !== text) row.state.textContent = text
      row.details.sample(c, h)
    }
  }

  /** Shows the present verdicts. */
  update(c: Knowledge): void {
    for (const [h, row] of this.#rows) {
      const verdict = c.resolve(h)
      if (!row.left) row.details.note(verdict, c.tick)
      const kind = c.kindName(h)
      if (kind !== undefined) row.what = h === c.own ? `${kind}, yours` : kind
      const tenant = verdict === 'stale' && !row.left ? c.tenantOf(h) : none
      if (verdict === row.last && tenant === row.tenant) continue
      if (verdict !== row.last && row.last !== undefined)
        // Beside the row, not behind it: its texts keep their contrast.
        row.item.animate?.([{ boxShadow: '-4px 0 var(--accent)' }, { boxShadow: '-4px 0 transparent' }], 900)
      row.last = verdict
      row.tenant = tenant
      row.verdict.textContent = verdict
      row.verdict.className = verdict
      let words = 'of another room: final'
      if (!row.left && tenant !== none) words = `destroyed; its slot is now ${formatHandle(tenant)}`
      else if (!row.left) words = c.meaningOf(h, verdict, row.what !== '')
      row.note.textContent = [row.what, words].filter(Boolean).join(' · ')
    }
  }
}
