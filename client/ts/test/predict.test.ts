import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Avatar, steer } from '../page/steering.ts'
import { newHandle } from '../src/handles.ts'
import { inputLead } from '../src/limits.ts'
import { predict } from '../src/predict.ts'
import { windowOf } from '../src/predict_window.ts'
import { Track, zigzag } from './track.ts'
import { readFile } from './vectors.ts'

/** Counts the corrections that no late input explains. */
const surprises = (k: Track): number => k.play.stats.corrected - k.play.stats.missed

const { now } = performance
test.afterEach(() => {
  performance.now = now
})

test('steer has the bits of the server', () => {
  const text = new TextDecoder().decode(readFile('internal/scenes/steering/testdata/steps.txt'))
  const bits = new Uint32Array(1)
  const single = new Float32Array(bits.buffer)
  const hex = (v: number): string => {
    single[0] = v
    return bits[0]!.toString(16).padStart(8, '0')
  }
  const a: Avatar = { Position: [0, 0, 0], Velocity: [0, 0, 0] }
  const lines = text.trimEnd().split('\n')
  for (const line of lines) {
    const [x, z, ...want] = line.split(' ')
    steer({ tickHz: 60, speed: 6, halfX: 3, halfZ: 2 }, a, { X: Number(x), Z: Number(z) })
    assert.deepEqual(
      [a.Position[0], a.Position[2], a.Velocity[0], a.Velocity[2]].map((v) => hex(v!)),
      want,
      line,
    )
  }
  assert.ok(lines.length >= 500)
})

test('without surprises nothing is corrected, and an input moves the avatar in its frame', async () => {
  const k = await new Track(60).join()
  k.run(3000)
  assert.ok(k.play.state)
  k.input = zigzag
  const ahead: number[] = []
  k.run(10_000, () => {
    const { predicted, confirmed } = k.play.stats
    ahead.push(predicted - confirmed)
    assert.equal(k.stepped.at(-1), predicted)
  })
  const { corrected, agreed, stalled, replayed } = k.play.stats
  assert.equal(corrected, 0)
  assert.equal(stalled, 0)
  assert.ok(agreed > 180, `${agreed}`)
  assert.ok(replayed < 60, `${replayed} ticks predicted again`)
  assert.ok(Math.min(...ahead) >= 7, 'a round trip ahead')
  k.input = () => ({ X: 0, Z: 0 })
  k.run(1000)
  assert.deepEqual(k.play.state!.body.Position, k.truth.Position, 'the same bits')
  k.client.close()
})

test('from the first input on each correction is explained, and a spawn needs no grid', async () => {
  for (const delay of [5, 30, 100]) {
    const counts: number[][] = []
    for (const off of [0, 1 / 1024, 1 / 512, 3 / 1024]) {
      const k = new Track(delay)
      k.truth.Position = [0.25 + off, off, -off].map(Math.fround)
      k.input = zigzag
      await k.join()
      k.run(5000)
      assert.equal(surprises(k), 0, `${delay} ms, ${off} m off the grid`)
      const { corrected, agreed } = k.play.stats
      assert.ok(corrected < 4 && agreed > 80, `${corrected} of ${agreed}`)
      counts.push([corrected, agreed])
      k.client.close()
    }
    for (const c of counts) assert.deepEqual(c, counts[0])
  }
})

test('on a busy machine each correction is explained by inputs that came late', async () => {
  let seed = 1
  const random = (): number => (seed = (seed * 48_271) % 0x7fffffff) / 0x7fffffff
  let late = 0
  for (const delay of [0, 10, 60]) {
    const k = await new Track(delay).join()
    k.run(3000)
    k.input = () => ({ X: Math.floor(255 * random()) - 127, Z: Math.floor(255 * random()) - 127 })
    k.crowded(20_000, random)
    const { corrected, missed, agreed } = k.play.stats
    assert.equal(corrected - missed, 0, `of ${corrected}`)
    assert.ok(agreed > 200, `${agreed}`)
    late += missed
    k.client.close()
  }
  assert.ok(late > 10, `${late}`)
})

test('rings and leads last as long at every tick rate', () => {
  assert.deepEqual([1, 60, 240, 1000, 65_535].map(windowOf), [4, 181, 721, 3001, 3001])
  assert.deepEqual([1, 60, 65, 240, 1000].map(inputLead), [32, 32, 33, 120, 500])
})

test('an update compares once, with the newest state', async () => {
  const k = await new Track(5).join()
  k.run(3000)
  const before = surprises(k)
  for (let push = 0; push < 10; push++) {
    k.run(100, () => {}, false) // the client draws nothing
    k.truth.Position[2] = Math.fround(k.truth.Position[2]! + 1)
  }
  k.run(6, () => {}, false)
  k.run(1)
  assert.ok(surprises(k) - before <= 1, `${surprises(k) - before}`)
  k.client.close()
})

test('a push is corrected within a round trip and an interval, and drawn smoothly', async () => {
  const k = await new Track(60).join()
  k.input = () => ({ X: 20, Z: 0 })
  k.run(3000)
  const before = surprises(k)
  for (let push = 0; push < 8; push++) {
    k.run(500 + 7 * push)
    k.truth.Position[2] = Math.fround(k.truth.Position[2]! + 1)
    const pushed = k.now
    let last = k.play.draw()!.body.Position[2]!
    let took = 0
    k.run(1000, () => {
      const drawn = k.play.draw()!.body.Position[2]!
      assert.ok(Math.abs(drawn - last) < 0.15, `a jump of ${drawn - last}`)
      last = drawn
      if (took === 0 && Math.abs(k.play.state!.body.Position[2]! - k.truth.Position[2]!) < 1 / 256)
        took = k.now - pushed
    })
    assert.ok(took > 0 && took <= 2 * 60 + 50 + 17, `${took} ms`) // 17: the next frame notices it
    assert.ok(Math.abs(last - k.truth.Position[2]) < 0.01, 'the error is gone')
    assert.equal(surprises(k) - before, push + 1)
  }
  k.truth.Position[0]! += 3
  let jumps = 0
  let last = k.play.draw()!.body.Position[0]!
  k.run(500, () => {
    const drawn = k.play.draw()!.body.Position[0]!
    if (drawn - last > 2.9) jumps++
    last = drawn
  })
  assert.equal(jumps, 1, 'beyond snap it is drawn at once')
  k.client.close()
})

