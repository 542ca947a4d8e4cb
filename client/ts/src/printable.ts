/**
 * Returns a text of others as JSON escapes it where it is not printable: escape codes, line
 * ends, and marks that change the direction of text, which would forge what a page or a log shows. It
 * is the Go package printable.
 */
export function printable(text: string): string {
  return text.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]|\ufffd/gu, (c) => short[c] ?? c.split('').map(escaped).join(''))
}

const short: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
