import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BitReader, BitWriter, ByteReader, ByteWriter } from '../src/bits.ts'

test('bit strings', () => {
  const w = new BitWriter()
  for (let n = 1; n <= 32; n++) w.bits(0xdeadbeef >>> (32 - n), n)
  for (const v of [0, 15, 16, 255, 256, 65535, 65536, 0xffffffff]) w.sized(v)
  const r = new BitReader()
  r.reset(w.bytes())
  for (let n = 1; n <= 32; n++) assert.equal(r.long(n), 0xdeadbeef >>> (32 - n))
  for (const v of [0, 15, 16, 255, 256, 65535, 65536, 0xffffffff]) assert.equal(r.sized(), v)
  r.expectEnd()
})

test('the end of a bit string', () => {
  const r = new BitReader()
  r.reset(Uint8Array.of(0b00000101))
  r.bits(3)
  r.expectEnd()
  r.reset(Uint8Array.of(0b00000101))
  r.bits(2)
  assert.throws(() => r.expectEnd(), /padding/)
  r.reset(Uint8Array.of(1, 0))
  r.bits(8)
  assert.throws(() => r.expectEnd(), /follow/)
  r.reset(Uint8Array.of(0))
  r.peek() // reads beyond the end, and takes nothing
  r.skip(4)
  r.expectEnd()
  r.skip(4)
  r.check()
  r.bits(1)
  assert.throws(() => r.check(), /early/)
})

test('uvarints have one form', () => {
  for (const v of [0, 127, 128, 0xffffffff]) {
    const w = new ByteWriter()
    w.uvarint(v)
    assert.equal(new ByteReader(w.take()).uvarint('v'), v)
  }
  for (const b of [[0x80, 0], [0x80], [0xff, 0xff, 0xff, 0xff, 0x10], [0xff, 0xff, 0xff, 0xff, 0xff, 1]]) {
    assert.throws(() => new ByteReader(Uint8Array.from(b)).uvarint('v'))
  }
})

test('writers grow', () => {
  const w = new ByteWriter()
  for (let i = 0; i < 300; i++) w.u8(i)
  w.bytes(new Uint8Array(1000).fill(7))
  w.u32(0x01020304)
  const b = w.take()
  assert.equal(b.length, 1304)
  for (let i = 0; i < 300; i++) assert.equal(b[i], i & 255)
  assert.ok(b.subarray(300, 1300).every((v) => v === 7))
  assert.deepEqual([...b.subarray(1300)], [4, 3, 2, 1])
  const bits = new BitWriter()
  for (let i = 0; i < 300; i++) bits.bits(i, 9)
  const r = new BitReader()
  r.reset(bits.bytes())
  for (let i = 0; i < 300; i++) assert.equal(r.bits(9), i)
})

test('golomb', () => {
  const write = (w: BitWriter, k: number, v: number): void => {
    const u = v + 2 ** k
    const m = Math.floor(Math.log2(u))
    for (let i = k; i < m; i++) w.bits(1, 1)
    w.bits(0, 1)
    w.bits((u - 2 ** m) >>> 0, m)
  }
  for (let k = 0; k < 20; k++) {
    const all = [0, 1, 2, 3, 2 ** k, 3 * 2 ** k, 2 ** 12, 2 ** 13 - 1, 2 ** 20, 2 ** 31, 2 ** 32 - 1]
    const w = new BitWriter()
    for (const v of all) write(w, k, v)
    const r = new BitReader()
    r.reset(w.bytes())
    for (const v of all) assert.equal(r.golomb(k), v, `golomb(${k}, ${v})`)
    r.expectEnd()
  }
  for (const b of [[255, 255, 255, 255, 255, 255], [255, 255, 255, 255, 1], [255]]) {
    const r = new BitReader()
    r.reset(Uint8Array.from(b))
    r.golomb(0)
    assert.throws(() => r.check(), { code: 1 }, `${b}`)
  }
})
