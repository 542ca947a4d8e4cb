package server

import "github.com/worldd/worldd/server/session"

// Errors of Session.Send and Session.Grant.
var (
	// ErrEventRefused is Session.Send's error for a client with too many unsent events.
	ErrEventRefused = session.ErrEventRefused
	ErrNotWished    = session.ErrNotWished
	ErrNotNew       = session.ErrNotNew
)
