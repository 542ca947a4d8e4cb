import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codedBytes, parseMetrics } from '../page/operator.ts'
import { notAllowed, obstacle, said, wantsToken } from '../page/words.ts'
import { WireError } from '../src/codes.ts'

test('errors have words for players', () => {
  for (const [code, words] of [[6, /full/], [7, /shutting down/], [8, /token/], [11, /answering/], [13, /operator/], [20, /banned/], [22, /time/]] as const) {
    assert.match(said(new WireError(code)), words)
  }
  assert.equal(said(new WireError(13, 'be kind')), 'The operator has ended your session. (be kind)')
  assert.match(said(new WireError(14)), /\[code 14\]/)
  assert.match(said(new Error('gone')), /gone/)
  assert.ok(wantsToken(new WireError(8)) && !wantsToken(new WireError(6)) && !wantsToken(new Error()))
})

test('a page says why it cannot connect', () => {
  const at = { origin: 'http://10.0.0.7:4434', secure: true, supported: true }
  assert.equal(obstacle(at), undefined)
  assert.match(obstacle({ ...at, supported: false })!, /no WebTransport/)
  assert.match(obstacle({ ...at, secure: false, supported: false })!, /HTTPS or localhost, not from http:\/\/10\.0\.0\.7:4434/)
  assert.match(notAllowed(at.origin), /--web-origin http:\/\/10\.0\.0\.7:4434$/)
})

test('metrics give bytes by component', () => {
  const m = parseMetrics(`# HELP worldd_bytes_total Bytes.
worldd_bytes_total{component="body",dir="coded"} 1.5e+06
worldd_bytes_total{component="text fields",dir="coded"} 12
worldd_bytes_total{component="all",dir="in"} 99
worldd_tick_overruns_total 3
`)
  assert.deepEqual([...codedBytes(m)], [['body', 1.5e6], ['text fields', 12]])
  assert.equal(m.get('worldd_tick_overruns_total'), 3)
})
