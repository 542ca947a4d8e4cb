// Calls of a game's functions.

/** Calls a function of the game. An exception is reported, and does not interrupt the client. */
export function guard(call: () => void): void {
  try {
    call()
  } catch (thrown) {
    reportThrown(thrown)
  }
}

/** Reports what a function of the game threw, as browsers report uncaught errors. */
export function reportThrown(thrown: unknown): void {
  if (typeof reportError === 'function') reportError(thrown)
  else
    queueMicrotask(() => {
      throw thrown
    })
}
