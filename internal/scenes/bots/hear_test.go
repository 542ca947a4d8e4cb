package bots

import (
	"fmt"
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
	first  = bulk.NewHandle(7, 1)
	third  = bulk.NewHandle(7, 5)
	other  = bulk.NewHandle(8, 1)
	beyond = bulk.NewHandle(4000, 1)
)

// entityFact is a listener's memory of an entity.
type entityFact struct {
	identity uint64
	verdict  wire.Verdict
}

// report is a confusion.
type report struct {
	handle bulk.Handle
	what   string
}

// listener has a hearing, with a memory of handles that tests fill.
type listener struct {
	hearing
	known   map[bulk.Handle]entityFact
	counts  map[string]uint64
	learnt  []bulk.Handle
	reports []report
}

func (l *listener) Recall(h bulk.Handle) (identity uint64, verdict wire.Verdict, sure bool) {
	f, ok := l.known[h]
	if !ok {
		return 0, wire.Pending, true
	}
	return f.identity, f.verdict, true
}

func (l *listener) Learn(h bulk.Handle) {
	if h != 0 {
		l.learnt = append(l.learnt, h)
	}
}

func (l *listener) Report(h bulk.Handle, _ uint64, format string, args ...any) {
	l.reports = append(l.reports, report{h, fmt.Sprintf(format, args...)})
}

func (l *listener) Count(name string, n uint64) { l.counts[name] += n }

func (l *listener) Sample(string, float64) {}

func (l *listener) checkEntered(h bulk.Handle, identity uint64) {
	l.known[h] = entityFact{identity, wire.Live}
}

func (l *listener) checkLeft(h bulk.Handle) {
	l.known[h] = entityFact{l.known[h].identity, wire.Hidden}
}

func (l *listener) noteDestroyed(h bulk.Handle, cause uint8) {
	l.hearing.noteDestroyed(h, cause)
	l.known[h] = entityFact{l.known[h].identity, wire.Stale}
}

// beginSession begins another session of the same run: nothing is shown.
func (l *listener) beginSession() {
	l.renewSession()
	for h, f := range l.known {
		if f.verdict != wire.Stale {
			l.known[h] = entityFact{f.identity, wire.Pending}
		}
	}
}

