package server

import "github.com/worldd/worldd/bulk"

// Teach is what a game would do that sends the session's client h by ways of its own.
func (s *Session) Teach(h bulk.Handle) {
	if s.viewer != nil {
		s.viewer.Teach(h)
	}
}
