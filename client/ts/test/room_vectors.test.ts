// Queries for rooms and lists of rooms, as the vectors have them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WireError } from '../src/codes.ts'
import { parseQuery, parseRooms } from '../src/rooms.ts'
import { lines } from './vectors.ts'

interface Case {
  query?: string
  kind?: string
  attributes?: Record<string, string>
  rooms?: string
  infos?: { name: string; players: number; free: number; attributes: Record<string, string> }[]
}

test('rooms.jsonl', () => {
  let read = 0
  for (const c of lines<Case>('rooms.jsonl')) {
    read++
    const about = JSON.stringify(c)
    if (c.query !== undefined) {
      if (c.kind === undefined) {
        assert.throws(() => parseQuery(c.query!), WireError, about)
        continue
      }
      const q = parseQuery(c.query)
      assert.equal(q.kind, c.kind)
      assert.deepEqual(Object.fromEntries(q.attributes), c.attributes, about)
      continue
    }
    if (c.infos === undefined) {
      assert.throws(() => parseRooms(c.rooms!), WireError, about)
      continue
    }
    const infos = parseRooms(c.rooms!).map((i) => ({ ...i, attributes: Object.fromEntries(i.attributes) }))
    assert.deepEqual(infos, c.infos, about)
  }
  assert.ok(read > 40)
})
