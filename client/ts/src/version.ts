// Versions of a game: PROTOCOL.md, section 4.

import { maxVersion } from './limits.ts'

const form = /^v?\d{1,9}(\.\d{1,9}){0,3}([-+][0-9A-Za-z.+-]*)?$/

/** Reports whether s is a version such as 1.10.0 or v2-rc1. */
export function isVersion(s: string): boolean {
  return s.length <= maxVersion && form.test(s)
}

/** Returns a negative number if a is older than b, a positive one if it is newer. The suffix does not count. */
export function compareVersions(a: string, b: string): number {
  const x = numbersOf(a)
  const y = numbersOf(b)
  for (let i = 0; i < 4; i++) {
    const d = (x[i] ?? 0) - (y[i] ?? 0)
    if (d !== 0) return d
  }
  return 0
}

function numbersOf(version: string): number[] {
  return version
    .replace(/^v|[-+].*$/g, '')
    .split('.')
    .map(Number)
}
