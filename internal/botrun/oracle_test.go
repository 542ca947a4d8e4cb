package botrun

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

const (
	live    = wire.Live
	hidden  = wire.Hidden
	pending = wire.Pending
	stale   = wire.Stale
)

// Three tenants of slot 7, and another entity.
var (
	first  = bulk.NewHandle(7, 1)
	second = bulk.NewHandle(7, 3)
	third  = bulk.NewHandle(7, 5)
	other  = bulk.NewHandle(8, 1)
	beyond = bulk.NewHandle(4000, 1)
	nobody = bulk.NewHandle(7, 2)
)

func freshOracle() *oracle { return newOracle(0, 64, 1, 1000) }

// shows returns the answer of a replica that has h with an identity.
func shows(h bulk.Handle, identity uint64) answer {
	return answer{verdict: live, present: true, handle: h, identity: identity}
}

func says(v wire.Verdict) answer { return answer{verdict: v} }

// TestOracleAgrees: a history without contradictions causes no report.
func TestOracleAgrees(t *testing.T) {
	o := freshOracle()
	o.checkProbe(first, says(pending))
	o.checkProbe(beyond, says(stale))
	o.checkProbe(bulk.Handle(0), says(stale))
	o.checkProbe(bulk.NewHandle(7, 2), says(stale))

	o.checkEntered(first, 101)
	o.checkUpdated(first, 101)
	o.checkProbe(first, shows(first, 101))
	o.checkProbe(second, says(pending))
	o.checkAnswer(first, wire.OK, live)
	o.checkAnswer(first, wire.BadArguments, live)
	o.checkAnswer(first, wire.RateLimited, pending)

	o.checkLeft(first)
	o.checkProbe(first, says(hidden))
	o.checkAnswer(first, wire.HiddenHandle, hidden)
	o.checkEntered(first, 101)
	o.checkProbe(first, shows(first, 101))

	o.noteDestroyed(first)
	o.checkProbe(first, says(stale))
	o.checkAnswer(first, wire.StaleHandle, stale)

	o.checkEntered(third, 103)
	o.checkProbe(third, shows(third, 103))
	o.checkProbe(second, says(stale)) // unknown, but a later tenant is known
	o.learnHandle(bulk.NewHandle(9, 1))
	o.checkAnswer(bulk.NewHandle(9, 1), wire.HiddenHandle, hidden)
	o.checkProbe(bulk.NewHandle(9, 1), says(pending))
	o.checkAnswer(second, wire.StaleHandle, stale)
	o.checkAnswer(other, wire.UnknownHandle, pending)
	o.noteDestroyed(other)
	o.checkAnswer(other, wire.StaleHandle, stale)
	o.checkProbe(other, says(stale))

	require.Zero(t, o.confusions, "%v", o.recorded)
}

