// The search for the inputs that a server stepped with, as in the Go client.

/** A search takes minTrials steps, or as many as trialsPerTick allows for the ticks searched, but at most maxTrials. */
const minTrials = 1024
const maxTrials = 4096
const trialsPerTick = 16

/**
 * Returns inputs with which a server may have stepped from one tick to another, one for
 * each, or undefined if none of the first ones tried gives its state.
 * @param from - the ticks of the inputs that the server may have applied, descending: each is
 * applied at its tick or later, and never after a newer one
 * @param attempt - steps a tick with an input, and returns false if the server did not
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
