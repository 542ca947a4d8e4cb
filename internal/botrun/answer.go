package botrun

import (
	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// answer is a replica's report about a handle.
type answer struct {
	verdict  wire.Verdict
	present  bool        // an entity came with the verdict
	handle   bulk.Handle // handle of the entity
	identity uint64      // identity of the entity
}

// checkProbe compares the answer to Resolve(h), and the entity that came with it, with
// memory (B3, B4).
func (o *oracle) checkProbe(h bulk.Handle, a answer) {
	if a.present && a.handle != h {
		o.reportConfusion(h, a.identity, "B4: resolves to the entity %v", a.handle)
		return
	}
	if a.present != (a.verdict == wire.Live) {
		o.reportConfusion(h, a.identity, "B4: verdict %v, entity present: %t", a.verdict, a.present)
		return
	}
	fate, sure := o.fateOf(h)
	if !sure {
		return
	}
	want := fate.verdictOf()
	if fate == statusUnknown && !o.issuable(h) {
		want = wire.Stale
	}
	if a.verdict != want {
		o.reportConfusion(h, a.identity, "B3: %v, but resolves as %v", fate, a.verdict)
		return
	}
	if m := o.find(h); m != nil && a.present && a.identity != m.identity {
		o.reportConfusion(h, a.identity, "B4: resolves to an entity of another identity")
	}
}

// codeVerdict returns the verdict that a command's result code implies for its target,
// or false.
func codeVerdict(code wire.Code) (wire.Verdict, bool) {
	switch code {
	case wire.OK, wire.BadArguments, wire.CommandRefused, wire.IdentityFault:
		return wire.Live, true // the command reached the game
	case wire.StaleHandle:
		return wire.Stale, true
	case wire.HiddenHandle:
		return wire.Hidden, true
	case wire.UnknownHandle:
		return wire.Pending, true
	}
	return 0, false
}

// checkAnswer compares the server's answer to a command about h with memory (B5). The stream
// delivers the answer after the records on which it depends.
func (o *oracle) checkAnswer(h bulk.Handle, code wire.Code, verdict wire.Verdict) {
	claim, ok := codeVerdict(code)
	if !ok {
		return // the code concerns the command, not the handle
	}
	if claim != verdict {
		o.reportConfusion(h, 0, "B5: code %v with verdict %v", code, verdict)
		return
	}
	if code == wire.IdentityFault {
		o.reportConfusion(h, 0, "B5: the server has another identity for it")
		return
	}
	fate, sure := o.fateOf(h)
	taught := sure && fate == statusUnknown && o.taught.Has(h)
	switch {
	case !sure:
	case claim == wire.Pending && taught:
		o.reportConfusion(h, 0, "B5: an event has named it, and the server's answer is %v (%v)", claim, code)
	case claim == fate.verdictOf():
	case claim == wire.Hidden && (taught || fate == statusUnknown && o.unsure):
	case claim == wire.Hidden && fate == statusUnknown:
		o.reportConfusion(h, 0, "B5: the server called it hidden, and nothing has named it")
	case claim == wire.Stale && !o.issuable(h):
	default:
		o.reportConfusion(h, 0, "B5: %v here, but %v by the server's answer (%v)", fate, claim, code)
	}
}
