// The msgpack of stream messages (PROTOCOL.md, section 3), and of raw arguments (11.5).

import { ByteReader, ByteWriter, decodeText, encodeText } from './bits.ts'
import { fail } from './codes.ts'
import type { Handle } from './handles.ts'
import { maxNesting } from './limits.ts'

/** Reads the elements of a message. */
export class MsgpackReader extends ByteReader {
  #big(n: number): number {
    let v = 0
    for (let i = 0; i < n; i++) v = v * 256 + this.u8()
    return v
  }

  #big64(): bigint {
    const high = this.#big(4)
    return (BigInt(high) << 32n) | BigInt(this.#big(4))
  }

  /** Reads the head of an array of n elements, or at least n with orMore, and returns its length. */
  array(n: number, orMore = false): number {
    const c = this.u8()
    let length = -1
    if (c >> 4 === 9) length = c & 15
    else if (c === 0xdc) length = this.#big(2)
    else if (c === 0xdd) length = this.#big(4)
    if (length < n || (length > n && !orMore)) fail(`a message has ${length} elements, want ${n}`)
    return length
  }

  /** Reads an unsigned number of any form, at most max < 2^53. */
  uint(what: string, max: number): number {
    const v = this.u64(what)
    if (v > BigInt(max)) fail(`${what} is ${v}, at most ${max}`)
    return Number(v)
  }

  /** Reads an unsigned number of any form. */
  u64(what: string): bigint {
    const c = this.u8()
    if (c <= 0x7f) return BigInt(c)
    if (c >= 0xcc && c <= 0xce) return BigInt(this.#big(1 << (c - 0xcc)))
    if (c !== 0xcf) fail(`${what} is not an unsigned number`)
    return this.#big64()
  }

  /** Reads the 9 bytes of a handle. */
  handle(what: string): Handle {
    if (this.u8() !== 0xcf) fail(`${what} is not a handle`)
    return this.#big64() as Handle
  }

  /** Reads UTF-8 of min to max bytes. */
  str(what: string, max: number, min = 0): string {
    const c = this.u8()
    let n = -1
    if (c >> 5 === 5) n = c & 31
    else if (c >= 0xd9 && c <= 0xdb) n = this.#big(1 << (c - 0xd9))
    if (n < min || n > max) fail(`${what}: want a str of ${min} to ${max} bytes`)
    return decodeText(this.bytes(n))
  }

  /** Reads at most max bytes, and returns a copy. */
  bin(what: string, max: number): Uint8Array {
    const c = this.u8()
    const n = c >= 0xc4 && c <= 0xc6 ? this.#big(1 << (c - 0xc4)) : -1
    if (n < 0 || n > max) fail(`${what}: want a bin of at most ${max} bytes`)
    return this.bytes(n).slice()
  }

  /**
   * Skips one value of any type except extensions. Arrays and maps that are not empty may be
   * nested depth deep.
   */
  value(depth = maxNesting): void {
    const c = this.u8()
    let n = 0 // elements
    if (c <= 0x7f || c >= 0xe0 || c === 0xc0 || c === 0xc2 || c === 0xc3) return
    else if (c <= 0x8f) n = 2 * (c & 15)
    else if (c <= 0x9f) n = c & 15
    else if (c <= 0xbf) return void this.bytes(c & 31)
    else if (c >= 0xc4 && c <= 0xc6) return void this.bytes(this.#big(1 << (c - 0xc4)))
    else if (c === 0xca || c === 0xcb) return void this.bytes(c === 0xca ? 4 : 8)
    else if (c >= 0xcc && c <= 0xd3) return void this.bytes(1 << ((c - 0xcc) & 3))
    else if (c >= 0xd9 && c <= 0xdb) return void this.bytes(this.#big(1 << (c - 0xd9)))
    else if (c >= 0xdc) n = this.#big(c & 1 ? 4 : 2) * (c >= 0xde ? 2 : 1)
    else fail(`msgpack of type ${c.toString(16)}`)
    if (n > 0 && depth === 0) fail(`more than ${maxNesting} arrays and maps contain each other`)
    for (; n > 0; n--) this.value(depth - 1)
  }
}

/** Writes the elements of a message. */
export class MsgpackWriter extends ByteWriter {
  #big(v: number, n: number): void {
    for (let i = n - 1; i >= 0; i--) this.u8(Math.floor(v / 256 ** i) & 255)
  }

  array(n: number): void {
    if (n < 16) this.u8(0x90 | n)
    else {
      this.u8(0xdc)
      this.#big(n, 2)
    }
  }

  uint(v: number): void {
    if (v < 0x80) this.u8(v)
    else if (v < 2 ** 32) {
      const size = v < 256 ? 0 : v < 65_536 ? 1 : 2
      this.u8(0xcc + size)
      this.#big(v, 1 << size)
    } else this.u64(BigInt(v))
  }

  u64(v: bigint): void {
    this.u8(0xcf)
    this.#big(Number(v >> 32n), 4)
    this.#big(Number(v & 0xffffffffn), 4)
  }

  str(s: string): void {
    const b = encodeText(s)
    if (b.length < 32) this.u8(0xa0 | b.length)
    else this.#length(0xd9, b.length)
    this.bytes(b)
  }

  bin(b: Uint8Array): void {
    this.#length(0xc4, b.length)
    this.bytes(b)
  }

  #length(first: number, n: number): void {
    const size = n < 256 ? 0 : n < 65_536 ? 1 : 2
    this.u8(first + size)
    this.#big(n, 1 << size)
  }

  /** Writes any value of a raw command's arguments. */
  value(v: unknown): void {
    if (v === null || v === undefined) this.u8(0xc0)
    else if (typeof v === 'boolean') this.u8(v ? 0xc3 : 0xc2)
    else if (typeof v === 'number') this.#number(v)
    else if (typeof v === 'bigint') this.u64(BigInt.asUintN(64, v))
    else if (typeof v === 'string') this.str(v)
    else if (v instanceof Uint8Array) this.bin(v)
    else if (Array.isArray(v)) {
      this.array(v.length)
      for (const x of v) this.value(x)
    } else if (typeof v === 'object') {
      const all = Object.entries(v)
      this.u8(0xde)
      this.#big(all.length, 2)
      for (const [key, x] of all) {
        this.str(key)
        this.value(x)
      }
    } else throw new TypeError(`cannot encode a ${typeof v}`)
  }

  #number(v: number): void {
    if (Number.isSafeInteger(v) && !Object.is(v, -0)) {
      if (v >= 0) this.uint(v)
      else {
        this.u8(0xd3)
        this.#big(Number(BigInt.asUintN(64, BigInt(v)) >> 32n), 4)
        this.#big(v >>> 0, 4)
      }
      return
    }
    const b = new DataView(new ArrayBuffer(8))
    b.setFloat64(0, v)
    this.u8(0xcb)
    this.bytes(new Uint8Array(b.buffer))
  }
}
