package client

// MaxUnanswered is how many commands may wait for their answers.
const MaxUnanswered = maxUnanswered

// StatesOf is how many states are kept of e.
func StatesOf(e *Entity) int { return len(e.states.ticks) }

// KeepFor has r keep the states of so many ticks, as Session.Render does.
func (r *Replica) KeepFor(ticks uint32) { r.span = ticks }
