package client

import "fmt"

// State is where a Client stands.
type State uint8

// States. STATE.md of package server/session has the transitions.
const (
	Connecting   State = iota // Dial has not returned yet
	Joined                    // the server has taken it in
	Reconnecting              // the connection was lost, and another is tried
	Ended                     // for good
)

// String is the state's name in lower case.
func (s State) String() string {
	switch s {
	case Connecting:
		return "connecting"
	case Joined:
		return "joined"
	case Reconnecting:
		return "reconnecting"
	case Ended:
		return "ended"
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// StateChange is the state that a Client has come to.
type StateChange struct {
	State State
	// Err is why the connection was lost, or why the client has ended; a
	// *wire.Error if the server said so.
	Err error
	// Resumed: Joined again, and the session goes on: entities, handles and what
	// it controls are as they were. Without it all entities have left and the
	// session is another one, in which Stale handles stay Stale and all others are
	// Pending until they are shown.
	Resumed bool
	// NewWorld: Joined again, in another run of the world. All handles of before
	// are dead and to be forgotten: the same number may name somebody else.
	NewWorld bool
}
