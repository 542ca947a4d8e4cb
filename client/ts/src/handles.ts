// Handles: a slot index and the generation of its tenant.

declare const brand: unique symbol

/**
 * The name of one entity for ever: generation · 2^32 + index, as in the Go client. It can be
 * compared with ===, be a key of a Map, and be sent to other players in digits.
 */
export type Handle = bigint & { readonly [brand]: true }

/** The handle of no entity. */
export const none = 0n as Handle

/** Returns the handle of a slot's tenant. */
export function newHandle(index: number, generation: number): Handle {
  return ((BigInt(generation) << 32n) | BigInt(index)) as Handle
}

/** Returns the slot of a handle. */
export function indexOf(h: bigint): number {
  return Number(h & 0xffffffffn)
}

/** Returns the generation of a handle. Generations of entities are odd. */
export function generationOf(h: bigint): number {
  return Number(h >> 32n)
}

/** Returns a handle as worldd prints it: 17v3, or none. */
export function formatHandle(h: bigint): string {
  return h === 0n ? 'none' : `${indexOf(h)}v${generationOf(h)}`
}

/** Reads what formatHandle writes. It returns undefined for anything else. */
export function parseHandle(text: string): Handle | undefined {
  if (text === 'none') return none
  const m = /^(\d{1,10})v(\d{1,10})$/.exec(text)
  if (!m) return undefined
  const index = Number(m[1])
  const generation = Number(m[2])
  return index < 2 ** 32 && generation < 2 ** 32 ? newHandle(index, generation) : undefined
}

/** Provisional handles have generation 2 (PROTOCOL.md, section 11.6). */
export const provisionalGeneration = 2

/** Reports whether a client made h, for an entity that the server has not created yet. */
export function isProvisional(h: bigint): boolean {
  return h >> 32n === 2n
}

/** The state of a handle as known to the client (PROTOCOL.md, section 11.1). */
export type Verdict = 'pending' | 'live' | 'hidden' | 'stale' | 'provisional'

/** The verdicts by their numbers in a Result. */
export const verdicts: readonly Verdict[] = ['pending', 'live', 'hidden', 'stale', 'provisional']
