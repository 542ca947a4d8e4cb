// The rings of a prediction.

/**
 * Bounds the time that unconfirmed predicted ticks may span, in seconds. At the bound the
 * predicted state stands still, and inputs are still sent.
 */
const maxPredicted = 3
/** The highest tick rate for which rings reach back maxPredicted. */
const maxTickHz = 1000
/** Bounds the effects of a tick. */
export const maxOnce = 8

/** The size of the rings at a tick rate: the confirmed tick and the ticks of maxPredicted. */
export function windowOf(tickHz: number): number {
  return Math.floor(maxPredicted * Math.min(tickHz, maxTickHz)) + 1
}
