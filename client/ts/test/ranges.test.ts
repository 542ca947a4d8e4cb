// Handles of earlier worlds, when a client enters another one.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Welcome } from '../src/messages.ts'
import { PastRanges } from '../src/ranges.ts'

const block = 100
const welcome = (epoch: number, k: number, blocks = 1) =>
  ({
    epoch: BigInt(epoch),
    generationFloor: k * block + 1,
    generationCeiling: (k + blocks) * block - 1,
  }) as Welcome

test('the game keeps its handles only where none of them can name another entity', () => {
  const p = new PastRanges()
  for (const [m, want] of [
    [welcome(1, 5), 'same'],
    [welcome(1, 5), 'same'],
    [welcome(2, 7), 'fresh'],
    [welcome(3, 2), 'fresh'],
    [welcome(1, 5), 'reused'], // the first room again: stale handles would be live
    [welcome(4, 7), 'fresh'], // the game has forgotten the second
    [welcome(5, 0, 1000), 'reused'],
    [welcome(6, 400), 'reused'],
  ] as const)
    assert.equal(p.enterWorld(m), want, `epoch ${m.epoch}`)
  for (let k = 0; k < 63; k++) assert.equal(p.enterWorld(welcome(7 + k, k)), 'fresh')
  assert.equal(p.enterWorld(welcome(999, 999)), 'reused', 'too many to remember')
})
