/**
 * Returns a foreign text with unprintable characters escaped as in JSON: escape codes, line
 * ends, and marks that change the direction of text could forge the content of a page or a
 * log. The Go package printable does the same.
 */
export function printable(text: string): string {
  return text.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]|\ufffd/gu, (c) => short[c] ?? c.split('').map(escaped).join(''))
}

const short: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
