// Predictions whose server has another schema than the game was built with.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Avatar, steer } from '../page/steering.ts'
import { declareSchema } from '../src/binding.ts'
import { type Entity, Layout } from '../src/entity.ts'
import { predict } from '../src/predict.ts'
import { Part } from '../src/predict_parts.ts'
import { parseSchema } from '../src/schema_parser.ts'
import { Session } from '../src/session.ts'
import { defaultTables } from '../src/tables.ts'
import { quantise, type Struct } from '../src/values.ts'
import * as server from './server.ts'
import { motion, schemaText, Track, zigzag } from './track.ts'

const { now } = performance
test.afterEach(() => {
  performance.now = now
})

test('a prediction of an older server keeps its agreement', async () => {
  const text = schemaText.replace(/Velocity/g, 'Speed').replace('kind avatar', 'Mood uint 8\nkind avatar')
  const own = declareSchema(text.replace('X int 8', 'X int 16\nJump bool'), {
    was: { 'component "body"': Object.fromEntries([0, 1, 2].map((i) => [`Speed[${i}]`, [`Velocity[${i}]`]])) },
    defaults: { 'component "body"': { Mood: 3 } },
  })
  interface Body {
    Position: number[]
    Speed: number[]
    Mood: number
  }
  const k = await new Track(60).join({}, { schema: own }, (tick, s, in_) => {
    const body = s.body as unknown as Body
    assert.equal((in_ as unknown as { Jump: boolean }).Jump, tick < 0)
    const a: Avatar = { Position: body.Position, Velocity: body.Speed }
    steer(motion, a, in_)
    body.Mood++
  })
  assert.equal(k.client.schemaChanges.length, 1 + 3 + 1 + 1)
  k.run(3000)
  k.input = zigzag
  k.run(10_000)
  const { corrected, agreed } = k.play.stats
  assert.equal(corrected, 0)
  assert.ok(agreed > 180, `${agreed}`)
  k.input = () => ({ X: 0, Z: 0 })
  k.run(1000)
  const state = k.play.state!.body as unknown as Body
  assert.deepEqual([state.Position, state.Speed], [k.truth.Position, k.truth.Velocity])
  assert.ok(state.Mood > 500, 'predicted without the server')
  k.client.close()
})

test('a component that the server lacks is predicted alone', async () => {
  const own = declareSchema(schemaText.replace('kind avatar', 'component mood\nJoy uint 8\nAim quat 9\nkind avatar'))
  type Mood = { Joy: number; Aim: number[] }
  const k = await new Track(60).join(
    {},
    { schema: own },
    (_tick, s, in_) => {
      const mood = (s as unknown as { mood: Mood }).mood
      assert.equal(mood.Aim.length, 4)
      mood.Joy++
      steer(motion, s.body, in_)
    },
    ['body', 'mood'],
  )
  k.run(3000)
  k.input = zigzag
  k.run(5000)
  assert.equal(k.play.stats.corrected, 0)
  assert.ok(k.play.stats.agreed > 80)
  const state = k.play.draw() as unknown as { body: Avatar; mood: Mood }
  assert.ok(state.mood.Joy > 250, `${state.mood.Joy}`)
  k.truth.Position[0]! += 1
  k.run(1000)
  assert.equal(k.play.stats.corrected, 1)
  k.client.close()
})

test('a prediction without its component or the input predicts nothing', async () => {
  const tables = await defaultTables()
  for (const text of [
    schemaText.replace('component body', 'component corpus'),
    schemaText.replace(/input[\s\S]*/, 'input raw\n'),
  ]) {
    const s = new Session({ tables, schema: declareSchema(schemaText) })
    const before = predict(s, ['body'], () => assert.fail('no step'))
    s.receiveStream(server.welcome({ text }))
    s.setInput({ X: 1, Z: 1 }, 0)
    assert.equal(before.draw(), undefined)
    const late = new Session({ tables, schema: declareSchema(schemaText) })
    late.receiveStream(server.welcome({ text }))
    assert.equal(predict(late, ['body'], () => assert.fail('no step')).draw(), undefined)
    assert.throws(() => predict(new Session({ tables, schema: declareSchema(schemaText) }), ['soul'], () => {}))
  }
})

