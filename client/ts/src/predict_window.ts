// The rings of a prediction.

/** maxPredicted is how long the predicted ticks may last that are unconfirmed, in seconds. Beyond it the predicted state stands still, and inputs are still sent. */
const maxPredicted = 3
/** maxTickHz is the highest tick rate for which rings reach back maxPredicted. */
const maxTickHz = 1000
/** maxOnce is how many effects a tick may have. */
export const maxOnce = 8

/** windowOf is the size of the rings at a tick rate: the confirmed tick and those of maxPredicted. */
export function windowOf(tickHz: number): number {
  return Math.floor(maxPredicted * Math.min(tickHz, maxTickHz)) + 1
}
