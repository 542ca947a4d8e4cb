// Bits and bytes as PROTOCOL.md, section 2, writes them.

import { fail } from './codes.ts'

/**
 * Reads bit strings and bytes. A read beyond the end returns zeros and is noted: call
 * expectEnd or check before using what was read.
 */
export class BitReader {
  #b: Uint8Array = empty
  #at = 0 // index of the next byte in b
  #end = 0
  #acc = 0 // bits read from b and not yet taken
  #n = 0 // number of bits in acc
  #short = false
  #wrong = '' // the first error of a reader's form

  reset(b: Uint8Array, from = 0, to = b.length): void {
    this.#b = b
    this.#at = from
    this.#end = to
    this.#acc = this.#n = 0
    this.#short = false
    this.#wrong = ''
  }

  /** Reads n bits, 0 to 24. */
  bits(n: number): number {
    while (this.#n < n) {
      if (this.#at < this.#end) {
        this.#acc |= this.#b[this.#at]! << this.#n
      } else {
        this.#short = true
      }
      this.#at++
      this.#n += 8
    }
    const v = this.#acc & ((1 << n) - 1)
    this.#acc >>>= n
    this.#n -= n
    return v
  }

  /** Reads n bits, 0 to 32. */
  long(n: number): number {
    if (n <= 24) return this.bits(n)
    const low = this.bits(16)
    return (low | (this.bits(n - 16) << 16)) >>> 0
  }

  /** The number of bits taken, from the beginning of the array. */
  get taken(): number {
    return 8 * this.#at - this.#n
  }