/** Returns the part of a prediction with these fields, of a server and of the game. */
function part(fields: string, own: string): Part {
  const served = parseSchema(`worldd schema 2\ncomponent gauge\n${fields}input raw\n`)
  const binding = declareSchema(`worldd schema 2\ncomponent gauge\n${own}input raw\n`).bind(
    served,
    { client: '', server: '' },
    false,
  )
  return new Part(new Layout(served, binding), served.components[0]!)
}

/** Returns an entity whose newest values these are. */
function showing(p: Part, newest: readonly unknown[]): Entity {
  return {
    copyValues: (to: Uint32Array) => p.component.fields.forEach((f, i) => quantise(f, newest[i], to, f.index)),
    computed: (_: number) => undefined,
  } as Entity
}

test('fields that the game holds less exactly than the server are corrected, once', () => {
  // A range of 2^31 steps and a turn of as many: finer than a float 32.
  const fine = 'A range bff0000000000000 3e10000000000000 2147483648\nP angle 31\n'
  for (const [fields, own, predicted, newest, held] of [
    ['A uint 16\nP float 64\n', 'A uint 8\nP float 32\n', [20, 5], [30, 900], [30, 900]],
    ['A uint 16\nP float 64\n', 'A uint 8\nP float 32\n', [20, 5], [300, 0.1], [255, Math.fround(0.1)]],
    ['A int 64\nP float 64\n', 'A int 8\nP float 32\n', [20n, 5], [-300n, 1e99], [-128, (2 - 2 ** -23) * 2 ** 127]],
    [fine, 'A float 32\nP float 32\n', [0, 0], [0.9000000001, 1.2345678901], undefined],
    [fine, 'A float 32\nP float 32\n', [0.9, 1.2345679], [0.9000000001, 1.2345678901], undefined],
  ] as const) {
    const p = part(fields, own)
    const e = showing(p, newest)
    const s: Struct = { A: predicted[0], P: predicted[1] }
    if (predicted[0] !== 0.9) assert.equal(p.compareWith(s, e), 'none', fields)
    p.adoptFrom(s, e)
    assert.equal(p.compareWith(s, e), 'exact', fields)
    if (held) assert.deepEqual([s['A'], s['P']], held)
    else assert.ok(Math.abs(s['A'] - newest[0]) < 1e-7 && Math.abs(s['P'] - newest[1]) < 1e-6, `${s['A']} ${s['P']}`)
  }
})

test('a prediction agrees to the rounding of float32 if one side has it, at any distance from zero', () => {
  const fields =
    'Ranged range c130000000000000 3f50000000000000 2147483648\nYaw angle 32\nWhole float 64\nSingle float 32\n'
  const p = part(fields, 'Ranged float 32\nYaw float 32\nWhole float 32\nSingle float 64\n')
  const agrees = (newest: readonly number[], own: readonly number[]): boolean =>
    p.compareWith({ Ranged: own[0], Yaw: own[1], Whole: own[2], Single: own[3] }, showing(p, newest)) !== 'none'
  for (const x of [1e6, -1e6, 1000, 1, 0.01]) {
    const ulp = Math.abs(x) / 2 ** 23
    const newest = [x, 0, x, Math.fround(x)]
    const held = Math.fround(x)
    assert.ok(agrees(newest, [held, 0, held, x]))
    assert.ok(agrees(newest, [Math.fround(x - ulp), 0, Math.fround(x - ulp), x - ulp]), `${x}`)
    assert.ok(agrees(newest, [held, 1e-9, x - ulp, x - ulp]), 'a game that does not round')
    assert.ok(!agrees(newest, [x - Math.max(8 * ulp, 1 / 256), 0, held, x]))
    assert.ok(!agrees(newest, [held, 0, x - 8 * ulp, x]))
    assert.ok(!agrees(newest, [held, 0, held, x - 8 * ulp]))
  }
  assert.ok(agrees([0, Math.PI - 1e-7, 0, 0], [0, -Math.PI, 0, 0]))
  assert.ok(!agrees([0, Math.PI - 1e-3, 0, 0], [0, -Math.PI, 0, 0]))
  assert.ok(agrees([0, 0, 1e300, 0], [0, 0, 1e38 * 10, 0]), 'both are the largest float32')
  for (const other of [Infinity, NaN, 1]) assert.ok(!agrees([0, 0, 2, 0], [0, 0, other, 0]))
  const alike = part('A float 32\n', 'B uint 8\nA float 32\n')
  assert.equal(alike.compareWith({ A: 1 + 2 ** -23 }, showing(alike, [1])), 'none', 'both round')
})
