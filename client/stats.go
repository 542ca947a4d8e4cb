package client

// SessionStats counts what a session asked for.
type SessionStats struct {
	Commands   uint64 // sent
	Rejected   uint64
	Unanswered uint64 // the session ended first
}

// Stats returns the counters since the start.
func (s *Session) Stats() SessionStats { return s.stats }
