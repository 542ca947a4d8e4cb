// The rings of a prediction.

/** window is their size: the confirmed tick and maxPredicted more, two seconds at 60 Hz. */
export const window = 128
/** maxPredicted is how many ticks may be unconfirmed. Beyond it the predicted state stands still, and inputs are still sent. */
export const maxPredicted = window - 1
/** maxOnce is how many effects a tick may have. */
export const maxOnce = 8

export function slotOf(tick: number): number {
  return tick % window
}
