package bots

import (
	"math"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/recent"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/replication/wire"
)

// hearing is a bot's memory of events and names.
type hearing struct {
	bot.Recorder
	names    map[bulk.Handle]*nameMemory // of avatars that the server showed
	awaited  []bulk.Handle               // avatars whose announced name has not arrived yet
	broken   map[bulk.Handle]bool        // by an event, and not destroyed yet
	deaths   []death                     // since the last settleDeaths
	poked    recent.Set[bulk.Handle]     // newest targets of this bot's pokes
	flashes  recent.Set[uint32]          // serials of flashes
	scored   uint32                      // count of the newest score
	skipped  bool                        // a crash of the server may have lost scores after it
	avatar   bulk.Handle                 // avatar of this bot, once it has renamed itself
	renamed  int                         // revision of the newest name that this bot has sent
	answered uint32                      // count in the newest answer to a rename
	lost     bool                        // the connection, without a snapshot on a new one yet
	tick     uint32                      // newest seen
	told     uint32                      // tick of the newest structure
	patience uint32                      // structure ticks within which an announced name must arrive
	until    uint32                      // structure tick up to which the server may have refused events
	pending  []flash                     // flashes whose snapshot is being applied
}

// death is a reported death whose cause has yet to be checked.
type death struct {
	handle         bulk.Handle
	fate           wire.Verdict // before the death
	avatar, broken bool
	cause          uint8
}

const (
	// nameSeconds is how long after its event an announced name may arrive. Servers send names
	// within a quarter of a second if the client's budget allows.
	nameSeconds = 10
	// pokedHandles and flashSerials bound what a bot remembers of events, of which a few arrive
	// in a second.
	pokedHandles = 256
	flashSerials = 1024
)

// flash is an unreliable event, and the number of snapshots applied before it.
type flash struct {
	serial, tick uint32
	snapshots    uint64
}

func newHearing(r bot.Recorder) hearing {
	return hearing{
		Recorder: r, names: map[bulk.Handle]*nameMemory{}, broken: map[bulk.Handle]bool{},
		poked: recent.NewSet[bulk.Handle](pokedHandles), flashes: recent.NewSet[uint32](flashSerials),
	}
}

// changeWorld forgets all but what the connection is like: another room or run of the world counts
// from 1.
func (o *hearing) changeWorld() {
	next := newHearing(o.Recorder)
	next.patience, next.lost = o.patience, o.lost
	*o = next
}

// renewSession forgets what belongs to the session. Flashes are numbered by the world.
func (o *hearing) renewSession() {
	flashes := o.flashes
	o.changeWorld()
	o.flashes = flashes
}

// restoreSession forgets what the server has forgotten in a crash: what the client has in view, and the
// events on their way to it. The counts of the session continue.
func (o *hearing) restoreSession() {
	was := *o
	o.renewSession()
	o.poked, o.scored, o.skipped = was.poked, was.scored, true
	o.avatar, o.renamed, o.answered = was.avatar, was.renamed, was.answered
}

// loseConnection begins an outage, in which the server may refuse events.
func (o *hearing) loseConnection() {
	o.lost, o.until, o.pending = true, math.MaxUint32, o.pending[:0]
}

// endOutage ends an outage, if there was one, with a snapshot.
func (o *hearing) endOutage() {
	if o.lost {
		o.lost, o.until = false, o.tick+o.patience
	}
}

// isShown returns the verdict that e must have, and whether it is shown.
func (o *hearing) isShown(e bulk.Handle) (verdict wire.Verdict, shown bool) {
	_, verdict, _ = o.Recall(e)
	return verdict, verdict == wire.Live
}

// mayMissEvents reports whether a reliable event may be missing: the server refuses events to a
// client that is away for long. Events that arrive are checked as always.
func (o *hearing) mayMissEvents() bool { return o.told < o.until }

// heardBroken records the event that by has broken h (B8). The Destroy follows (B10).
func (o *hearing) heardBroken(h, by bulk.Handle) {
	o.Count(reliableEvents, 1)
	switch verdict, shown := o.isShown(h); {
	case !shown:
		o.Report(h, 0, "B8: an event says that it broke while it is %v", verdict)
	case o.broken[h]:
		o.Report(h, 0, "B8: an event says twice that it broke")
	default:
		o.broken[h] = true
	}
	o.Learn(by)
}

