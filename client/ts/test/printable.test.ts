import assert from 'node:assert/strict'
import test from 'node:test'
import { printable, WireError } from '../src/index.ts'

// The cases of the Go package.
test('texts are printable', () => {
  const cases: [string, string][] = [
    ['', ''],
    ['plain text, Grüße, 世界 🎈', 'plain text, Grüße, 世界 🎈'],
    ['\x1b[2J\x07\n\r\t\x00', '\\u001b[2J\\u0007\\n\\r\\t\\u0000'],
    ['\u009b31m\x7f', '\\u009b31m\\u007f'],
    ['a\u202eb\u2066c\u200d', 'a\\u202eb\\u2066c\\u200d'],
    ['\u{e0001}', '\\udb40\\udc01'],
    ['\ufffd\ud800', '\\ufffd\\ud800'],
    ['C:\\new', 'C:\\new'],
  ]
  for (const [text, want] of cases) {
    assert.equal(printable(text), want)
    assert.equal(printable(want), want)
  }
})

test('the message of an error shows what a server says without its marks', () => {
  const e = new WireError(13, 'bye\x1b]0;root\x07\n\u202eadmin')
  assert.equal(
    e.message,
    'kicked: the operator or the game ended the session (bye\\u001b]0;root\\u0007\\n\\u202eadmin)',
  )
  assert.equal(e.detail, 'bye\x1b]0;root\x07\n\u202eadmin')
})
