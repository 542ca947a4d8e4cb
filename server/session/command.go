package session

import (
	"cmp"
	"errors"

	"github.com/worldd/worldd/replication/wire"
)

// execute runs one tick's commands in the order sent and answers each.
func (s *Session) execute(commands []wire.Command) {
	for _, command := range commands {
		if s.ended || s.kicked != nil {
			return
		}
		code, verdict, text := s.runCommand(command)
		stats := &s.core.stats
		stats.Commands++
		s.handled++
		if code == wire.OK {
			stats.Executed++
		} else {
			stats.Rejected++
			if stats.Rejections == nil {
				stats.Rejections = map[wire.Code]uint64{}
			}
			stats.Rejections[code]++
		}
		s.sendMessage(wire.TypeResult, wire.Result{ID: command.ID, Code: code, Target: command.Target, Verdict: verdict, Text: text}.Append(nil))
	}
}

// runCommand runs a command if its target is live and in the client's interest set (H2).
// The rate limit is charged for every command, including unknown ones. The verdict never
// depends on what the client was not sent (R10 of replication), so commands cannot probe
// for entities.
func (s *Session) runCommand(command wire.Command) (code wire.Code, verdict wire.Verdict, text string) {
	allowed := s.commands.AllowN(s.core.now, 1)
	verdict = wire.Live
	if command.Target != 0 {
		verdict = s.viewer.Resolve(command.Target)
		s.core.stats.CommandVerdicts[verdict]++
	}
	if !allowed {
		return wire.RateLimited, verdict, ""
	}
	run, ok := s.core.config.Game.Commands[command.Name]
	if !ok {
		return wire.UnknownCommand, verdict, ""
	}
	switch verdict {
	case wire.Stale:
		return wire.StaleHandle, verdict, ""
	case wire.Hidden:
		return wire.HiddenHandle, verdict, ""
	case wire.Pending:
		return wire.UnknownHandle, verdict, ""
	}
	if len(command.Args) > 0 && wire.CheckMsgpack(command.Args) != nil {
		return wire.BadArguments, verdict, ""
	}
	if err := s.callCommand(run, command.Target, command.Args); err != nil {
		code, text = rejection(err)
		return code, verdict, text
	}
	return wire.OK, verdict, ""
}

// rejection returns the code of a game's error for the client, and its text if it is a
// *Rejection.
func rejection(err error) (wire.Code, string) {
	var r *Rejection
	if errors.As(err, &r) {
		return cmp.Or(r.Code, wire.CommandRefused), r.Text
	}
	var e *wire.Error
	if errors.As(err, &e) && e.Code != wire.OK {
		return e.Code, ""
	}
	return wire.CommandRefused, ""
}
