package bot

import (
	"math/rand/v2"
	"time"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/wire"
)

// probe asks for handles of every sort and holds the answers against memory.
func (b *bot) probe() {
	replica := b.client.Replica()
	for i := range probesPerUpdate {
		h := b.choose(i)
		a := answer{verdict: replica.Resolve(h)}
		if e := replica.Entity(h); e != nil {
			a.present, a.handle, a.identity = true, e.Handle(), b.identityOf(e)
		}
		b.count(a.verdict)
		b.oracle.probed(h, a)
	}
}

func (b *bot) count(v wire.Verdict) {
	b.handles.Probes++
	switch v {
	case wire.Live:
		b.handles.Live++
	case wire.Hidden:
		b.handles.Hidden++
	case wire.Pending:
		b.handles.Pending++
	case wire.Stale:
		b.handles.Stale++
	}
}

// choose picks a handle to ask about, question by question in turn: two each
// that are shown, hidden and destroyed, one that is made up, and one that may
// come next.
func (b *bot) choose(question int) bulk.Handle {
	dice := b.rng.IntN
	h := b.oracle.draw(told(question%4), dice)
	if h == 0 { // nothing of that fate; another will do
		h = b.oracle.draw(toldNothing, dice)
	}
	switch {
	case question%8 == 0 || h == 0:
		return forge(b.rng, b.oracle.slots)
	case question%8 == 4:
		return neighbour(h)
	}
	return h
}

// draw picks a remembered handle of that fate; one of any fate for
// toldNothing. It is 0 if there is none, or none was hit.
func (o *oracle) draw(want told, dice func(int) int) bulk.Handle {
	if len(o.known) == 0 {
		return 0
	}
	for range searches {
		m := &o.known[dice(len(o.known))]
		if want == toldNothing || o.fate(m) == want {
			return m.handle
		}
	}
	return 0
}

// forge makes a handle up: any 64 bits, or the shape of real ones, low
// generations as likely as high ones.
func forge(dice *rand.Rand, slots uint32) bulk.Handle {
	if dice.IntN(4) == 0 {
		return bulk.Handle(dice.Uint64())
	}
	return bulk.NewHandle(dice.Uint32N(max(slots, 1)), 2*dice.Uint32N(1<<dice.UintN(17))+1)
}

// neighbour is the next tenant of h's slot: not there yet, or known.
func neighbour(h bulk.Handle) bulk.Handle {
	return bulk.NewHandle(h.Index(), h.Generation()+2)
}

// poke sends the next command, when it is due.
func (b *bot) poke(now time.Time) error {
	if b.client.State() != client.Joined || b.config.Scenario == Idle || now.Before(b.nextPoke) || len(b.unanswered) >= maxUnanswered {
		return nil
	}
	b.nextPoke = now.Add(time.Second / pokesPerSecond)
	b.poked++
	h := b.choose(b.poked)
	var args []byte
	if m := b.oracle.find(h); m != nil && m.identity != 0 {
		args = pokeArgs(m.identity)
	}
	asked, err := b.client.Command(pokeName, h, args)
	if err != nil {
		return err
	}
	b.unanswered[asked.ID()] = h
	b.handles.CommandsSent++
	return nil
}

// result takes the answer to a poke.
func (b *bot) result(r client.Result) {
	if r.Err == client.ErrUnanswered {
		b.lostResult(r)
		return
	}
	h, ok := b.unanswered[r.ID]
	if !ok || h != r.Target {
		b.oracle.confuse(r.Target, 0, "B5: answer %d is about it; the question was about %v", r.ID, h)
		return
	}
	delete(b.unanswered, r.ID)
	code := wire.CodeOf(r.Err)
	if code == wire.OK {
		b.handles.CommandsExecuted++
	} else {
		b.handles.CommandsRejected++
	}
	b.oracle.answered(h, code, r.Verdict, b.client.Replica().Structure())
}
