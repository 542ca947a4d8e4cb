package bot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/replication/wire"
)

// own is the avatar of bot 0, avatar another bot's, and unseen is never shown.
var (
	own    = bulk.NewHandle(20, 3)
	avatar = bulk.NewHandle(21, 3)
	unseen = bulk.NewHandle(30, 1)
)

// hearingOracle shows first, and the avatars with the names with which they joined.
func hearingOracle() *oracle {
	o := freshOracle()
	o.tick, o.patience = 40, 600
	o.checkEntered(first, 101)
	o.checkEntered(own, 300)
	o.checkNamed(own, 300, "bot-0", true)
	o.checkEntered(avatar, 307)
	o.checkNamed(avatar, 307, "bot-7", true)
	o.heardName(o.tick, avatar, "bot-7")
	o.avatar, o.renamed = own, 3
	return o
}

func TestNameRevision(t *testing.T) {
	for name, want := range map[string]struct {
		revision  int
		known, ok bool
	}{
		"bot-7":                  {0, true, true},
		sealedName(7, 12, 307):   {12, true, true},
		sealedName(7, 12, 308):   {12, true, false},
		"bot-7 12":               {0, true, false},
		"bot-7 x 00000000":       {0, true, false},
		"bot-x":                  {0, true, false},
		"bot-7 13 " + "00000000": {13, true, false},
		"worldd watch":           {0, false, true},
		"":                       {0, false, true},
	} {
		revision, known, ok := nameRevision(name, 307)
		require.Equal(t, want.revision, revision, name)
		require.Equal(t, want.known, known, name)
		require.Equal(t, want.ok, ok, name)
	}
	require.LessOrEqual(t, len(sealedName(4095, 99999, 1<<64-1)), 24)
}

// TestOracleHears: a history without contradictions causes no report.
func TestOracleHears(t *testing.T) {
	o := hearingOracle()
	o.heardName(o.tick, avatar, sealedName(7, 1, 307))
	o.heardName(o.tick, avatar, sealedName(7, 2, 307))
	o.settleTick(45, 45)
	require.Len(t, o.awaited, 1)
	o.checkNamed(avatar, 307, sealedName(7, 2, 307), false) // the later of two names
	o.checkNamed(avatar, 307, sealedName(7, 2, 307), false)
	o.settleTick(46, 46)
	require.Empty(t, o.awaited)
	o.checkLeft(avatar)
	o.checkEntered(avatar, 307)
	o.checkNamed(avatar, 307, sealedName(7, 5, 307), true) // renamed out of view
	o.heardName(o.tick, avatar, sealedName(7, 6, 307))
	o.checkLeft(avatar)
	o.settleTick(4000, 4000) // it need not arrive any more
	o.checkNamed(own, 300, sealedName(0, 3, 300), true)
	o.checkRenamed(messages.Renamed{Player: own, Count: 2, Name: sealedName(0, 3, 300)}, sealedName(0, 3, 300), own)

	o.poked.add(first)
	o.heardScore(first, 1)
	o.poked.add(other)
	o.heardScore(other, 2)
	o.heardFlash(flash{1, 0x20005, 8}, 5)
	o.heardFlash(flash{4, 0x20009, 8}, 9)
	o.settleFlashes(9, 0x20009)

	o.heardBroken(first, third)
	o.checkAnswer(third, wire.HiddenHandle, hidden)
	o.checkProbe(third, says(pending))
	o.checkEntered(other, 108)
	o.heardBroken(other, unseen)
	o.checkAnswer(unseen, wire.HiddenHandle, hidden)
	o.noteDestroyed(first, messages.CauseBroken)
	o.noteDestroyed(other, messages.CauseBroken)
	o.noteDestroyed(avatar, messages.CauseLeft) // hidden
	o.noteDestroyed(own, messages.CauseLeft)
	o.noteDestroyed(beyond, 77) // never shown
	o.settleDeaths()
	require.Zero(t, o.confusions, "%v", o.recorded)
	require.EqualValues(t, 4, o.heard.Causes)
	require.EqualValues(t, 8, o.heard.Reliable)
	require.EqualValues(t, 2, o.heard.Unreliable)
	require.Empty(t, o.names)
}