  /** Returns the next 12 bits, zeros beyond the end. skip takes n of them. */
  peek(): number {
    while (this.#n < 12) {
      if (this.#at < this.#end) this.#acc |= this.#b[this.#at]! << this.#n
      this.#at++
      this.#n += 8
    }
    return this.#acc & 0xfff
  }

  skip(n: number): void {
    this.#acc >>>= n
    this.#n -= n
  }

  /** Reads section 2's sized(v). */
  sized(): number {
    const c = this.bits(2)
    const v = this.long(4 << c)
    if (c > 0 && v < 2 ** (4 << (c - 1))) this.refuse('a number is not in its shortest form')
    return v
  }

  /** Reads section 2's golomb(k, v). */
  golomb(k: number): number {
    let m = k
    for (;;) {
      const zeros = ~this.peek() | 0x1000 // the lowest zero of 12 bits, or bit 12
      const ones = 31 - Math.clz32(zeros & -zeros)
      m += ones
      if (m > 32) {
        this.refuse('a number is too long')
        return 0
      }
      if (ones < 12) {
        this.skip(ones + 1)
        break
      }
      this.skip(12)
    }
    const v = 2 ** m + this.long(m) - 2 ** k
    if (v > 0xffffffff) {
      this.refuse('a number exceeds 32 bits')
      return 0
    }
    return v
  }

  /** Notes an error that check throws. */
  refuse(detail: string): void {
    if (this.#wrong === '') this.#wrong = detail
  }

  /** Throws if a read went beyond the end or found malformed data. */
  check(): void {
    if (this.#short || this.#at - (this.#n >> 3) > this.#end) fail('a bit string ends early')
    if (this.#wrong !== '') fail(this.#wrong)
  }

  /** Checks the padding of a bit string before bytes, and returns where the bytes begin. */
  endBytes(): number {
    this.check()
    if (this.bits(this.#n & 7) !== 0) fail('the padding of a bit string is not zero')
    return this.#at - (this.#n >> 3)
  }

  /** Throws unless only the padding is left. */
  expectEnd(): void {
    this.check()
    if (this.#end - this.#at > 0 || this.#n >= 8 + 8 * Math.max(this.#at - this.#end, 0))
      fail('bytes follow a bit string')
    if (this.#acc !== 0) fail('the padding of a bit string is not zero')
  }
}

const empty = new Uint8Array(0)

/** Writes a bit string. */
export class BitWriter {
  #b = new Uint8Array(64)
  #bit = 0

  /** Writes the lowest n bits of v, n at most 32. */
  bits(v: number, n: number): void {
    if (this.#bit + n > 8 * this.#b.length) {
      const more = new Uint8Array(2 * this.#b.length)
      more.set(this.#b)
      this.#b = more
    }
    for (let i = 0; i < n; i++) {
      if ((v >>> i) & 1) this.#b[this.#bit >> 3]! |= 1 << (this.#bit & 7)
      this.#bit++
    }
  }

  sized(v: number): void {
    let c = 0
    while (c < 3 && v >= 2 ** (4 << c)) c++
    this.bits(c, 2)
    this.bits(v, 4 << c)
  }

  /** Returns a copy of the bytes written. */
  bytes(): Uint8Array {
    return this.#b.slice(0, (this.#bit + 7) >> 3)
  }
}

const encoder = new TextEncoder()
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads bytes, and throws if they are malformed. */
export class ByteReader {
  readonly b: Uint8Array
  at: number
  readonly #end: number

  constructor(b: Uint8Array, from = 0, to = b.length) {
    this.b = b
    this.at = from
    this.#end = to
  }

  get left(): number {
    return this.#end - this.at
  }

  u8(): number {
    if (this.at >= this.#end) fail('a message ends early')
    return this.b[this.at++]!
  }

  u16(): number {
    return this.u8() | (this.u8() << 8)
  }

  u32(): number {
    return (this.u16() | (this.u16() << 16)) >>> 0
  }

  /** Reads LEB128 of at most 32 bits in its shortest form. */
  uvarint(what: string, most = 0xffffffff): number {
    let v = 0
    for (let shift = 0; ; shift += 7) {
      const c = this.u8()
      v += (c & 0x7f) * 2 ** shift
      if (c < 0x80) {
        if (c === 0 && shift > 0) fail(`${what} is not in its shortest form`)
        if (v > most) fail(`${what} is ${v}, at most ${most}`)
        return v
      }
      if (shift === 28) fail(`${what} is too long`)
    }
  }

  /** Returns a view of the next n bytes. */
  bytes(n: number): Uint8Array {
    if (n > this.left) fail('a message ends early')
    this.at += n
    return this.b.subarray(this.at - n, this.at)
  }

  expectEnd(): void {
    if (this.left > 0) fail(`${this.left} bytes follow a message`)
  }
}

/** Encodes UTF-8. */
export function encodeText(s: string): Uint8Array {
  return encoder.encode(s)
}

/** Decodes UTF-8, and throws if it is malformed. */
export function decodeText(b: Uint8Array): string {
  try {
    return utf8.decode(b)
  } catch {
    return fail('a text is not UTF-8')
  }
}

/** Writes bytes. */
export class ByteWriter {
  #b = new Uint8Array(128)
  #n = 0

  #grow(n: number): number {
    if (this.#n + n > this.#b.length) {
      const more = new Uint8Array(Math.max(2 * this.#b.length, this.#n + n))
      more.set(this.#b)
      this.#b = more
    }
    this.#n += n
    return this.#n - n
  }

  reset(): void {
    this.#n = 0
  }

  u8(v: number): void {
    const at = this.#grow(1) // first, since it may replace this.#b
    this.#b[at] = v
  }

  u32(v: number): void {
    const at = this.#grow(4)
    for (let i = 0; i < 4; i++) this.#b[at + i] = v >>> (8 * i)
  }

  uvarint(v: number): void {
    for (; v >= 0x80; v = Math.floor(v / 128)) this.u8((v % 128) | 0x80)
    this.u8(v)
  }

  bytes(b: Uint8Array): void {
    const at = this.#grow(b.length)
    this.#b.set(b, at)
  }

  /** Returns a copy of the bytes written. */
  take(): Uint8Array {
    return this.#b.slice(0, this.#n)
  }

  /** Returns the bytes written, valid until the next write. */
  view(): Uint8Array {
    return this.#b.subarray(0, this.#n)
  }
}
