import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Entity, Handle, Result } from '@worldd/client'
import * as storm from '../examples/canvas/schema.ts'
import { parseSchema } from '../src/schema_parser.ts'
import { defaultTables } from '../src/tables.ts'
import type { Struct } from '../src/values.ts'
import * as names from './generated/names.ts'
import * as simulation from './generated/simulation.ts'
import * as texts from './generated/texts.ts'
import * as versions from './generated/versions.ts'
import { Player, type Step } from './player.ts'
import { base64, bytes, lines } from './vectors.ts'

/** Plays the cases of a file with the schema of the first, and calls f after each step. */
async function play(file: string, begin: (p: Player) => void, f: (p: Player) => void): Promise<void> {
  const tables = await defaultTables()
  const steps = lines<Step>(file)
  let p!: Player
  for (const s of steps) {
    if (s.case === undefined) {
      p.play(s)
      f(p)
      continue
    }
    if (s.schema !== undefined && s.schema !== steps[0]!.schema) return
    p = new Player(tables, s.handles ?? [], { decode: bytes, encode: base64 })
    begin(p)
  }
}

/** Returns the entities in a player's view. */
const entities = (p: Player): readonly Entity[] => p.session.replica?.all ?? []

test('the modules have the text and the hash', () => {
  for (const m of [names, simulation, storm, texts, versions]) {
    const s = parseSchema(m.schemaText)
    assert.equal(s.hash, m.schemaHash)
    assert.deepEqual(
      s.kinds.map((k) => k.name),
      m.kinds,
    )
    assert.deepEqual(
      s.components.map((c) => c.name).sort(),
      Object.values(m.components)
        .map((c) => c.name)
        .sort(),
    )
    assert.deepEqual(
      s.commands.map((c) => c.name),
      Object.values(m.commands).map((c) => c.name),
    )
    assert.deepEqual(
      s.events.map((e) => e.name).sort(),
      Object.values(m.events)
        .map((e) => e.name)
        .sort(),
    )
  }
})

test('names that are no identifiers', () => {
  assert.ok(Object.hasOwn(names.components, '__proto__'))
  assert.equal(names.components['late-chime'].name, 'late-chime')
  const odd: names.LateChime | undefined = undefined as names.LateChime | undefined
  const size: number | undefined = odd?.['Größe']
  // biome-ignore lint/suspicious/noProto: a field of this name
  const long: bigint | undefined = odd?.['__proto__']
  const cells: number[] | undefined = odd?.Cells
  assert.deepEqual([size, long, cells], [undefined, undefined, undefined])
})

test('a session of vectors with bodies, handles and 64 bits, by types', async () => {
  const { body, identity, purse, target } = simulation.components
  const read = { body: 0, identity: 0, purse: 0, target: 0 }
  await play(
    'simulation-3.jsonl',
    () => {},
    (p) => {
      for (const e of entities(p)) {
        assert.equal(body.has(e), e.has('body'))
        const m = { tick: e.tick, newest: e.tick, maxExtrapolate: 15 }
        const b = body.at(e, m)
        if (b) {
          const position: [number, number, number] = b.Position
          assert.deepEqual(position, e.at('body', m)!.Position)
          assert.equal(position.length, 3)
          assert.ok([...position, ...b.Velocity].every((x) => typeof x === 'number'))
          read.body++
        }
        const value: bigint | undefined = identity.get(e)?.Value
        if (value !== undefined) {
          assert.equal(typeof value, 'bigint')
          read.identity++
        }
        const handle: Handle | undefined = target.get(e)?.Handle
        if (handle) read.target++
        const coins: number | undefined = purse.get(e)?.Coins
        if (coins !== undefined) {
          assert.equal(typeof coins, 'number')
          read.purse++
        }
        // @ts-expect-error: no such field
        assert.equal(body.get(e)?.position, undefined)
      }
      assert.equal(p.session.schema?.hash ?? simulation.schemaHash, simulation.schemaHash)
    },
  )
  assert.ok(
    Object.values(read).every((n) => n > 0),
    JSON.stringify(read),
  )
})

test('a session of vectors with texts and events, by types', async () => {
  const heard: texts.ChimeEvent[] = []
  let titles = 0
  await play(
    'texts.jsonl',
    (p) => texts.events.chime.on(p.events, (_, e) => heard.push(e)),
    (p) => {
      for (const e of entities(p)) {
        const t = texts.components.title.get(e)
        if (!t) continue
        titles++
        const rank: number = t.Rank
        const name: string = t.Name
        const seal: Uint8Array = t.Seal
        assert.deepEqual([typeof rank, typeof name, seal instanceof Uint8Array], ['number', 'string', true])
        const labels: string[] | undefined = texts.components.labels.get(e)?.L
        if (labels) assert.equal(labels.length, 30)
      }
    },
  )
  assert.ok(titles > 0 && heard.length > 0)
  for (const e of heard) {
    const who: Handle = e.Who
    assert.deepEqual(
      [typeof e.Serial, typeof who, typeof e.Words, e.Data instanceof Uint8Array],
      ['number', 'bigint', 'string', true],
    )
  }
})

test('commands, events and inputs by types', async () => {
  const calls: unknown[] = []
  const answered = { answer: { Speed: 6 } } as unknown as Result
  const record = async (...args: unknown[]): Promise<Result> => {
    calls.push(args)
    return answered
  }
  const c = {
    do: record,
    doRaw: record,
    setInput: (input: Struct | Uint8Array) => calls.push([input]),
  }
  const { describe, launch, poke, rename } = storm.commands
  const speed: number | undefined = (await describe.do(c)).answer?.Speed
  assert.equal(speed, 6)
  await rename.do(c, { Name: 'Ada' }, 17n as Handle)
  await poke.do(c, 3)
  storm.input.set(c, { X: 127, Z: 0 })
  names.input.set(c, Uint8Array.of(1))
  assert.deepEqual(calls, [
    ['describe', undefined, undefined],
    ['rename', { Name: 'Ada' }, 17n],
    ['poke', 3, undefined, undefined],
    [{ X: 127, Z: 0 }],
    [Uint8Array.of(1)],
  ])
  // @ts-expect-error: arguments are missing
  await launch.do(c)
  // @ts-expect-error: a handle is no number
  await launch.do(c, { Aim: 0, Serial: 1, Left: 1, Right: 2, LeftLife: 1, RightLife: 1 })
  // @ts-expect-error: inputs are declared
  storm.input.set(c, Uint8Array.of(1))
})