test('the stats name the fields that corrections changed, and by how much', async () => {
  const k = await new Track(30).join()
  k.run(1000)
  assert.equal(k.play.stats.fields.length, 0)
  for (const by of [0.25, -1.5, 0.001]) {
    k.truth.Position[2]! += by
    k.run(300)
  }
  const { fields, corrected } = k.play.stats
  assert.equal(corrected, 2)
  assert.equal(fields.length, 1)
  const { component, field, count, tick, last, largest } = fields[0]!
  assert.deepEqual([component, field, count], ['body', 'Position[2]', 2])
  assert.ok(tick > 1000 && tick < k.tick)
  assert.ok(Math.abs(last - 1.5) < 1 / 256 && largest === last)
  k.truth.Position[2]! += 0.5
  k.run(300)
  const after = k.play.stats.fields[0]!
  assert.ok(Math.abs(after.last - 0.5) < 1 / 256 && after.largest === largest && after.count === 3)
  assert.equal(count, 2, 'stats are copies')
  k.client.close()
})

test('an effect starts once, and is undone if its tick is predicted again without it', async () => {
  const undone: unknown[] = []
  const k = await new Track(60).join({ undo: (tick, key) => undone.push([tick, key]) })
  k.input = zigzag
  k.run(2000)
  const started: number[] = []
  let wanted = true
  k.inside = (tick) => {
    if (wanted && tick % 20 === 0 && k.play.once(tick, 7)) started.push(tick)
  }
  assert.equal(k.play.once(k.play.stats.predicted, 7), false, 'outside step')
  k.run(1000)
  const before = k.play.stats.replayed
  k.truth.Position[2]! += 1
  k.run(1000)
  assert.ok(k.play.stats.replayed > before, 'ticks were predicted again')
  assert.equal(new Set(started).size, started.length)
  assert.ok(started.length >= 5)
  assert.deepEqual(undone, [])
  for (let i = 0; i < 200 && started.at(-1)! <= k.play.stats.predicted - 4; i++) k.run(5)
  const last = started.at(-1)!
  wanted = false
  k.truth.Position[2]! += 1
  k.run(1000)
  assert.deepEqual(undone, [[last, 7]])
  k.client.close()
})

test('effects of another session or entity begin in the same ticks', async () => {
  for (const key of [7, 8]) {
    for (const other of ['session', 'entity']) {
      const undone: number[] = []
      const k = await new Track(0).join({ undo: (tick) => undone.push(tick) })
      let wanted = 7
      const started: number[] = []
      k.inside = (tick) => {
        if (k.play.once(tick, wanted)) started.push(tick)
      }
      k.run(1500)
      const before = k.stepped.length
      if (other === 'session') await k.lose()
      else {
        k.enter(6)
        k.run(60, () => {}, false)
        k.drop() // they may have had rows of the other
        k.run(120)
        k.control(0n)
      }
      wanted = key
      const last = k.stepped.at(-1)!
      started.length = undone.length = k.stepped.length = 0
      if (other === 'session') {
        k.begin(1000)
        k.run(500)
      } else k.control(newHandle(6, 1))
      assert.ok(before > 50 && k.stepped[0]! <= last - 5, `${k.stepped[0]} after ${last}`)
      assert.deepEqual(started, [...new Set(k.stepped)], `${other} ${key}`)
      if (other === 'entity') assert.deepEqual(undone, [])
      k.client.close()
    }
  }
})

test('an outage pauses the prediction, which goes on when the session has resumed', async () => {
  const k = await new Track(60).join()
  k.input = zigzag
  k.run(3000)
  await k.lose()
  const { predicted } = k.play.stats
  k.run(1500, undefined, false)
  k.client.setInput({ X: 127, Z: 127 })
  assert.equal(k.play.stats.predicted, predicted, 'it stands still')
  k.resume()
  k.run(2000)
  assert.ok(k.play.stats.confirmed > predicted + 100)
  k.input = () => ({ X: 0, Z: 0 })
  k.run(1000)
  const { corrected } = k.play.stats
  k.run(1000)
  assert.equal(k.play.stats.corrected, corrected, 'all is well again')
  for (const i of [0, 2]) assert.ok(Math.abs(k.play.state!.body.Position[i]! - k.truth.Position[i]!) <= 1 / 256)
  k.client.close()
})

test('a step that throws turns the prediction off, and the session goes on', async () => {
  const k = await new Track(60).join()
  k.run(1000)
  k.inside = () => {
    throw new Error('mine')
  }
  k.run(100)
  assert.equal(k.play.error?.name, 'StepError')
  assert.match(String(k.play.error?.cause), /mine/)
  assert.equal(k.play.state, undefined)
  assert.equal(k.play.draw(), undefined)
  assert.equal(k.client.state, 'joined')
  k.client.close()
})

test('what predict needs', async () => {
  const k = await new Track(60).join()
  assert.throws(() => predict(k.client, ['body'], () => {}), /already/)
  assert.throws(() => predict(k.client, ['wings'], () => {}), /no component wings/)
  assert.throws(() => predict(k.client, [], () => {}), RangeError)
  k.client.close()
})