// newListener shows first, and the avatars with the names with which they have joined.
func newListener() *listener {
	o := &listener{known: map[bulk.Handle]entityFact{}, counts: map[string]uint64{}}
	o.hearing = newHearing(o)
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

// TestHearingAgrees: nothing is reported about a history without contradictions.
func TestHearingAgrees(t *testing.T) {
	o := newListener()
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

	o.poked.Add(first)
	o.heardScore(first, 1)
	o.poked.Add(other)
	o.heardScore(other, 2)
	o.heardFlash(flash{1, 0x20005, 8}, 5)
	o.heardFlash(flash{4, 0x20009, 8}, 9)
	o.settleFlashes(9, 0x20009)

	o.heardBroken(first, third)
	o.checkEntered(other, 108)
	o.heardBroken(other, unseen)
	require.Equal(t, []bulk.Handle{third, unseen}, o.learnt)
	o.noteDestroyed(first, messages.CauseBroken)
	o.noteDestroyed(other, messages.CauseBroken)
	o.noteDestroyed(avatar, messages.CauseLeft) // hidden
	o.noteDestroyed(own, messages.CauseLeft)
	o.noteDestroyed(beyond, 77) // never shown
	o.settleDeaths()
	require.Empty(t, o.reports)
	require.EqualValues(t, 4, o.counts[causes])
	require.EqualValues(t, 8, o.counts[reliableEvents])
	require.EqualValues(t, 2, o.counts[unreliableEvents])
	require.Empty(t, o.names)
}

// TestHearingNotices breaks each invariant once.
func TestHearingNotices(t *testing.T) {
	for _, c := range []struct {
		name  string
		live  func(o *listener)
		about bulk.Handle
		what  string
	}{
		{"a name of another entity", func(o *listener) { o.checkNamed(own, 300, sealedName(0, 1, 301), true) }, own, "B7"},
		{"an earlier name", func(o *listener) {
			o.checkNamed(avatar, 307, sealedName(7, 2, 307), true)
			o.checkNamed(avatar, 307, sealedName(7, 1, 307), true)
		}, avatar, "B7"},
		{"the first name again", func(o *listener) {
			o.checkNamed(avatar, 307, sealedName(7, 2, 307), true)
			o.checkNamed(avatar, 307, "bot-7", true)
		}, avatar, "B7"},
		{"a name that was not sent", func(o *listener) { o.checkNamed(own, 300, sealedName(0, 4, 300), true) }, own, "B7"},
		{"a name that does not come", func(o *listener) {
			o.heardName(o.tick, avatar, sealedName(7, 1, 307))
			o.settleTick(639, 639)
			o.settleTick(640, 640)
		}, avatar, "B7"},
		{"a name that does not come while the stream waits", func(o *listener) {
			o.heardName(o.tick, avatar, sealedName(7, 1, 307))
			o.settleTick(9000, 639)
			o.settleTick(9000, 640)
		}, avatar, "B7"},
		{"a name without an event", func(o *listener) { o.checkNamed(avatar, 307, sealedName(7, 1, 307), false) }, avatar, "B8"},
		{"an event with a name of another", func(o *listener) { o.heardName(o.tick, avatar, sealedName(7, 1, 300)) }, avatar, "B8"},
		{"an event twice", func(o *listener) {
			o.heardName(o.tick, avatar, sealedName(7, 1, 307))
			o.heardName(o.tick, avatar, sealedName(7, 1, 307))
			o.checkNamed(avatar, 307, sealedName(7, 1, 307), false)
		}, avatar, "B8"},
		{"events in another order", func(o *listener) {
			o.heardName(o.tick, avatar, sealedName(7, 2, 307))
			o.heardName(o.tick, avatar, sealedName(7, 1, 307))
		}, avatar, "B8"},
		{"joined twice", func(o *listener) { o.heardName(o.tick, avatar, "bot-7") }, avatar, "B8"},
		{"joined ahead of its Enter", func(o *listener) { o.heardName(o.tick, other, "bot-9") }, other, "B8"},
		{"named while hidden", func(o *listener) { o.checkLeft(avatar); o.heardName(o.tick, avatar, sealedName(7, 1, 307)) }, avatar, "B8"},
		{"broken ahead of its Enter", func(o *listener) { o.heardBroken(other, 0) }, other, "B8"},
		{"broken after its Destroy", func(o *listener) { o.noteDestroyed(first, 0); o.heardBroken(first, 0) }, first, "B8"},
		{"broken twice", func(o *listener) { o.heardBroken(first, 0); o.heardBroken(first, 0) }, first, "B8"},
		{"a score is missing", func(o *listener) { o.poked.Add(first); o.heardScore(first, 2) }, first, "B8"},
		{"a score comes twice", func(o *listener) { o.poked.Add(first); o.scored = 4; o.heardScore(first, 4) }, first, "B8"},
		{"a score for another's poke", func(o *listener) { o.heardScore(first, 1) }, first, "B8"},
		{"a flash twice", func(o *listener) {
			o.heardFlash(flash{1, 5, 0}, 5)
			o.settleFlashes(1, 5)
			o.heardFlash(flash{1, 5, 1}, 5)
		}, 0, "B9"},
		{"a flash of another tick", func(o *listener) { o.heardFlash(flash{1, 6, 0}, 5) }, 0, "B9"},
		{"a flash of a tick to come", func(o *listener) { o.heardFlash(flash{1, 6, 0}, 6); o.settleFlashes(1, 5) }, 0, "B9"},
		{"a flash of a dropped snapshot", func(o *listener) { o.heardFlash(flash{1, 5, 3}, 5); o.settleFlashes(3, 5) }, 0, "B9"},
		{"a cause for none", func(o *listener) { o.noteDestroyed(first, messages.CauseLeft) }, first, "B10"},
		{"broken without an event", func(o *listener) { o.noteDestroyed(first, messages.CauseBroken) }, first, "B10"},
		{"broken by an event, and not destroyed for it", func(o *listener) { o.heardBroken(first, 0); o.noteDestroyed(first, 0) }, first, "B10"},
		{"an avatar without a cause", func(o *listener) { o.noteDestroyed(avatar, 0) }, avatar, "B10"},
		{"a hidden avatar without a cause", func(o *listener) { o.checkLeft(avatar); o.noteDestroyed(avatar, 0) }, avatar, "B10"},
		{"an answer about another", func(o *listener) { o.checkRenamed(messages.Renamed{Player: avatar, Count: 1, Name: "a"}, "a", own) }, avatar, "B11"},
		{"an answer with another name", func(o *listener) { o.checkRenamed(messages.Renamed{Player: own, Count: 1, Name: "b"}, "a", own) }, own, "B11"},
		{"an answer that counts more than were sent", func(o *listener) { o.checkRenamed(messages.Renamed{Player: own, Count: 4, Name: "a"}, "a", own) }, own, "B11"},
		{"an answer that does not count", func(o *listener) {
			o.answered = 2
			o.checkRenamed(messages.Renamed{Player: own, Count: 2, Name: "a"}, "a", own)
		}, own, "B11"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newListener()
			require.Empty(t, o.reports)
			c.live(o)
			o.settleDeaths()
			require.Len(t, o.reports, 1)
			require.Equal(t, c.about, o.reports[0].handle)
			require.Contains(t, o.reports[0].what, c.what+":")
		})
	}
}

