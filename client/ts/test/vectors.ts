// Reads the conformance vectors of replication/wire/testdata/vectors.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = globalThis.process?.env.WORLDD_ROOT ?? '../..'

export function readFile(path: string): Uint8Array {
  return new Uint8Array(readFileSync(join(root, path)))
}

const directory = 'replication/wire/testdata/vectors'

export function readVector(name: string): Uint8Array {
  return readFile(`${directory}/${name}`)
}

/** Returns the objects of a .jsonl file. */
export function lines<T>(name: string): T[] {
  const text = new TextDecoder().decode(readVector(name))
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as T)
}

export function bytes(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))
}

export function base64(b: Uint8Array): string {
  return btoa(String.fromCharCode(...b))
}
