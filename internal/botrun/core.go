package botrun

import (
	"fmt"
	"math/rand/v2"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/replication/wire"
)

// core holds what all parts of a bot use: its client, the memory of its oracle, and the
// unanswered commands.
type core struct {
	number     int
	config     Config
	rng        *rand.Rand
	client     *client.Client // nil until the first Dial has returned
	oracle     *oracle
	handles    Handles
	unanswered map[uint32]bulk.Handle // poke -> its target
	behavior   bot.Behavior           // of this visit
	counts     map[string]uint64      // of the game's metrics
	samples    map[string][]float64   // of the game's metrics, since the last publish
}

// nameOf is the user name of a bot.
func nameOf(number int) string { return fmt.Sprintf("bot-%d", number) }

// identityOf returns the identity of an entity, or its handle in games without identities.
func (c *core) identityOf(e *client.Entity) uint64 {
	if c.behavior.Identity == nil {
		return uint64(e.Handle())
	}
	return c.behavior.Identity(e)
}

// core is the bot.Recorder of the bot's behavior.
var _ bot.Recorder = (*core)(nil)

// Count implements bot.Recorder.
func (c *core) Count(name string, n uint64) {
	if _, ok := c.counts[name]; ok {
		c.counts[name] += n
	}
}

// Sample implements bot.Recorder.
func (c *core) Sample(name string, value float64) {
	c.samples[name] = append(c.samples[name], value)
}

// Recall implements bot.Recorder.
func (c *core) Recall(h bulk.Handle) (identity uint64, verdict wire.Verdict, sure bool) {
	fate, sure := c.oracle.fateOf(h)
	if m := c.oracle.find(h); m != nil {
		identity = m.identity
	}
	return identity, fate.verdictOf(), sure
}

// Learn implements bot.Recorder.
func (c *core) Learn(h bulk.Handle) { c.oracle.learnHandle(h) }

// Report implements bot.Recorder.
func (c *core) Report(h bulk.Handle, seen uint64, format string, args ...any) {
	c.oracle.reportConfusion(h, seen, format, args...)
}

// probeHandles resolves handles of every kind and compares the answers with memory.
func (c *core) probeHandles() {
	replica := c.client.Replica()
	for i := range c.config.Probes {
		h := c.chooseHandle(i)
		a := answer{verdict: replica.Resolve(h)}
		if e := replica.Entity(h); e != nil {
			a.present, a.handle, a.identity = true, e.Handle(), c.identityOf(e)
		}
		c.countVerdict(a.verdict)
		c.oracle.checkProbe(h, a)
	}
}

// countVerdict counts the answer to a probe.
func (c *core) countVerdict(v wire.Verdict) {
	c.handles.Probes++
	switch v {
	case wire.Live:
		c.handles.Live++
	case wire.Hidden:
		c.handles.Hidden++
	case wire.Pending:
		c.handles.Pending++
	case wire.Stale:
		c.handles.Stale++
	}
}

// chooseHandle picks the handle for the next question, in rotation: two each that are shown,
// hidden and destroyed, one forged handle, and one that may be issued next.
func (c *core) chooseHandle(question int) bulk.Handle {
	dice := c.rng.IntN
	h := c.oracle.drawHandle(status(question%4), dice)
	if h == 0 { // none with that fate: take any
		h = c.oracle.drawHandle(statusUnknown, dice)
	}
	switch {
	case question%8 == 0 || h == 0:
		return forgeHandle(c.rng, c.oracle.slots)
	case question%8 == 4:
		return nextTenant(h)
	}
	return h
}

// countAnswer counts the answer to a command.
func (c *core) countAnswer(code wire.Code) {
	if code == wire.OK {
		c.handles.CommandsExecuted++
	} else {
		c.handles.CommandsRejected++
	}
}

// avatarView returns the current view of the avatar, if it is in view.
func (c *core) avatarView() (view, bool) {
	r := c.client.Replica()
	e := r.Entity(c.client.Controlled())
	body, ok := client.Body.Get(e)
	if e == nil || !ok {
		return view{}, false
	}
	s := c.client.Stats()
	_, _, exact := e.Exact()
	return view{
		tick: r.Tick(), applied: r.Stats().AppliedInput, velocity: body.Velocity,
		moment: s.Clock.Tick - s.Delay.Seconds()*s.Clock.TickHz, hz: s.Clock.TickHz,
		exact: exact,
	}, true
}

// forgetHandles replaces the oracle: it expects nothing of earlier handles.
func (c *core) forgetHandles(floor, slots uint32) {
	next := newOracle(c.number, rememberedHandles, floor, slots)
	next.forgotten, next.confusions, next.recorded = c.oracle.forgotten, c.oracle.confusions, c.oracle.recorded
	c.oracle = next
}

// endVisit forgets what the next client does not know.
func (c *core) endVisit() {
	c.forgetHandles(0, wire.MaxSlots)
	c.client = nil
	clear(c.unanswered)
}

// drawHandle returns a random remembered handle with fate want; statusUnknown means any. It
// returns 0 if there is none, or if the draws missed.
func (o *oracle) drawHandle(want status, dice func(int) int) bulk.Handle {
	if len(o.known) == 0 {
		return 0
	}
	for range searches {
		m := &o.known[dice(len(o.known))]
		if want == statusUnknown || (m.status == want || want == statusDestroyed) && o.fate(m) == want {
			return m.handle
		}
	}
	return 0
}

// forgeHandle returns a forged handle: any 64 bits, or the shape of a real handle, with low
// generations as likely as high ones.
func forgeHandle(dice *rand.Rand, slots uint32) bulk.Handle {
	if dice.IntN(4) == 0 {
		return bulk.Handle(dice.Uint64())
	}
	return bulk.NewHandle(dice.Uint32N(max(slots, 1)), 2*dice.Uint32N(1<<dice.UintN(17))+1)
}

// nextTenant returns the handle of the next tenant in h's slot, known or not.
func nextTenant(h bulk.Handle) bulk.Handle {
	return bulk.NewHandle(h.Index(), h.Generation()+2)
}