// TestHearingForgivesOutages: a client that was away may miss events and their names, and
// nothing else.
func TestHearingForgivesOutages(t *testing.T) {
	o := newListener()
	o.heardName(o.tick, avatar, sealedName(7, 1, 307))
	o.until = 1000
	o.settleTick(700, 700)
	o.checkNamed(avatar, 307, sealedName(7, 3, 307), false)
	o.noteDestroyed(first, messages.CauseBroken)
	o.settleDeaths()
	require.Empty(t, o.reports)
	o.heardName(o.tick, avatar, sealedName(7, 3, 307))
	require.Len(t, o.reports, 1, "again")

	o.scored, o.answered = 3, 2
	o.beginSession() // another session counts from 1
	o.checkEntered(own, 300)
	o.checkNamed(own, 300, "bot-0", true)
	o.poked.Add(own)
	o.heardScore(own, 1)
	o.noteDestroyed(avatar, 0) // unknown to this session
	o.settleDeaths()
	require.Len(t, o.reports, 1)
}

// TestHearingAfterACrash: the session continues, and with it its counts, but events may be lost.
func TestHearingAfterACrash(t *testing.T) {
	o := newListener()
	o.poked.Add(own)
	o.heardScore(own, 1)
	o.restoreSession()
	o.heardScore(own, 3)
	require.Empty(t, o.reports)
	o.heardScore(own, 5)
	require.Len(t, o.reports, 1, "no second crash")
	o.restoreSession()
	o.heardScore(own, 5)
	require.Len(t, o.reports, 2, "again")
}

// TestHearingBeforeItHasJoined: events that arrive while Dial has not returned are judged by
// the tick rate that it learns then.
func TestHearingBeforeItHasJoined(t *testing.T) {
	o := newListener()
	o.patience = 0
	o.heardName(41, avatar, sealedName(7, 1, 307))
	o.patience = 600
	o.settleTick(41, 41)
	o.settleTick(640, 640)
	require.Empty(t, o.reports)
	o.settleTick(641, 641)
	require.Len(t, o.reports, 1)
}

// TestHearingIgnoresTheEndOfAWorld: a client that learns of another world drops all entities
// before it reports the new world. These deaths have no cause of the game (B10).
func TestHearingIgnoresTheEndOfAWorld(t *testing.T) {
	for name, end := range map[string]func(o *listener){
		"restart":     func(o *listener) { o.changeWorld() },
		"new session": func(o *listener) { o.beginSession() },
	} {
		o := newListener()
		o.noteDestroyed(avatar, 0)
		end(o)
		o.settleTick(50, 50)
		require.Empty(t, o.reports, name)
	}
	o := newListener()
	o.noteDestroyed(avatar, 0)
	o.settleTick(50, 50)
	require.Len(t, o.reports, 1)
}
