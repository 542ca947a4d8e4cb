package session

import "github.com/worldd/worldd/replication/wire"

// life is the time from a session's start to its end, and what ends it.
type life struct {
	state     state
	startTick uint64
	endTick   uint64      // tick at which the Admission expires
	kicked    *wire.Error // ends the session after the current hook or at the next tick
	endReason *wire.Error // reason why the session ended
}

// state is the state of a session, as STATE.md draws it.
type state uint8

const (
	stateJoining    state = iota // Hooks.Join runs
	stateActive                  // has a connection
	stateAway                    // its connection broke, and its client may reconnect
	stateHandedOver              // it continues in another room, as another Session
	stateEnded                   // ended; removed at the end of the tick
)

// isOver reports whether the session has ended or left this room.
func (l *life) isOver() bool { return l.state >= stateHandedOver }

// hasExpired reports whether the session's Admission has expired.
func (l *life) hasExpired(tick uint64) bool { return tick >= l.endTick }

// enterState changes the state, to one that is no end.
func (l *life) enterState(next state) { l.state = next }

// endBecause ends the session.
func (l *life) endBecause(why *wire.Error) { l.state, l.endReason = stateEnded, why }

// endNext ends the session after the current hook or at the next tick.
func (l *life) endNext(why *wire.Error) { l.kicked = why }

// Ending returns why the session ended, or nil if it has not.
func (l *life) Ending() *wire.Error { return l.endReason }

// Kick ends the session, without grace, after the current hook returns or at the next
// tick. The client receives the reason, at most wire.MaxText bytes. The game decides
// whether the user may join later.
func (l *life) Kick(reason string) {
	l.endNext(&wire.Error{Code: wire.Kicked, Detail: reason})
}

// Redirect ends the session as Kick does, and sends its client to the server at address
// ("host:port") with a connect token of at most wire.MaxToken bytes. An error reports a bad
// argument.
func (l *life) Redirect(address string, token []byte) error {
	moved, err := wire.MovedTo(address, token)
	if err != nil {
		return err
	}
	l.endNext(moved)
	return nil
}