// TestOracleHearsWrongly breaks each invariant once.
func TestOracleHearsWrongly(t *testing.T) {
	for _, c := range []struct {
		name  string
		live  func(o *oracle)
		about bulk.Handle
		what  string
	}{
		{"a name of another entity", func(o *oracle) { o.checkNamed(own, 300, sealedName(0, 1, 301), true) }, own, "B7"},
		{"an earlier name", func(o *oracle) {
			o.checkNamed(avatar, 307, sealedName(7, 2, 307), true)
			o.checkNamed(avatar, 307, sealedName(7, 1, 307), true)
		}, avatar, "B7"},
		{"the first name again", func(o *oracle) {
			o.checkNamed(avatar, 307, sealedName(7, 2, 307), true)
			o.checkNamed(avatar, 307, "bot-7", true)
		}, avatar, "B7"},
		{"a name that was not sent", func(o *oracle) { o.checkNamed(own, 300, sealedName(0, 4, 300), true) }, own, "B7"},
		{"a name that does not come", func(o *oracle) {
			o.heardName(o.tick, avatar, sealedName(7, 1, 307))
			o.settleTick(639, 639)
			o.settleTick(640, 640)
		}, avatar, "B7"},
		{"a name that does not come while the stream waits", func(o *oracle) {
			o.heardName(o.tick, avatar, sealedName(7, 1, 307))
			o.settleTick(9000, 639)
			o.settleTick(9000, 640)
		}, avatar, "B7"},
		{"a name without an event", func(o *oracle) { o.checkNamed(avatar, 307, sealedName(7, 1, 307), false) }, avatar, "B8"},
		{"an event with a name of another", func(o *oracle) { o.heardName(o.tick, avatar, sealedName(7, 1, 300)) }, avatar, "B8"},
		{"an event twice", func(o *oracle) {
			o.heardName(o.tick, avatar, sealedName(7, 1, 307))
			o.heardName(o.tick, avatar, sealedName(7, 1, 307))
			o.checkNamed(avatar, 307, sealedName(7, 1, 307), false)
		}, avatar, "B8"},
		{"events in another order", func(o *oracle) {
			o.heardName(o.tick, avatar, sealedName(7, 2, 307))
			o.heardName(o.tick, avatar, sealedName(7, 1, 307))
		}, avatar, "B8"},
		{"joined twice", func(o *oracle) { o.heardName(o.tick, avatar, "bot-7") }, avatar, "B8"},
		{"joined ahead of its Enter", func(o *oracle) { o.heardName(o.tick, other, "bot-9") }, other, "B8"},
		{"named while hidden", func(o *oracle) { o.checkLeft(avatar); o.heardName(o.tick, avatar, sealedName(7, 1, 307)) }, avatar, "B8"},
		{"broken ahead of its Enter", func(o *oracle) { o.heardBroken(other, 0) }, other, "B8"},
		{"broken after its Destroy", func(o *oracle) { o.noteDestroyed(first, 0); o.heardBroken(first, 0) }, first, "B8"},
		{"broken twice", func(o *oracle) { o.heardBroken(first, 0); o.heardBroken(first, 0) }, first, "B8"},
		{"broken by nobody", func(o *oracle) { o.heardBroken(first, nobody) }, nobody, "B8"},
		{"a score is missing", func(o *oracle) { o.poked.add(first); o.heardScore(first, 2) }, first, "B8"},
		{"a score comes twice", func(o *oracle) { o.poked.add(first); o.scored = 4; o.heardScore(first, 4) }, first, "B8"},
		{"a score for another's poke", func(o *oracle) { o.heardScore(first, 1) }, first, "B8"},
		{"named by an event, and the server does not know", func(o *oracle) {
			o.heardBroken(first, other)
			o.checkAnswer(other, wire.UnknownHandle, pending)
		}, other, "B5"},
		{"hidden by an answer ahead of its event", func(o *oracle) {
			o.checkAnswer(other, wire.HiddenHandle, hidden)
			o.checkEntered(avatar, 307)
			o.heardBroken(first, other)
		}, other, "B5"},
		{"a flash twice", func(o *oracle) {
			o.heardFlash(flash{1, 5, 0}, 5)
			o.settleFlashes(1, 5)
			o.heardFlash(flash{1, 5, 1}, 5)
		}, 0, "B9"},
		{"a flash of another tick", func(o *oracle) { o.heardFlash(flash{1, 6, 0}, 5) }, 0, "B9"},
		{"a flash of a tick to come", func(o *oracle) { o.heardFlash(flash{1, 6, 0}, 6); o.settleFlashes(1, 5) }, 0, "B9"},
		{"a flash of a dropped snapshot", func(o *oracle) { o.heardFlash(flash{1, 5, 3}, 5); o.settleFlashes(3, 5) }, 0, "B9"},
		{"a cause for none", func(o *oracle) { o.noteDestroyed(first, messages.CauseLeft) }, first, "B10"},
		{"broken without an event", func(o *oracle) { o.noteDestroyed(first, messages.CauseBroken) }, first, "B10"},
		{"broken by an event, and not destroyed for it", func(o *oracle) { o.heardBroken(first, 0); o.noteDestroyed(first, 0) }, first, "B10"},
		{"an avatar without a cause", func(o *oracle) { o.noteDestroyed(avatar, 0) }, avatar, "B10"},
		{"a hidden avatar without a cause", func(o *oracle) { o.checkLeft(avatar); o.noteDestroyed(avatar, 0) }, avatar, "B10"},
		{"an answer about another", func(o *oracle) { o.checkRenamed(messages.Renamed{Player: avatar, Count: 1, Name: "a"}, "a", own) }, avatar, "B11"},
		{"an answer with another name", func(o *oracle) { o.checkRenamed(messages.Renamed{Player: own, Count: 1, Name: "b"}, "a", own) }, own, "B11"},
		{"an answer that counts more than were sent", func(o *oracle) { o.checkRenamed(messages.Renamed{Player: own, Count: 4, Name: "a"}, "a", own) }, own, "B11"},
		{"an answer that does not count", func(o *oracle) {
			o.answered = 2
			o.checkRenamed(messages.Renamed{Player: own, Count: 2, Name: "a"}, "a", own)
		}, own, "B11"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := hearingOracle()
			require.Zero(t, o.confusions, "%v", o.recorded)
			c.live(o)
			o.settleDeaths()
			require.EqualValues(t, 1, o.confusions, "%v", o.recorded)
			require.Equal(t, c.about, o.recorded[0].Handle)
			require.Contains(t, o.recorded[0].What, c.what+":")
		})
	}
}

