// Predictions whose server has another schema than the game was built with.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Avatar, steer } from '../page/steering.ts'
import { declareSchema } from '../src/binding.ts'
import { predict } from '../src/predict.ts'
import { Session } from '../src/session.ts'
import { defaultTables } from '../src/tables.ts'
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
