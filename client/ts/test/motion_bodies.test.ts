import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Oracle } from './oracle.ts'

test('bodies equal the world after each complete snapshot, whatever the link does', () => {
  let compared = 0
  let audits = 0
  let rerun = 0
  for (let seed = 1; seed <= 12; seed++) {
    const o = new Oracle(seed, 60)
    for (let i = 0; i < 400; i++) o.step()
    assert.equal(o.stats.faults, 0, `seed ${seed}`)
    assert.equal(o.diverged, 0)
    compared += o.compared
    audits += o.stats.audited
    rerun += o.stats.rerun
  }
  assert.ok(compared > 10_000 && audits > 500 && rerun > 1_000, `${compared} states, ${audits} audits, ${rerun} rerun`)
})
