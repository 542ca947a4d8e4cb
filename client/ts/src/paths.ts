// Paths of fields: PROTOCOL.md, section 5.

/** The parts of a path: names and indices. */
export type Parts = readonly (string | number)[]

/** Returns the parts of a path. */
export function partsOf(path: string): Parts {
  return path
    .split('.')
    .flatMap((name) => name.split('['))
    .map((s) => (s.endsWith(']') ? Number(s.slice(0, -1)) : s))
}

const form = /^[^.[\]]+(\[(0|[1-9]\d*)\])*(\.[^.[\]]+(\[(0|[1-9]\d*)\])*)*$/

/** The paths of an item. Together they describe one struct: each part is either a field, or a struct, or an array. */
export class Paths {
  readonly #forms = new Map<string, string>() // by part: . of a struct, [ of an array, '' of a field
  readonly #sizes = new Map<string, number>() // of arrays

  /** Adds a path. Returns false if it has another form, or describes a part in another form than earlier paths. */
  add(path: string): boolean {
    if (!form.test(path)) return false
    for (const mark of path.matchAll(/[.[]|$/g)) {
      const part = path.slice(0, mark.index)
      const known = this.#forms.get(part)
      if (known !== undefined && (known === '' || known !== mark[0])) return false
      this.#forms.set(part, mark[0])
      if (mark[0] === '[' && !this.#addElement(part, parseInt(path.slice(mark.index + 1), 10))) return false
    }
    return true
  }

  /** Returns false unless the array has element n, or n is its next element. */
  #addElement(array: string, n: number): boolean {
    const size = this.#sizes.get(array) ?? 0
    if (n === size) this.#sizes.set(array, n + 1)
    return n <= size
  }
}
