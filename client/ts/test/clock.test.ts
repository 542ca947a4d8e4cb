// The moment to show, as in the Go client.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Allowance, Clock, Renderer } from '../src/clock.ts'
import { StateHeader } from '../src/state.ts'
import { Timeline } from '../src/timeline.ts'
import { randomOf } from './random.ts'

test('an allowance gives what sorting its samples gives', () => {
  const random = randomOf(1)
  const a = new Allowance()
  const samples: { at: number; delay: number }[] = []
  let now = 0
  for (let i = 0; i < 1000; i++) {
    now += (random() * 1000) / (1 + i / 10)
    const delay = Math.floor(random() * 200)
    samples.push({ at: now, delay })
    const newest = samples.slice(-128)
    const counted = newest
      .filter(({ at }, j) => newest.length - j <= 8 || now - at <= 4000)
      .map((s) => s.delay)
      .sort((x, y) => x - y)
    const n = counted.length
    a.add(now, delay)
    assert.equal(
      a.exceededDelay(now),
      counted[n - 1 - (n < 8 ? 0 : Math.max(Math.floor(n / 50), 1))],
      `after ${i + 1} samples`,
    )
  }
})

test('the lag recovers after a link has stood still once, and stalls that recur count', () => {
  for (const apart of [1, 2, 3, 6]) {
    const c = new Clock(60)
    const r = new Renderer()
    let now = 0
    let tick = 600
    let stuck = 0 // end of the link's stall
    const waiting: number[] = []
    const play = (ms: number): void => {
      for (const end = now + ms; now < end; now++) {
        if (now % Math.round((apart * 50) / 3) === 0) waiting.push((tick += apart))
        while (now >= stuck && waiting.length > 0) {
          const before = c.tick
          const newest = waiting.shift()!
          c.recordSnapshot(now, newest, before)
          r.recordSnapshot(now, c, before)
        }
        r.advance(now, c)
      }
    }
    play(3000)
    const usual = r.delay.value
    stuck = now + 300
    play(2300)
    assert.ok(r.delay.value <= usual + 150, `${r.delay.value} ms, usually ${usual}`)
    play(3000)
    assert.ok(r.delay.value <= usual + 30, `${r.delay.value} ms, usually ${usual}`)
    for (let i = 0; i < 8; i++) {
      stuck = now + 300
      play(1000)
    }
    if (apart <= 3) assert.ok(Math.abs(r.delay.value - usual - 300) < 100, `${r.delay.value} ms, usually ${usual}`)
  }
})

test('motion after rest is blended over two snapshots at most', () => {
  const timeline = new Timeline()
  timeline.snapshots.setInterval(3)
  const header = new StateHeader()
  for (const tick of [97, 100]) timeline.add(Object.assign(header, { seq: tick, tick, rows: 1 }))
  const from = (shown: number, known: number): number => {
    timeline.show(shown)
    return timeline.blendFrom(100, known)
  }
  assert.deepEqual([from(80, 97), from(80, 50), from(96, 50), from(200, 50)], [0, 94, 96, 99])
})
