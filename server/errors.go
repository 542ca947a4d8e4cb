package server

import "github.com/worldd/worldd/server/session"

// Errors of Session.Send and Session.Bind.
var (
	// ErrEventRefused is Session.Send's error for a client with too many unsent events.
	ErrEventRefused   = session.ErrEventRefused
	ErrNotProvisional = session.ErrNotProvisional
	ErrNotNew         = session.ErrNotNew
)
