package client

// StatesOf is how many states are kept of e.
func StatesOf(e *Entity) int { return len(e.states.ticks) }

// KeepFor has r keep the states of so many ticks, as Session.Render does.
func (r *Replica) KeepFor(ticks uint32) { r.span = ticks }

// Crowded says whether so many inputs wait that a Client sends them unasked.
func (s *Session) Crowded() bool { return s.inputs.unsent >= maxUnsent }
