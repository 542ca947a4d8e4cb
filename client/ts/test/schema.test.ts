import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeText } from '../src/bits.ts'
import { parseSchema } from '../src/schema_parser.ts'
import { bytes, lines } from './vectors.ts'

interface Line {
  about: string
  text?: string
  bytes?: string
  valid: boolean
  hash?: string
}

test('schemas.jsonl', () => {
  const all = lines<Line>('schemas.jsonl')
  assert.ok(all.length > 100)
  for (const line of all) {
    const parse = () => parseSchema(line.bytes === undefined ? (line.text ?? '') : decodeText(bytes(line.bytes)))
    if (line.valid) assert.equal(parse().hash.toString(16).padStart(16, '0'), line.hash, line.about)
    else assert.throws(parse, { name: 'WireError', code: 1 }, line.about)
  }
})
