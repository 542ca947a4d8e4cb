// The search for the inputs with which a server stepped, as in the Go client.

/** A search takes minTrials steps, or trialsPerTick for each tick searched if that is more, but at most maxTrials. */
const minTrials = 1024
const maxTrials = 4096
const trialsPerTick = 16

/**
 * Returns inputs with which a server may have stepped from tick first to last, one per tick.
 * It is undefined if no inputs within the trials give the server's state.
 * @param from - the ticks of the inputs that the server may have applied, descending; the
 * server applies an input at its tick or later, and never after a newer one
 * @param attempt - steps a tick with an input, and returns false if the result is not the
 * server's
 */
export function guessInputs(
  from: readonly number[],
  first: number,
  last: number,
  attempt: (tick: number, input: number) => boolean,
): number[] | undefined {
  const inputs: number[] = []
  let trials = Math.min(Math.max(minTrials, trialsPerTick * (last - first + 1)), maxTrials)
  const search = (tick: number, oldest: number): boolean => {
    for (const input of from) {
      if (input < oldest || trials === 0) return false
      if (input > tick) continue
      trials--
      inputs.push(input)
      if (attempt(tick, input) && (tick === last || search(tick + 1, input))) return true
      inputs.pop()
    }
    return false
  }
  return search(first, 0) ? inputs : undefined
}