// TestOracleNotices breaks each invariant once, to prove that the check can fail.
func TestOracleNotices(t *testing.T) {
	for _, c := range []struct {
		name  string
		live  func(o *oracle)
		about bulk.Handle
		what  string // the broken invariant
	}{
		{"identity changes on enter", func(o *oracle) { o.checkEntered(first, 101); o.checkLeft(first); o.checkEntered(first, 102) }, first, "B1"},
		{"identity changes in a row", func(o *oracle) { o.checkEntered(first, 101); o.checkUpdated(first, 102) }, first, "B1"},
		{"two handles of one identity", func(o *oracle) { o.checkEntered(first, 101); o.checkEntered(other, 101) }, other, "B1"},
		{"no identity", func(o *oracle) { o.checkEntered(first, 0) }, first, "B1"},
		{"enters after its end", func(o *oracle) { o.checkEntered(first, 101); o.noteDestroyed(first); o.checkEntered(first, 101) }, first, "B2"},
		{"enters after an early kill", func(o *oracle) { o.noteDestroyed(first); o.checkEntered(first, 101) }, first, "B2"},
		{"enters after a later tenant", func(o *oracle) { o.checkEntered(second, 102); o.checkEntered(first, 101) }, first, "B2"},
		{"enters, of a slot that there is not", func(o *oracle) { o.checkEntered(beyond, 101) }, beyond, "B6"},
		{"enters, of an earlier run", func(o *oracle) { o.floor = 3; o.checkEntered(first, 101) }, first, "B6"},
		{"enters, and names nobody", func(o *oracle) { o.checkEntered(nobody, 101) }, nobody, "B6"},
		{"updated after its end", func(o *oracle) { o.checkEntered(first, 101); o.noteDestroyed(first); o.checkUpdated(first, 101) }, first, "B2"},
		{"updated while hidden", func(o *oracle) { o.checkEntered(first, 101); o.checkLeft(first); o.checkUpdated(first, 101) }, first, "B2"},
		{"updated and never shown", func(o *oracle) { o.checkUpdated(first, 101) }, first, "B3"},
		{"left and never shown", func(o *oracle) { o.checkLeft(first) }, first, "B3"},
		{"live after its end", func(o *oracle) {
			o.checkEntered(first, 101)
			o.noteDestroyed(first)
			o.checkProbe(first, shows(first, 101))
		}, first, "B3"},
		{"live after a later tenant", func(o *oracle) {
			o.checkEntered(first, 101)
			o.checkEntered(second, 102)
			o.checkProbe(first, shows(first, 101))
		}, first, "B3"},
		{"stale while shown", func(o *oracle) { o.checkEntered(first, 101); o.checkProbe(first, says(stale)) }, first, "B3"},
		{"hidden while shown", func(o *oracle) { o.checkEntered(first, 101); o.checkProbe(first, says(hidden)) }, first, "B3"},
		{"pending after its end", func(o *oracle) {
			o.checkEntered(first, 101)
			o.noteDestroyed(first)
			o.checkProbe(first, says(pending))
		}, first, "B3"},
		{"stale while hidden", func(o *oracle) { o.checkEntered(first, 101); o.checkLeft(first); o.checkProbe(first, says(stale)) }, first, "B3"},
		{"made up and live", func(o *oracle) { o.checkProbe(first, shows(first, 101)) }, first, "B3"},
		{"made up and hidden", func(o *oracle) { o.checkProbe(first, says(hidden)) }, first, "B3"},
		{"made up and dead before its time", func(o *oracle) { o.checkProbe(first, says(stale)) }, first, "B3"},
		{"impossible and pending", func(o *oracle) { o.checkProbe(beyond, says(pending)) }, beyond, "B3"},
		{"the entity of a later tenant", func(o *oracle) { o.checkEntered(first, 101); o.checkProbe(first, shows(second, 102)) }, first, "B4"},
		{"the entity of another identity", func(o *oracle) { o.checkEntered(first, 101); o.checkProbe(first, shows(first, 102)) }, first, "B4"},
		{"live without an entity", func(o *oracle) { o.checkEntered(first, 101); o.checkProbe(first, says(live)) }, first, "B4"},
		{"executed after its end", func(o *oracle) {
			o.checkEntered(first, 101)
			o.noteDestroyed(first)
			o.checkAnswer(first, wire.OK, live)
		}, first, "B5"},
		{"executed while hidden", func(o *oracle) { o.checkEntered(first, 101); o.checkLeft(first); o.checkAnswer(first, wire.OK, live) }, first, "B5"},
		{"made up and executed", func(o *oracle) { o.checkAnswer(first, wire.OK, live) }, first, "B5"},
		{"made up and hidden by an answer", func(o *oracle) { o.checkAnswer(first, wire.HiddenHandle, hidden) }, first, "B5"},
		{"shown and unknown to the server", func(o *oracle) { o.checkEntered(first, 101); o.checkAnswer(first, wire.UnknownHandle, pending) }, first, "B5"},
		{"destroyed and hidden by an answer", func(o *oracle) {
			o.checkEntered(first, 101)
			o.noteDestroyed(first)
			o.checkAnswer(first, wire.HiddenHandle, hidden)
		}, first, "B5"},
		{"code and verdict differ", func(o *oracle) { o.checkEntered(first, 101); o.checkAnswer(first, wire.StaleHandle, live) }, first, "B5"},
		{"another identity on the server", func(o *oracle) { o.checkEntered(first, 101); o.checkAnswer(first, wire.IdentityFault, live) }, first, "B5"},
		{"shown and called stale ahead of its Destroy", func(o *oracle) {
			o.checkEntered(first, 101)
			o.checkAnswer(first, wire.StaleHandle, stale)
			o.noteDestroyed(first)
		}, first, "B5"},
		{"hidden and called stale", func(o *oracle) {
			o.checkEntered(first, 101)
			o.checkLeft(first)
			o.checkAnswer(first, wire.StaleHandle, stale)
		}, first, "B5"},
		{"made up and called stale", func(o *oracle) { o.checkAnswer(other, wire.StaleHandle, stale) }, other, "B5"},
		{"named by an event, and the server does not know", func(o *oracle) {
			o.learnHandle(other)
			o.checkAnswer(other, wire.UnknownHandle, pending)
		}, other, "B5"},
		{"hidden by an answer ahead of its event", func(o *oracle) {
			o.checkAnswer(other, wire.HiddenHandle, hidden)
			o.learnHandle(other)
		}, other, "B5"},
		{"an event names nobody", func(o *oracle) { o.checkEntered(second, 102); o.learnHandle(nobody) }, nobody, "B5"},
		{"made up, of a slot's past, and unknown to the server", func(o *oracle) {
			o.checkEntered(third, 103)
			o.checkAnswer(first, wire.UnknownHandle, pending)
		}, first, "B5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := freshOracle()
			o.tick = 40
			c.live(o)
			require.EqualValues(t, 1, o.confusions, "%v", o.recorded)
			require.Len(t, o.recorded, 1)
			require.Equal(t, c.about, o.recorded[0].Handle)
			require.Contains(t, o.recorded[0].What, c.what+":")
			require.EqualValues(t, 40, o.recorded[0].Tick)
		})
	}
}

