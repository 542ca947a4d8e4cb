package server

import "github.com/worldd/worldd/server/session"

// Errors of Session.Send and Session.Bind, and of Room.Do and Server.Signal.
var (
	// ErrEventRefused is Session.Send's error for a client with too many unsent events.
	ErrEventRefused   = session.ErrEventRefused
	ErrNotProvisional = session.ErrNotProvisional
	ErrNotNew         = session.ErrNotNew
	// ErrNotRun: the function has not run, and will not. It may be repeated.
	ErrNotRun = session.ErrNotRun
	// ErrOutcomeUnknown: the function has begun. The caller cannot know whether it returned, or whether its
	// effects survive a crash.
	ErrOutcomeUnknown = session.ErrOutcomeUnknown
)
