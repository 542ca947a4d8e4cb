package botrun

import (
	"time"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/replication/wire"
)

// poker sends commands about handles of every kind, if the behavior has such a command.
type poker struct {
	*core
	next  time.Time
	poked int
}

// pokeIfDue sends a poke if the next one is due.
func (p *poker) pokeIfDue(now time.Time) error {
	poke := p.behavior.Poke
	if poke == nil || p.config.Scenario == bot.Idle || now.Before(p.next) || len(p.unanswered) >= maxUnanswered {
		return nil
	}
	p.next = now.Add(time.Second / pokesPerSecond)
	p.poked++
	h := p.chooseHandle(p.poked)
	if taught := p.oracle.taught.Draw(p.rng.IntN); p.poked%8 == 6 && taught != 0 {
		h = taught
	}
	var identity uint64
	if m := p.oracle.find(h); m != nil {
		identity = m.identity
	}
	asked, err := poke(h, identity)
	if err != nil {
		return err
	}
	p.unanswered[asked.ID()] = h
	p.handles.CommandsSent++
	return nil
}

// takeResult checks the answer to a poke (B5), and reports whether r is one.
func (p *poker) takeResult(r client.Result) bool {
	h, ok := p.unanswered[r.ID]
	if !ok {
		return false
	}
	delete(p.unanswered, r.ID)
	switch {
	case h != r.Target:
		p.oracle.reportConfusion(r.Target, 0, "B5: answer %d names it, but the command named %v", r.ID, h)
	case r.Err == client.ErrUnanswered:
		if r.Verdict != wire.Pending {
			p.oracle.reportConfusion(h, 0, "B5: command %d was reported lost with verdict %v", r.ID, r.Verdict)
		}
	default:
		code := wire.CodeOf(r.Err)
		p.countAnswer(code)
		p.oracle.learnHandle(p.client.Controlled()) // a Control named it
		p.oracle.checkAnswer(h, code, r.Verdict)
	}
	return true
}
