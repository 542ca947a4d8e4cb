// Values of fields.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Field } from '../src/fields.ts'
import { type Quaternion, quantise, restoreField } from '../src/values.ts'
import { randomOf } from './random.ts'

test('a rotation quantises to the value that it was restored from', () => {
  const next = randomOf(42)
  const out = new Uint32Array(1)
  for (let n = 2; n <= 10; n++) {
    const f = new Field('Q', 'quat', `quat ${n}`)
    f.n = n
    for (let round = 0; round < 2000; round++) {
      // Every second value is at the edge: a component is as large as the largest.
      const numbers = [0, 0, 0].map(() => Math.floor(next() * 2 ** n))
      if (round % 2) numbers[Math.floor(next() * 3)] = next() < 0.5 ? 0 : 2 ** n - 1
      const packed = numbers.reduce((v, a, i) => v + a * 2 ** (2 + i * n), Math.floor(next() * 4))
      const q = restoreField(f, Uint32Array.of(packed), 0) as Quaternion
      for (const turned of [q, q.map(Math.fround)]) {
        quantise(f, turned, out, 0)
        assert.equal(out[0], packed, `${n} bits, ${turned}`)
      }
    }
  }
})
