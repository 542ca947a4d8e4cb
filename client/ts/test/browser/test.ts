// node:test, node:assert and node:fs for tests that run in a browser: the bundler puts this
// module in their place.

type Body = () => void | Promise<void>

/** The tests that the bundled files declare. */
export const tests: { name: string; body: Body }[] = []

export function test(name: string, body: Body): void {
  tests.push({ name, body })
}

/** The files that tests read, by path. */
export const files = new Map<string, Uint8Array>()

export function readFileSync(path: string): Uint8Array {
  const file = files.get(path)
  if (!file) throw new Error(`${path} is not loaded`)
  return file
}

export function join(_root: string, path: string): string {
  return path
}

function text(v: unknown): string {
  const sorted = (_: string, x: unknown): unknown => {
    if (typeof x === 'bigint') return `${x}n`
    if (x === null || typeof x !== 'object' || Array.isArray(x)) return x
    return Object.fromEntries(
      Object.entries(x)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .filter(([, v]) => v !== undefined),
    )
  }
  return JSON.stringify(v, sorted)
}

function check(ok: unknown, why: string): asserts ok {
  if (!ok) throw new Error(why)
}

export default {
  ok: (v: unknown, why = ''): void => check(v, why),
  equal: (got: unknown, want: unknown, why = ''): void =>
    check(Object.is(got, want), `${why}: got ${text(got)}, want ${text(want)}`),
  deepEqual: (got: unknown, want: unknown, why = ''): void => {
    const [a, b] = [text(got), text(want)]
    check(a === b, `${why}: got ${a.slice(0, 2000)}, want ${b.slice(0, 2000)}`)
  },
  match: (got: string, want: RegExp): void => check(want.test(got), `got ${got}, want ${want}`),
  throws: (f: () => void, want: unknown, why = ''): void => {
    let thrown: unknown
    try {
      f()
    } catch (e) {
      thrown = e
    }
    if (typeof want === 'function') {
      const isClass = want.prototype instanceof Error
      check(isClass ? thrown instanceof want : want(thrown), `${why}: threw ${thrown}`)
      return
    }
    const pattern = want instanceof RegExp ? want : undefined
    const fields = want instanceof RegExp || want === undefined ? {} : (want as Record<string, unknown>)
    check(
      thrown instanceof Error && (!pattern || pattern.test(thrown.message)),
      `${why}: threw ${thrown}, want ${want}`,
    )
    for (const [k, v] of Object.entries(fields))
      check(Reflect.get(Object(thrown), k) === v, `${why}: threw ${thrown}, want ${k} ${v}`)
  },
}