// TestOracleRecordsBothIdentities: a confusion reports both the remembered and the
// received identity.
func TestOracleRecordsBothIdentities(t *testing.T) {
	o := freshOracle()
	o.checkEntered(first, 0xaaaa)
	o.checkUpdated(first, 0xbbbb)
	require.Len(t, o.recorded, 1)
	require.EqualValues(t, 0xaaaa, o.recorded[0].Remembered)
	require.EqualValues(t, 0xbbbb, o.recorded[0].Seen)
	require.Equal(t, "bot 0, tick 0, 7v1: B1: its identity has changed (identity remembered 000000000000aaaa, seen 000000000000bbbb)",
		o.recorded[0].String())
}

// TestOracleForgets: memory is bounded, handles in view stay, and forgotten handles
// cause no reports.
func TestOracleForgets(t *testing.T) {
	o := newOracle(0, 8, 1, 10_000)
	keep := bulk.NewHandle(500, 1)
	o.checkEntered(keep, 5)
	for i := range uint32(100) {
		h := bulk.NewHandle(i, 1)
		o.checkEntered(h, 1000+uint64(i))
		o.checkLeft(h)
		require.LessOrEqual(t, len(o.known), 8)
		require.LessOrEqual(t, len(o.owner), 8)
	}
	require.EqualValues(t, 101-8, o.forgotten)
	o.checkProbe(keep, shows(keep, 5))
	o.checkProbe(keep, says(hidden))
	require.EqualValues(t, 1, o.confusions, "what is shown is never forgotten")

	old := bulk.NewHandle(0, 1)
	for _, v := range []answer{says(hidden), says(stale), shows(old, 1000)} {
		o.checkProbe(old, v)
	}
	o.checkAnswer(old, wire.HiddenHandle, hidden)
	o.checkEntered(old, 1000)
	require.EqualValues(t, 1, o.confusions, "%v", o.recorded)

	const flood = 1000
	for i := range uint32(flood) { // more at once than the memory holds
		o.checkEntered(bulk.NewHandle(600+i, 1), 5000+uint64(i))
	}
	require.EqualValues(t, 1, o.confusions, "%v", o.recorded)
	require.GreaterOrEqual(t, len(o.known), flood+1)
	o.oldest = 0
	o.checkEntered(bulk.NewHandle(600+flood, 1), 6000)
	require.Equal(t, examined, o.oldest, "a new handle does not examine all others")
	for i := range uint32(flood) {
		o.checkLeft(bulk.NewHandle(600+i, 1))
	}
	grown := len(o.known)
	for i := range uint32(flood / 2) {
		o.checkEntered(bulk.NewHandle(2000+i, 1), 7000+uint64(i))
	}
	require.Len(t, o.known, grown, "they replace what is not shown")
}

