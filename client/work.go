package client

// Estimated times of the work that a server causes, in ns; see work.Budget.
const (
	datagramTime = 500
	rowTime      = 60
	recordTime   = 1000
	roomTime     = 50_000 // of a Welcome that moves the session
	schemaTime   = 100    // of each byte of its schema, and of the declared one that is bound to it
)