// heardScore records the event that this bot's poke of h was its count-th success (B8).
func (o *hearing) heardScore(h bulk.Handle, count uint32) {
	o.Count(reliableEvents, 1)
	if count != o.scored+1 && (!o.skipped || count <= o.scored) {
		o.Report(h, 0, "B8: score %d follows %d", count, o.scored)
	}
	o.scored, o.skipped = count, false
	if !o.poked.Has(h) {
		o.Report(h, 0, "B8: score %d is for it, which this bot has not poked", count)
	}
}

// heardFlash records an unreliable event (B9). The client reports tick; low are the tick's low
// bits as the game sent them.
func (o *hearing) heardFlash(f flash, low uint16) {
	o.Count(unreliableEvents, 1)
	switch {
	case uint16(f.tick) != low:
		o.Report(0, 0, "B9: flash %d arrives with tick %d, and happened at a tick ending in %#04x", f.serial, f.tick, low)
	case o.flashes.Has(f.serial):
		o.Report(0, 0, "B9: flash %d arrives twice", f.serial)
	}
	o.flashes.Add(f.serial)
	o.pending = append(o.pending, f)
}

// settleFlashes checks the flashes of an Update. After it snapshots were applied, the newest of
// tick (B9).
func (o *hearing) settleFlashes(snapshots uint64, tick uint32) {
	for _, f := range o.pending {
		if snapshots <= f.snapshots {
			o.Report(0, 0, "B9: flash %d arrives, and its snapshot was not applied", f.serial)
		} else if f.tick > tick {
			o.Report(0, 0, "B9: flash %d is of tick %d, after the newest snapshot", f.serial, f.tick)
		}
	}
	o.pending = o.pending[:0]
}

// noteDestroyed records the death of e, before the oracle of handles does.
func (o *hearing) noteDestroyed(e bulk.Handle, cause uint8) {
	verdict, _ := o.isShown(e)
	o.deaths = append(o.deaths, death{e, verdict, o.names[e] != nil, o.broken[e], cause})
	delete(o.names, e)
	delete(o.broken, e)
}

// settleDeaths compares the causes of deaths with what the game does (B10). Those that come
// with the end of a world or with a move are not the game's, and changeWorld and renewSession drop
// them.
func (o *hearing) settleDeaths() {
	for _, d := range o.deaths {
		o.checkCause(d)
	}
	o.deaths = o.deaths[:0]
}

func (o *hearing) checkCause(d death) {
	if d.fate != wire.Live && d.fate != wire.Hidden {
		return // the bot never saw it, so the cause is unknown
	}
	o.Count(causes, 1)
	right := d.cause == 0
	switch {
	case d.avatar:
		right = d.cause == messages.CauseLeft
	case d.broken:
		right = d.cause == messages.CauseBroken
	case d.cause == messages.CauseBroken:
		right = d.fate == wire.Hidden || o.mayMissEvents() // only clients with a view of it receive its event
	}
	if !right {
		o.Report(d.handle, 0, "B10: destroyed with cause %d (avatar: %t, broken by an event: %t)", d.cause, d.avatar, d.broken)
	}
}

// checkRenamed compares the answer to a rename with the name sent (B11).
func (o *hearing) checkRenamed(a messages.Renamed, name string, avatar bulk.Handle) {
	o.Count(renames, 1)
	if a.Name != name || a.Player != avatar || a.Count <= o.answered || int(a.Count) > o.renamed {
		o.Report(a.Player, 0, "B11: renamed %v to %q, and the answer is name %q, count %d after %d", avatar, name, a.Name, a.Count, o.answered)
	}
	o.answered = a.Count
}

// settleTick records the ticks of the newest snapshot and of the newest structure. On a link
// with loss the stream waits while snapshots arrive, so structure is due by its own tick.
func (o *hearing) settleTick(tick, told uint32) {
	o.tick, o.told = tick, told
	o.settleDeaths()
	o.settleNames()
}
