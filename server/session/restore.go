package session

import (
	"errors"
	"fmt"

	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
)

// RestoreSessions restores the sessions that the notes hold, before the first Tick. World must be in the
// state of the last note's frame, with the Epoch and Replication.TickBase of the run. Each session is then
// away, for a grace period that begins now: its client finds its entities by their handles as before,
// and is sent its view again.
//
// err joins the reasons for sessions that could not be restored: RestoreSession is not set, or has
// failed, after which the session has ended with Leave. Sessions without a secret, sessions that a
// later-restored room has received by a move, and with OneSessionPerUser sessions whose user has since begun
// another one (SignedInElsewhere), end too, without an error.
func (c *Core) RestoreSessions(n *Notes) (restored int, err error) {
	c.SkipIDs(n.lastID)
	if c.config.Hooks.RestoreSession == nil && n.Sessions() > 0 {
		return 0, fmt.Errorf("server: the journal holds %d sessions, and Hooks.RestoreSession is not set: their clients begin new ones", n.Sessions())
	}
	c.notes.continueFrom(n)
	c.passages.continueFrom(n)
	var errs []error
	for _, id := range n.ascending() {
		s, err := c.restoreSession(n.sessions[id])
		if err != nil {
			errs = append(errs, fmt.Errorf("server: session %d: RestoreSession: %w", id, err))
		}
		if !s.isOver() {
			restored++
		}
	}
	for _, d := range n.waiting() {
		t, err := c.restoreDeparture(&d.notedSession, d.to)
		if err != nil {
			errs = append(errs, fmt.Errorf("server: session %d, on its way to room %q: RestoreSession: %w", d.id, d.to, err))
		}
		if t != nil {
			restored++
		}
	}
	c.stats.Restored += uint64(restored)
	c.requests.noteSessions(c.Active(), c.Away())
	return restored, errors.Join(errs...)
}

// restoreSession restores a session, which may end at once. The error is RestoreSession's.
func (c *Core) restoreSession(n *notedSession) (*Session, error) {
	s := c.reviveSession(n)
	s.setEntity(n.play.entity)
	s.SetViewpoint(n.play.viewpoint)
	for _, h := range n.owned {
		s.Own(h)
	}
	s.registerSession()
	replaced := c.config.Router.restorePlacement(s)
	err := s.callRestore(n.saved)
	switch {
	case s.isOver(): // the hook has drained the server
	case err != nil:
		s.endSilently(errHookPanicked)
	case replaced != nil:
		s.endSilently(replaced)
	case len(s.secrets.newest) == 0:
		s.endSilently(&wire.Error{Code: wire.Timeout, Detail: "no client can resume it"})
	case !n.play.away:
		s.callHook(HookAway, c.config.Hooks.Away)
	}
	return s, err
}

// reviveSession returns a session of the notes, whose client is away, with a viewer and no entity yet.
func (c *Core) reviveSession(n *notedSession) *Session {
	s := newSession(c, n.identity, min(n.startTick, c.world.Tick()), n.endTick)
	s.handled = n.play.handled
	s.provisionals.continueFrom(n.play.nextInCommand, n.play.nextInInput)
	s.travel = travel{fence: n.play.structure, moves: n.moves, visited: n.visited}
	s.progress = progress{structure: s.travel.fence}
	s.secrets = n.secrets
	s.openViewer(replication.Numbers{Structure: s.travel.fence}, s.abilities)
	return s
}

// callRestore calls Hooks.RestoreSession. A panic is an error.
func (s *Session) callRestore(saved []byte) error {
	err := error(errHookPanicked) // unless RestoreSession returns
	s.callHook(HookRestore, func(s *Session) { err = s.core.config.Hooks.RestoreSession(s, saved) })
	return err
}