// TestOracleForgetsEvents: the server remembers what events have named longer than the bot. A
// bot that has forgotten an event does not report an answer that depends on it.
func TestOracleForgetsEvents(t *testing.T) {
	o := newOracle(0, 64, 1, wire.MaxSlots)
	named := func(i int) bulk.Handle { return bulk.NewHandle(uint32(1000+i), 1) }
	unseen := bulk.NewHandle(30, 1)
	for range 3 {
		for i := range taughtHandles {
			o.learnHandle(named(i))
		}
	}
	o.checkAnswer(named(0), wire.HiddenHandle, hidden)
	require.Zero(t, o.confusions, "%v", o.recorded)
	o.checkAnswer(unseen, wire.HiddenHandle, hidden)
	require.EqualValues(t, 1, o.confusions, "it remembers all, however often they were named")
	o.learnHandle(named(taughtHandles))
	o.checkAnswer(named(0), wire.HiddenHandle, hidden)
	require.EqualValues(t, 1, o.confusions, "%v", o.recorded)
	o.checkAnswer(named(1), wire.UnknownHandle, pending)
	require.EqualValues(t, 2, o.confusions, "the server knows it")
	o.beginSession()
	o.checkAnswer(unseen, wire.HiddenHandle, hidden)
	require.EqualValues(t, 3, o.confusions, "another session has named nothing")
}

// TestOracleFinds: after any order of events, the oracle finds exactly the handles that it
// remembers, and knows each slot's newest generation.
func TestOracleFinds(t *testing.T) {
	const slots, generations = 2 * tenantPage, 5
	random := rand.New(rand.NewPCG(1, 2))
	o := newOracle(0, 64, 1, slots)
	newest := map[uint32]uint32{}
	for step := range 4000 {
		h := bulk.NewHandle(random.Uint32N(slots), 2*random.Uint32N(generations)+1)
		heard := o.find(h) != nil
		switch random.IntN(4) {
		case 0:
			o.checkLeft(h)
		case 1:
			o.checkUpdated(h, uint64(h))
		case 2:
			o.checkEntered(h, uint64(h))
			heard = true
		default:
			o.noteDestroyed(h)
			heard = true
		}
		if heard {
			newest[h.Index()] = max(newest[h.Index()], h.Generation())
		}
		if step%20 != 0 {
			continue
		}
		remembered := map[bulk.Handle]*memory{}
		for i := range o.known {
			remembered[o.known[i].handle] = &o.known[i]
		}
		require.Len(t, remembered, len(o.known), "each once")
		former := 0
		for slot := range uint32(slots) {
			require.Equal(t, newest[slot], o.tenants.of(slot).generation)
			for g := range uint32(2*generations + 2) {
				h := bulk.NewHandle(slot, g)
				require.Same(t, remembered[h], o.find(h))
				if remembered[h] != nil && g != newest[slot] {
					former++
				}
			}
		}
		require.Len(t, o.former, former)
	}
	require.NotZero(t, o.forgotten)
}

// TestOracleDraws: draws find existing handles.
func TestOracleDraws(t *testing.T) {
	o := freshOracle()
	dice := rand.New(rand.NewPCG(1, 2)).IntN
	require.Zero(t, o.drawHandle(statusShown, dice))
	o.checkEntered(first, 101)
	o.checkEntered(other, 108)
	o.checkLeft(other)
	require.Equal(t, first, o.drawHandle(statusShown, dice))
	require.Equal(t, other, o.drawHandle(statusHidden, dice))
	require.Zero(t, o.drawHandle(statusDestroyed, dice))
	require.NotZero(t, o.drawHandle(statusUnknown, dice))
}
