package server

import "github.com/worldd/worldd/server/session"

// Errors of Session.Send and Session.Grant.
var (
	// ErrEventRefused is Session.Send's error for a client that has too much to receive.
	ErrEventRefused = session.ErrEventRefused
	ErrNotWished    = session.ErrNotWished
	ErrNotNew       = session.ErrNotNew
)
