// What a page imports.

export { Client, simulation, type StateChange } from '../../src/index.ts'

/** decodeHex returns the bytes of a hash as the server prints it. */
export function decodeHex(s: string): Uint8Array {
  return Uint8Array.from(s.match(/../g)!, (pair) => parseInt(pair, 16))
}
