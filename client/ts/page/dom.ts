// The document's elements.

/** Returns the element of the document with an id. */
export function element<T extends HTMLElement = HTMLElement>(id: string): T {
  const e = document.getElementById(id)
  if (!e) throw new Error(`live/index.html lacks ${id}`)
  return e as T
}

/** Returns the context that draws on a canvas. */
export function penOf(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  const pen = canvas.getContext('2d')
  if (!pen) throw new Error('the browser draws on no canvas')
  return pen
}

/** The colours of the style sheet. */
export class Palette {
  readonly #colours = new Map<string, string>()

  constructor() {
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#colours.clear())
  }

  of(name: string): string {
    let c = this.#colours.get(name)
    if (c === undefined) {
      c = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`)
      this.#colours.set(name, c)
    }
    return c
  }
}

/** Sets the text of an element. */
export function setText(id: string, text: string | number): void {
  const e = element(id)
  const s = typeof text === 'number' ? text.toLocaleString('en') : text
  if (e.textContent !== s) e.textContent = s
}

/** Returns a number of bytes as text. */
export function bytes(n: number): string {
  return n < 1000 ? `${Math.round(n)} B` : `${(n / 1000).toFixed(1)} kB`
}

/** Replaces the rows of a table's body. */
export function fillTable(id: string, rows: readonly (readonly (string | HTMLElement)[])[]): void {
  element(id).replaceChildren(
    ...rows.map((cells) => {
      const tr = document.createElement('tr')
      for (const c of cells) {
        const td = document.createElement('td')
        td.append(c)
        tr.append(td)
      }
      return tr
    }),
  )
}
