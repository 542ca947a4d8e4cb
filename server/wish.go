package server

import "github.com/worldd/worldd/server/session"

// Errors of Session.Grant.
var (
	ErrNotWished = session.ErrNotWished
	ErrNotNew    = session.ErrNotNew
)
