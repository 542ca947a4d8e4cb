// Recorded sessions, played by clients that declare other versions of the server's schema.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { declareSchema } from '../src/binding.ts'
import { partsOf } from '../src/paths.ts'
import { parseSchema } from '../src/schema_parser.ts'
import { defaultTables } from '../src/tables.ts'
import { find, type Struct } from '../src/values.ts'
import { Player, type Step } from './player.ts'
import { randomOf } from './random.ts'
import { base64, bytes, lines } from './vectors.ts'

const added = 'Added'
const fallback = 21

/** The lines of a component or a message: its head, and groups of lines that stay together. */
interface Block {
  readonly head: string
  fields: string[][]
  parent: string[]
  texts: string[][]
}

/** Returns the lines of a schema text as blocks. Lines of kinds and motion are blocks too. */
function blocksOf(text: string): Block[] {
  const blocks: Block[] = []
  for (const line of text.trimEnd().split('\n').slice(1)) {
    const [word = '', kind = ''] = line.split(' ')
    const block = blocks.at(-1)
    if (/^(component|kind|body|motion|input|command|answer|event)$/.test(word)) {
      blocks.push({ head: line, fields: [], parent: [], texts: [] })
    } else if (word === 'parent') block!.parent.push(line)
    else {
      const list = kind === 'string' || kind === 'bytes' ? block!.texts : block!.fields
      const stem = word.replace(/\[.*/, '')
      const last = list.at(-1)
      if (last && last[0]!.replace(/[[ ].*/s, '') === stem) last.push(line)
      else list.push([line])
    }
  }
  return blocks
}

/** Returns another version of a schema: fields and components are dropped, reordered and added. */
function vary(text: string, random: (n: number) => number): string {
  const shuffle = <T>(list: T[]): T[] =>
    list
      .map((x) => ({ x, at: random(1 << 20) }))
      .sort((a, b) => a.at - b.at)
      .map(({ x }) => x)
  const varied = blocksOf(text).map((b) => {
    if (!/^(component|event)/.test(b.head)) return b
    const kept = (groups: string[][]): string[][] => shuffle(groups.filter(() => random(4) > 0))
    const fields = b.parent.length > 0 ? b.fields : kept(b.fields)
    return { ...b, fields: [...fields, [`${added} uint 5`]], texts: kept(b.texts) }
  })
  const components = shuffle(varied.filter((b) => b.head.startsWith('component') && random(5) > 0))
  const rest = varied.filter((b) => !b.head.startsWith('component'))
  const rows = [...components, ...rest].flatMap((b) => [b.head, ...b.fields.flat(), ...b.parent, ...b.texts.flat()])
  return `worldd schema 2\n${rows.join('\n')}\n`
}

/** Returns the values of a struct by path. */
function valuesOf(s: Struct, paths: readonly string[]): unknown[] {
  return paths.map((path) => find(s, partsOf(path)))
}

for (const [file, simulate] of [
  ['texts.jsonl', false],
  ['simulation-3.jsonl', false],
  ['simulation-texts.jsonl', false],
  ['clean.jsonl', true],
] as const) {
  test(`${file}, with another version of the schema`, async () => {
    const tables = await defaultTables()
    const steps = lines<Step>(file)
    const next = randomOf(file.length)
    const random = (n: number): number => Math.floor(next() * n)
    const text = steps[0]!.schema!
    let compared = 0
    for (let round = 0; round < 4; round++) {
      const declaredText = vary(text, random)
      const { components, events } = parseSchema(declaredText)
      const defaults: Record<string, Record<string, number>> = {}
      for (const c of components) defaults[`component ${JSON.stringify(c.name)}`] = { [added]: fallback }
      const schema = declareSchema(declaredText, { defaults })
      const heard: [unknown[], unknown[]] = [[], []]
      const newPlayer = (s: Step, side: 0 | 1): Player => {
        const p = new Player(
          tables,
          s.handles ?? [],
          { decode: bytes, encode: base64 },
          simulate,
          side === 1 ? { schema } : {},
        )
        for (const e of events) {
          const paths = [...e.message.fields, ...e.message.texts].map((f) => f.path).filter((path) => path !== added)
          p.events.on(e.name, (_, x) => heard[side].push(valuesOf(x, paths)))
        }
        return p
      }
      let own!: Player
      let bound!: Player
      for (const s of steps) {
        if (s.case !== undefined) {
          if (s.schema !== undefined && s.schema !== text) break
          own = newPlayer(s, 0)
          bound = newPlayer(s, 1)
          continue
        }
        own.play(s)
        bound.play(s)
        if (own.session.joined) assert.ok(bound.session.schemaChanges.length > 0)
        const all = own.session.replica?.all ?? []
        assert.equal(bound.session.replica?.all.length ?? 0, all.length)
        for (const [i, e] of (bound.session.replica?.all ?? []).entries()) {
          assert.equal(e.handle, all[i]!.handle)
          for (const c of components) {
            const [a, b] = [all[i]!.get(c.name), e.get(c.name)]
            assert.equal(b === undefined, a === undefined)
            if (!a || !b) continue
            const paths = [...c.fields, ...c.texts].map((f) => f.path).filter((p) => p !== added)
            assert.deepEqual(valuesOf(b, paths), valuesOf(a, paths))
            assert.equal(b[added], fallback)
            compared += paths.length
          }
        }
      }
      assert.deepEqual(heard[1], heard[0])
      if (events.length > 0) assert.ok(heard[0].length > 0)
    }
    assert.ok(compared > 100, `${compared}`)
  })
}