// TestOracleForgivesOutages: a client that was away may miss events and their names, but
// nothing else.
func TestOracleForgivesOutages(t *testing.T) {
	o := hearingOracle()
	o.heardName(o.tick, avatar, sealedName(7, 1, 307))
	o.until = 1000
	o.settleTick(700, 700)
	o.checkNamed(avatar, 307, sealedName(7, 3, 307), false)
	o.noteDestroyed(first, messages.CauseBroken)
	o.settleDeaths()
	require.Zero(t, o.confusions, "%v", o.recorded)
	o.heardName(o.tick, avatar, sealedName(7, 3, 307))
	require.EqualValues(t, 1, o.confusions, "again")

	o.taught.add(third)
	o.scored, o.answered = 3, 2
	o.beginSession() // another session counts from 1
	require.False(t, o.taught.has(third))
	o.checkEntered(own, 300)
	o.checkNamed(own, 300, "bot-0", true)
	o.poked.add(own)
	o.heardScore(own, 1)
	o.noteDestroyed(avatar, 0) // unknown to this session
	o.settleDeaths()
	require.EqualValues(t, 1, o.confusions, "%v", o.recorded)
}

// TestOracleForgetsEvents: the server remembers what events have named longer than the bot. A
// bot that has forgotten an event does not report an answer that depends on it.
func TestOracleForgetsEvents(t *testing.T) {
	o := newOracle(0, 64, 1, wire.MaxSlots)
	named := func(i int) bulk.Handle { return bulk.NewHandle(uint32(1000+i), 1) }
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

// TestOracleHearsBeforeItHasJoined: events that arrive before Dial has returned are judged by
// the tick rate that the oracle learns afterwards.
func TestOracleHearsBeforeItHasJoined(t *testing.T) {
	o := hearingOracle()
	o.patience = 0
	o.heardName(41, avatar, sealedName(7, 1, 307))
	o.patience = 600
	o.settleTick(41, 41)
	o.settleTick(640, 640)
	require.Zero(t, o.confusions, "%v", o.recorded)
	o.settleTick(641, 641)
	require.EqualValues(t, 1, o.confusions)
}

// TestOracleIgnoresTheEndOfAWorld: a client that learns of another world drops all entities
// before it reports the new world. These deaths have no cause of the game (B10).
func TestOracleIgnoresTheEndOfAWorld(t *testing.T) {
	for name, end := range map[string]func(o *oracle){
		"restart":     func(o *oracle) { o.beginRun(1001, 64) },
		"new session": func(o *oracle) { o.beginSession() },
	} {
		o := hearingOracle()
		o.noteDestroyed(avatar, 0)
		end(o)
		o.settleTick(50, 50)
		require.Zero(t, o.confusions, "%s: %v", name, o.recorded)
	}
	o := hearingOracle()
	o.noteDestroyed(avatar, 0)
	o.settleTick(50, 50)
	require.EqualValues(t, 1, o.confusions)
}

func TestWindow(t *testing.T) {
	w := newWindow[int](3)
	dice := func(n int) int { return n - 1 }
	require.Zero(t, w.draw(dice))
	for _, v := range []int{1, 2, 2, 3} {
		w.add(v)
	}
	require.False(t, w.has(1))
	require.True(t, w.has(2))
	require.True(t, w.has(3))
	w.add(4)
	require.True(t, w.has(2), "once more")
	w.add(5)
	require.False(t, w.has(2))
	require.NotZero(t, w.draw(dice))
	require.Len(t, w.count, 3)
}
