package session

import (
	"cmp"
	"errors"

	"github.com/worldd/worldd/replication/wire"
)

// executeCommands runs one tick's commands in the order sent and answers each.
func (s *Session) executeCommands(commands []wire.Command) {
	for i := range commands {
		if s.isOver() || s.kicked != nil {
			return
		}
		result := s.runCommand(&commands[i])
		bound := s.provisionals.endCommand()
		s.core.stats.ProvisionalsRejected += uint64(int(commands[i].Provisionals) - bound)
		s.core.stats.countResult(result.Code)
		s.handled++
		if bound > 0 || restsOnStructure(&result) {
			s.sendStructure()
		}
		s.sendMessage(result)
	}
}

// restsOnStructure reports whether r must follow structure records: records about its
// target, or the Destroys of entities that its answer names (R10, H3).
func restsOnStructure(r *wire.Result) bool {
	return r.Verdict == wire.Hidden || r.Verdict == wire.Stale || len(r.Answer) > 0
}

// sendStructure sends the structure records written so far.
func (s *Session) sendStructure() {
	if s.state == stateActive {
		s.sendStream(s.viewer.TakeStructure())
	}
}

// runCommand runs a command if its target is live and in the client's interest set (H2).
// The rate limit is charged for every command, including unknown ones. The verdict depends
// only on handles that the client was sent (R10 of replication), so commands cannot probe
// for entities.
func (s *Session) runCommand(c *wire.Command) (r wire.Result) {
	r = wire.Result{ID: c.ID, Target: c.Target, Verdict: wire.Live}
	allowed, ascending := s.commands.AllowN(s.core.now, 1), s.provisionals.nameInCommand(c)
	if c.Target != 0 {
		r.Verdict = s.viewer.Judge(c.Target)
		s.core.stats.countVerdict(c.Target, r.Verdict)
	}
	run, known := s.core.commands[c.Name]
	switch {
	case !allowed:
		r.Code = wire.RateLimited
	case !known:
		r.Code = wire.UnknownCommand
	case r.Verdict == wire.Stale:
		r.Code = wire.StaleHandle
	case r.Verdict == wire.Hidden:
		r.Code = wire.HiddenHandle
	case r.Verdict == wire.Pending:
		r.Code = wire.UnknownHandle
	case !ascending:
		r.Code = wire.BadArguments
	default:
		answer, err := s.callCommand(run, c)
		if err != nil {
			var deliberate bool
			r.Code, r.Text, deliberate = rejectionOf(err)
			if !deliberate {
				s.core.noteCommandError(s, c.Name, err)
			}
		} else {
			r.Answer = answer
		}
	}
	return r
}

// callCommand runs the game's function for a command.
func (s *Session) callCommand(run commandFunc, c *wire.Command) (answer []byte, err error) {
	defer s.containPanic(HookCommand)
	defer s.core.timer.end(HookCommand, s.id, c.Name, s.core.timer.begin())
	err = errHookPanicked // unless run returns
	s.setView(view{claimed: c.View})
	defer s.setView(view{})
	return run(s, c.Target, c.Args)
}

// rejectionOf returns the code and text that the client receives for a game's error; only a
// *Rejection has a text. deliberate is false if the error is neither a *Rejection nor a
// *wire.Error.
func rejectionOf(err error) (code wire.Code, text string, deliberate bool) {
	var r *Rejection
	if errors.As(err, &r) {
		return cmp.Or(r.Code, wire.CommandRefused), r.Text, true
	}
	var e *wire.Error
	if errors.As(err, &e) && e.Code != wire.OK {
		return e.Code, "", true
	}
	return wire.CommandRefused, "", false
}
