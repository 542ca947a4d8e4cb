package bot

import (
	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// answer is what a replica says of a handle.
type answer struct {
	verdict  wire.Verdict
	present  bool        // it has an entity to show
	handle   bulk.Handle // the entity's
	identity uint64      // the entity's
}

// probed holds the answer to Resolve(h), and the entity that came with it,
// against memory (B3, B4).
func (o *oracle) probed(h bulk.Handle, a answer) {
	if a.present && a.handle != h {
		o.confuse(h, a.identity, "B4: resolves to the entity %v", a.handle)
		return
	}
	if a.present != (a.verdict == wire.Live) {
		o.confuse(h, a.identity, "B4: %v, and its entity is there: %t", a.verdict, a.present)
		return
	}
	fate, sure := o.fateOf(h)
	if !sure {
		return
	}
	want := fate.verdictOf()
	if fate == toldNothing && !o.issuable(h) {
		want = wire.Stale
	}
	if a.verdict != want {
		o.confuse(h, a.identity, "B3: %v is resolved as %v", fate, a.verdict)
		return
	}
	if m := o.find(h); m != nil && a.present && a.identity != m.identity {
		o.confuse(h, a.identity, "B4: resolves to an entity of another identity")
	}
}

// codeVerdict says what a command's code claims about its target. It fails for
// codes that claim nothing.
func codeVerdict(code wire.Code) (wire.Verdict, bool) {
	switch code {
	case wire.OK, wire.BadArguments, wire.CommandRefused, wire.IdentityFault:
		return wire.Live, true // it came as far as the game
	case wire.StaleHandle:
		return wire.Stale, true
	case wire.HiddenHandle:
		return wire.Hidden, true
	case wire.UnknownHandle:
		return wire.Pending, true
	}
	return 0, false
}

// answered holds the server's answer to a command about h against memory (B5).
// structure is the number of structure records applied by now: the answer
// stands behind them on the ordered lane.
func (o *oracle) answered(h bulk.Handle, code wire.Code, verdict wire.Verdict, structure uint32) {
	claim, ok := codeVerdict(code)
	if !ok {
		return // about the command, not about the handle
	}
	if claim != verdict {
		o.confuse(h, 0, "B5: %v, with the verdict %v", code, verdict)
		return
	}
	if code == wire.IdentityFault {
		o.confuse(h, 0, "B5: the server knows it by another identity")
		return
	}
	fate, sure := o.fateOf(h)
	if !sure || fate.verdictOf() == claim {
		return
	}
	m := o.find(h)
	switch {
	case claim == wire.Stale && !o.issuable(h):
	case claim == wire.Stale:
		if m != nil {
			m.doubted = true
		}
		o.doubts = append(o.doubts, doubt{h, structure})
	default:
		o.confuse(h, 0, "B5: %v on this side, %v by the server's answer (%v)", fate, claim, code)
	}
}

// reached notes the tick of the newest snapshot, and the highest structure number of
// one that was applied.
func (o *oracle) reached(tick, structure uint32) {
	o.tick = tick
	o.settle(structure)
}

// settle looks at the handles that an answer called stale before a snapshot of that
// structure number was made: by then the server must have told the same (B5). The
// structure that was applied proves less: that of one snapshot may fill several
// messages, of which only some have come.
func (o *oracle) settle(structure uint32) {
	rest := o.doubts[:0]
	for _, d := range o.doubts {
		if structure <= d.structure {
			rest = append(rest, d)
			continue
		}
		if fate, sure := o.fateOf(d.handle); sure && fate != toldDestroyed {
			o.confuse(d.handle, 0, "B5: the server called it stale, and it is still %v", fate)
		}
	}
	o.doubts = rest
}
