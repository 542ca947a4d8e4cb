// Reads vectors whose numbers are bits in hexadecimal, from packages field and world/motion.

import { readFile } from './vectors.ts'

export function readLines<T>(path: string): T[] {
  const lines = new TextDecoder().decode(readFile(path)).trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line))
}

export function unhex(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text.match(/../g) ?? [], (x) => parseInt(x, 16))
}

const single = new Float32Array(1)
const bits = new Uint32Array(single.buffer)

export function floatOf(u: number): number {
  bits[0] = u
  return single[0]!
}

export function bitsOf(x: number): number {
  single[0] = x
  return bits[0]!
}
