package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// desk is one machine at a store that answers at once, unless a test holds its requests back.
type desk struct {
	*testing.T
	machine *machine
	store   *simulatedStore
	now     time.Duration
	watched uint64 // revision up to which the watch has delivered
	watch   *watchRequest
	held    func(request) bool // requests that get no answer yet
	waiting []request
	refuses bool // the store refuses every request at once
	served  int  // requests
	events  []event
	notes   []note
}

// settledDirectory returns a directory in which rooms may be taken at once.
func settledDirectory() *simulatedStore {
	s := newSimulatedStore()
	s.serve(request{swaps: []Swap{{identityKey, []byte(`{"v":1,"id":"00000000000000a1","lease_ms":5000,"settled":true}`), 0}}})
	return s
}

func newDesk(t *testing.T, name string) *desk { return newDeskAt(t, name, settledDirectory(), Blocks) }

func newDeskAt(t *testing.T, name string, store *simulatedStore, blocks int) *desk {
	return beginDesk(t, settings{name: name, blocks: blocks}, store)
}

func beginDesk(t *testing.T, s settings, store *simulatedStore) *desk {
	d := &desk{T: t, store: store}
	s.addrs, s.leaseTime, s.blocks = []string{s.name + ":1"}, 5*time.Second, cmp.Or(s.blocks, 4)
	d.machine = newMachine(s, rand.New(rand.NewPCG(uint64(s.name[0]), store.revision)))
	d.input(func() { d.machine.wake(d.now) })
	d.run(100 * time.Millisecond)
	return d
}

// input gives the machine an input, and answers its requests until it has none.
func (d *desk) input(f func()) {
	f()
	for {
		out := d.machine.takeOutput()
		d.events, d.notes = append(d.events, out.events...), append(d.notes, out.notes...)
		if out.watch != nil {
			d.watch, d.watched = out.watch, out.watch.from
		}
		for _, r := range out.requests {
			if d.held != nil && d.held(r) {
				d.waiting = append(d.waiting, r)
				continue
			}
			d.served++
			require.Less(d, d.served, 10_000, "requests in a loop")
			a := answer{outcome: refused, err: errors.New("no connection")}
			if !d.refuses {
				a = d.store.serve(r)
			}
			d.machine.receive(d.now, r.id, a)
		}
		var changes []Entry
		if d.watch != nil && !d.watch.stop {
			changes, _ = d.store.after(d.watched)
		}
		for _, e := range changes {
			d.watched = e.Revision
			d.machine.change(d.now, d.watch.id, e)
		}
		if len(out.requests) == 0 && len(changes) == 0 {
			return
		}
	}
}

// run lets time pass.
func (d *desk) run(t time.Duration) {
	for end := d.now + t; d.now < end; {
		d.now = min(max(d.machine.wakeAt(), d.now+time.Microsecond), end)
		d.input(func() { d.machine.wake(d.now) })
	}
}

func (d *desk) take(room string, block int) *want {
	w := &want{room: room, block: block}
	d.input(func() { d.machine.take(d.now, w) })
	return w
}

func (d *desk) release(room string, keep bool) {
	d.input(func() { d.machine.release(d.now, room, keep, "") })
}

// outcome returns the newest event of a room.
func (d *desk) outcome(room string) event {
	e, ok := d.newest(room)
	if !ok {
		d.Fatalf("nothing has happened to room %s", room)
	}
	return e
}

// newest returns the newest event of a room, if there is one.
func (d *desk) newest(room string) (e event, ok bool) {
	for i := len(d.events) - 1; i >= 0; i-- {
		if d.events[i].room == room {
			return d.events[i], true
		}
	}
	return event{}, false
}

func (d *desk) requireTook(room string) grant {
	d.Helper()
	e := d.outcome(room)
	require.Equal(d, took, e.kind, "%v", e.err)
	return e.grant
}

// Blocks that were never used come first, and then those that were freed first. A block is used again
// after most others.
func TestOldestBlocksFirst(t *testing.T) {
	d := newDeskAt(t, "a", settledDirectory(), 64)
	used := map[int]int{} // at which take
	for i := range 1000 {
		d.take("arena", noBlock)
		block := d.requireTook("arena").block
		last, again := used[block]
		require.True(t, !again || i-last >= 48, "block %d of take %d again at take %d", block, last, i)
		require.False(t, again && i <= 64-blockChoices, "block %d again at take %d", block, i)
		used[block] = i
		d.release("arena", false)
		require.Equal(t, released, d.outcome("arena").kind)
	}
}

// If no block is free, a stored room loses its block, the one that was kept first. Rooms that run keep their blocks.
func TestStoredRoomsLoseTheirBlocks(t *testing.T) {
	d := newDeskAt(t, "a", settledDirectory(), 3)
	blocks := map[string]int{}
	for i := range 3 {
		name := fmt.Sprint("arena/", i)
		d.take(name, noBlock)
		blocks[name] = d.requireTook(name).block
	}
	d.take("arena/3", noBlock)
	require.ErrorIs(t, d.outcome("arena/3").err, ErrNoBlock)

	d.release("arena/1", true)
	d.run(time.Second)
	d.release("arena/0", true)
	d.take("arena/3", noBlock)
	require.Equal(t, blocks["arena/1"], d.requireTook("arena/3").block)
	d.take("arena/1", blocks["arena/1"])
	require.ErrorIs(t, d.outcome("arena/1").err, ErrBlockLost)
	d.take("arena/0", blocks["arena/0"])
	require.Equal(t, blocks["arena/0"], d.requireTook("arena/0").block)
	require.Empty(t, d.store.inconsistency())
}

// A stored run continues only if its room was not run in between, not even in the same block.
func TestStoredRunOfAnotherNode(t *testing.T) {
	store := settledDirectory()
	a := newDeskAt(t, "a", store, 4)
	a.take("arena", noBlock)
	block := a.requireTook("arena").block
	a.release("arena", true)

	b := newDeskAt(t, "b", store, 4)
	b.take("arena", block)
	require.ErrorIs(t, b.outcome("arena").err, ErrBlockLost, "b does not have this run")
	a.input(func() { a.machine.wake(a.now) })
	a.take("arena", block)
	require.Equal(t, block, a.requireTook("arena").block)
}

// handOver plays that a releases a room for b, which then takes it, and returns what is wrong.
func handOver(t *testing.T) (failure string) {
	a := newDeskAt(t, "a", settledDirectory(), 4)
	b, c := newDeskAt(t, "b", a.store, 4), newDeskAt(t, "c", a.store, 4)
	a.take("arena", noBlock)
	block := a.requireTook("arena").block
	a.input(func() { a.machine.release(a.now, "arena", true, "b") })
	for _, other := range []*desk{a, c} {
		other.run(time.Millisecond)
		other.take("arena", noBlock)
		elsewhere := (*ElsewhereError)(nil)
		if e, ok := other.newest("arena"); !ok || !errors.As(e.err, &elsewhere) || elsewhere.Node != "b" {
			return "C11: another node does not leave the room to the heir"
		}
	}
	b.run(time.Millisecond)
	b.take("arena", block)
	if e, ok := b.newest("arena"); !ok || e.kind != took || e.grant.block != block {
		return "C11: the heir does not continue the run"
	}
	a.run(time.Millisecond)
	a.take("arena", block)
	if e, ok := a.newest("arena"); !ok || e.err == nil {
		return "C11: the room is taken from the heir"
	}
	return a.store.inconsistency()
}

func TestHandOver(t *testing.T) { require.Empty(t, handOver(t)) }

// heirDoesNotCome plays that a releases a room for b, which does not take it, and returns what is wrong. b ends, begins again, or only waits.
func heirDoesNotCome(t *testing.T, how string) (failure string) {
	a := newDeskAt(t, "a", settledDirectory(), 4)
	b, c := newDeskAt(t, "b", a.store, 4), newDeskAt(t, "c", a.store, 4)
	a.take("arena", noBlock)
	block := a.requireTook("arena").block
	a.input(func() { a.machine.release(a.now, "arena", true, "b") })
	switch how {
	case "ends", "begins again":
		b.input(func() { b.machine.close(b.now) })
	case "waits":
		for range int(offerTime/time.Second) + 1 {
			a.run(time.Second)
			b.run(time.Second)
			c.run(time.Second)
		}
	}
	others := []*desk{c}
	if how == "begins again" {
		b = newDeskAt(t, "b", a.store, 4) // it lacks the run
		others = append(others, b)
	}
	for _, other := range others {
		other.run(time.Millisecond)
		other.take("arena", noBlock)
		elsewhere := (*ElsewhereError)(nil)
		if e, ok := other.newest("arena"); !ok || !errors.As(e.err, &elsewhere) || elsewhere.Node != "a" {
			return "C11: another node does not leave the room to the source, although the heir " + how
		}
	}
	a.run(time.Millisecond)
	a.take("arena", block)
	if e, ok := a.newest("arena"); !ok || e.kind != took || e.grant.block != block {
		return "C11: the source does not continue its run, although the heir " + how
	}
	b.run(time.Millisecond)
	b.take("arena", block)
	if e, ok := b.newest("arena"); how != "ends" && (!ok || e.err == nil) {
		return "C11: the heir takes the room from the source"
	}
	return a.store.inconsistency()
}

func TestHeirDoesNotCome(t *testing.T) {
	for _, how := range []string{"ends", "begins again", "waits"} {
		require.Empty(t, heirDoesNotCome(t, how))
	}
}

// A room whose node is killed and begins again is left to it (C12).
func TestBeginAgain(t *testing.T) {
	a := newDeskAt(t, "a", settledDirectory(), 4)
	c := newDeskAt(t, "c", a.store, 4)
	a.take("arena", noBlock)
	block := a.requireTook("arena").block
	a = beginDesk(t, settings{name: "a", past: Past{Incarnations: []string{a.machine.lease.incarnation}}}, a.store)
	c.run(time.Millisecond)
	c.take("arena", noBlock)
	elsewhere := (*ElsewhereError)(nil)
	require.ErrorAs(t, c.outcome("arena").err, &elsewhere)
	require.Equal(t, "a", elsewhere.Node)
	a.take("arena", block)
	require.Equal(t, block, a.requireTook("arena").block)
	require.Empty(t, a.store.inconsistency())
}

// A node that begins again and does not take its room, once or in a loop, keeps it from the others for a time only. One that dies keeps it for no
// longer than a lease.
func TestBeginAgainForNothing(t *testing.T) {
	for how, taken := range map[string]struct{ after, within time.Duration }{
		"waits":        {after: comebackTime, within: comebackTime + 6*time.Second},
		"begins again": {after: comebackTime, within: comebackTime + 6*time.Second},
		"dies":         {after: 4 * time.Second, within: 8 * time.Second},
	} {
		t.Run(how, func(t *testing.T) {
			a := newDeskAt(t, "a", settledDirectory(), 4)
			c := newDeskAt(t, "c", a.store, 4)
			a.take("arena", noBlock)
			again := func() {
				past := Past{Incarnations: append(a.machine.lease.past, a.machine.lease.incarnation)}
				a = beginDesk(t, settings{name: "a", past: past}, a.store)
			}
			again()
			began, lives := c.now, 1
			for c.machine.rooms.held == 0 {
				require.Less(t, c.now-began, taken.within)
				for range 4 {
					if how != "dies" {
						a.run(500 * time.Millisecond)
					}
					c.run(500 * time.Millisecond)
				}
				if how == "begins again" && c.now-began > time.Duration(lives)*8*time.Second {
					again()
					lives++
				}
				c.take("arena", noBlock)
			}
			require.GreaterOrEqual(t, c.now-began, taken.after)
			require.Empty(t, c.store.inconsistency())
		})
	}
}

// A room whose heir and source have both ended is anybody's. The stored run loses its block.
func TestHeirAndSourceEnd(t *testing.T) {
	a := newDeskAt(t, "a", settledDirectory(), 4)
	b, c := newDeskAt(t, "b", a.store, 4), newDeskAt(t, "c", a.store, 4)
	a.take("arena", noBlock)
	block := a.requireTook("arena").block
	a.input(func() { a.machine.release(a.now, "arena", true, "b") })
	for _, d := range []*desk{a, b} {
		d.input(func() { d.machine.close(d.now) })
	}
	c.run(time.Second)
	c.take("arena", block)
	require.ErrorIs(t, c.outcome("arena").err, ErrBlockLost)
	c.take("arena", noBlock)
	require.NotEqual(t, block, c.requireTook("arena").block)
	require.Empty(t, a.store.inconsistency())
}

// A caller that gives up leaves nothing to the next one, which may want another block.
func TestTakeOfAnotherCaller(t *testing.T) {
	d := newDesk(t, "a")
	d.held = func(r request) bool { return r.swaps != nil && strings.HasPrefix(r.swaps[0].Key, roomPrefix) }
	first := d.take("arena", noBlock)
	d.held = nil
	require.Len(t, d.waiting, 1)
	d.input(func() { d.machine.giveUp(d.now, first) })
	second := d.take("arena", 4000)
	d.input(func() { d.machine.receive(d.now, d.waiting[0].id, d.store.serve(d.waiting[0])) })
	require.Equal(t, 4000, d.requireTook("arena").block)
	require.Same(t, second, d.outcome("arena").want)
	require.Empty(t, d.store.inconsistency())
}

// A room whose caller has given up is released: another node can take it at once.
func TestGivenUp(t *testing.T) {
	d := newDesk(t, "a")
	d.held = func(r request) bool { return r.swaps != nil && strings.HasPrefix(r.swaps[0].Key, roomPrefix) }
	w := d.take("arena", noBlock)
	d.held = nil
	d.input(func() { d.machine.giveUp(d.now, w) })
	d.input(func() { d.machine.receive(d.now, d.waiting[0].id, d.store.serve(d.waiting[0])) })
	require.Empty(t, d.events)
	require.NotContains(t, d.store.entries, "room/arena")
	require.Empty(t, d.store.inconsistency())
}

// An answer after its deadline owns nothing (C8): the room is taken again.
func TestLateAnswer(t *testing.T) {
	d := newDesk(t, "a")
	d.held = func(r request) bool { return r.swaps != nil && strings.HasPrefix(r.swaps[0].Key, roomPrefix) }
	d.take("arena", noBlock)
	late := d.waiting[0]
	a := d.store.serve(late) // it has happened, and its answer is on the way
	d.held = nil
	d.run(2 * time.Second)
	grant := d.requireTook("arena")
	d.input(func() { d.machine.receive(d.now, late.id, a) })
	require.NotZero(t, d.machine.counters.LateAnswers)
	record, err := parseRoom("room/arena", d.store.entries["room/arena"].Value)
	require.NoError(t, err)
	require.Equal(t, grant.epoch, record.epochAt(d.store.entries["room/arena"].Revision))
	require.Greater(t, grant.epoch, a.revision)
	require.Empty(t, d.store.inconsistency())
}

// Each page of the directory has a deadline of its own: many rooms are read, although all of them take longer than one request may.
func TestDirectoryOfManyRooms(t *testing.T) {
	readManyRooms(t, settledDirectory())
	readManyRooms(t, newSimulatedStore()) // it has no identity yet
}

func readManyRooms(t *testing.T, store *simulatedStore) {
	store.pageKeys = 256
	const rooms = 3000
	for i := range rooms {
		kept := roomRecord{Version: recordVersion, State: roomKept, Keeper: "b", Epoch: 1, Block: i}
		store.serve(request{swaps: []Swap{
			{roomKey(fmt.Sprint("arena/", i)), encode(kept), 0},
			{blockKey(i), encode(blockRecord{Version: recordVersion, Room: fmt.Sprint("arena/", i)}), 0},
		}})
	}
	d := &desk{T: t, store: store, held: func(r request) bool { return r.swaps == nil && r.read.Prefix == "" }}
	d.machine = newMachine(settings{name: "a", addrs: []string{"a:1"}, leaseTime: 5 * time.Second, blocks: Blocks}, rand.New(rand.NewPCG(1, 1)))
	d.input(func() { d.machine.wake(d.now) })
	pages := 0
	for ; pages < 30 && !d.machine.view.loaded; pages++ {
		require.Len(t, d.waiting, pages+1)
		page := d.waiting[pages]
		if pages == 5 {
			d.run(d.machine.settings.leaseTime / 4) // no answer: it is asked for again
			continue
		}
		store.serve(request{swaps: []Swap{{"room/new/" + fmt.Sprint(pages), []byte("{}"), 0}}}) // not at the revision of the first page
		d.run(d.machine.settings.patience() * 9 / 10)
		d.input(func() { d.machine.receive(d.now, page.id, store.serve(page)) })
	}
	require.Equal(t, 2*rooms/256+2, pages)
	d.held = nil
	d.run(2 * d.machine.settings.leaseTime)
	require.Len(t, d.machine.status(d.now).Rooms, rooms)
	require.True(t, d.machine.mayAct())
	d.take("arena/new", noBlock)
	d.requireTook("arena/new")
}

// A directory that is replaced between two of its pages is read from the beginning (C9).
func TestReplacedBetweenPages(t *testing.T) {
	for _, forgets := range []bool{false, true} {
		store := settledDirectory()
		store.pageKeys = 2
		old := strings.Replace(goodRecords["node/a"], "}", `,"dead":true}`, 1)
		store.serve(request{swaps: []Swap{{"node/b", []byte(old), 0}, {"node/c", []byte(old), 0}}})
		d := &desk{T: t, store: store, held: func(r request) bool { return r.swaps == nil && r.read.Prefix == "" }}
		d.machine = newMachine(settings{name: "a", addrs: []string{"a:1"}, leaseTime: 5 * time.Second, blocks: Blocks}, rand.New(rand.NewPCG(1, 1)))
		d.input(func() { d.machine.wake(d.now) })
		d.input(func() { d.machine.receive(d.now, d.waiting[0].id, store.serve(d.waiting[0])) })
		store.wipe()
		store.serve(request{swaps: []Swap{{identityKey, []byte(`{"v":1,"id":"00000000000000c3","settled":true}`), 0}}})
		if !forgets {
			store.serve(request{swaps: []Swap{{"node/d", []byte(old), 0}, {"room/x", []byte("{}"), 0}}}) // it has reached the revision of the first page
		}
		d.held = nil
		d.input(func() { d.machine.receive(d.now, d.waiting[1].id, store.serve(d.waiting[1])) })
		d.run(time.Second)
		require.Equal(t, "00000000000000c3", d.machine.identity.known)
		require.NotContains(t, d.machine.peers.nodes, "b", "of the directory before")
		require.True(t, d.machine.mayAct())
	}
}

// Records that cannot be read stay as they are, and the caller learns which it is.
func TestDamagedRecords(t *testing.T) {
	for key, value := range map[string]string{"room/arena": "{}", "node/b": "{}", "block/0001": "{}"} {
		store := settledDirectory()
		store.serve(request{swaps: []Swap{{key, []byte(value), 0}}})
		if key != "room/arena" {
			open := `{"v":1,"state":"open","node":"b","incarnation":"00000000000000a1","epoch":3,"nonce":"00000000000000b2","block":1}`
			store.serve(request{swaps: []Swap{{"room/arena", []byte(open), 0}}})
		}
		d := newDeskAt(t, "a", store, Blocks)
		d.take("arena", noBlock)
		d.run(20 * time.Second)
		var refused *RecordError
		require.ErrorAs(t, d.outcome("arena").err, &refused, key)
		if key == "block/0001" {
			key = "room/arena" // its block is not its own
		}
		require.Equal(t, key, refused.Key)
		require.NotContains(t, string(store.entries["room/arena"].Value), `"node":"a"`)
	}
}

// A tombstone that no room needs any more is deleted.
func TestUnusedTombstoneIsDeleted(t *testing.T) {
	store := settledDirectory()
	store.serve(request{swaps: []Swap{{"node/b", []byte(strings.Replace(goodRecords["node/a"], "}", `,"dead":true}`, 1)), 0}}})
	d := newDeskAt(t, "a", store, Blocks)
	d.run(d.machine.settings.forget() / 2)
	require.Contains(t, store.entries, "node/b")
	d.run(d.machine.settings.forget())
	require.NotContains(t, store.entries, "node/b")
}

// A free room has no record, so that the directory holds open and kept rooms alone. Its next epoch is higher nevertheless, also for a
// node that has not seen the one before (C2).
func TestFreeRoomsLeaveNoRecords(t *testing.T) {
	d := newDesk(t, "a")
	late := newDeskAt(t, "b", d.store, Blocks)
	var before grant
	for range 3 {
		d.take("arena", noBlock)
		before = d.requireTook("arena")
		d.release("arena", false)
		require.Equal(t, released, d.outcome("arena").kind)
		require.NotContains(t, d.store.entries, "room/arena")
		require.Empty(t, d.machine.rooms.all)
	}
	late.now = d.now // its watch has delivered nothing since
	late.take("arena", noBlock)
	late.run(100 * time.Millisecond)
	require.Greater(t, late.requireTook("arena").epoch, before.epoch)
}

// While the directory is another one, nothing is taken, and a release ends at once.
func TestForeignDirectory(t *testing.T) {
	d := newDesk(t, "a")
	d.take("arena", noBlock)
	d.take("lobby", noBlock)
	d.requireTook("arena")
	require.Positive(t, d.machine.until())
	d.store.wipe()
	d.run(2 * time.Second)
	require.Equal(t, suspended, d.outcome("arena").kind)
	require.Zero(t, d.machine.until())
	require.NotEmpty(t, d.machine.status(d.now).Foreign)
	require.Empty(t, d.store.entries, "the node changes nothing in it")
	d.take("cellar", noBlock)
	require.ErrorIs(t, d.outcome("cellar").err, ErrForeign)
	d.release("lobby", true)
	require.Equal(t, released, d.outcome("lobby").kind)
	require.Equal(t, 1, d.machine.rooms.held)
}

// After the directory was adopted, the rooms that stood still take their blocks before new rooms do.
func TestAdoptedRoomsKeepTheirBlocks(t *testing.T) {
	a := newDeskAt(t, "a", settledDirectory(), 1)
	a.take("arena", noBlock)
	a.requireTook("arena")
	a.store.wipe()
	a.store.serve(request{swaps: []Swap{{identityKey, []byte(`{"v":1,"id":"00000000000000c3","was":["00000000000000a1"]}`), 0}}})
	b := newDeskAt(t, "b", a.store, 1)
	b.take("lobby", noBlock)
	for b.now < 15*time.Second {
		b.run(100 * time.Millisecond)
		a.run(50 * time.Millisecond) // it looks later
	}
	a.run(15 * time.Second)
	require.Equal(t, resumed, a.outcome("arena").kind)
	require.ErrorIs(t, b.outcome("lobby").err, ErrNoBlock)
}

// registerUnanswered returns what is wrong with a node whose registration had no answer, and whose record has a tombstone when it
// looks (C4).
func registerUnanswered(t *testing.T) string {
	d := &desk{T: t, store: settledDirectory()}
	d.machine = newMachine(settings{name: "a", addrs: []string{"a:1"}, leaseTime: 5 * time.Second, blocks: Blocks}, rand.New(rand.NewPCG(1, 1)))
	d.held = func(r request) bool { return r.swaps != nil }
	d.input(func() { d.machine.wake(d.now) })
	d.store.serve(d.waiting[0])
	born, err := parseNode("node/a", d.store.entries["node/a"].Value)
	require.NoError(t, err)
	born.Dead = true
	d.store.serve(request{swaps: []Swap{{"node/a", encode(born), d.store.entries["node/a"].Revision}}})
	d.run(1500 * time.Millisecond)
	if d.machine.mayAct() || d.machine.lease.incarnation == born.Incarnation {
		return "C4: the node continues as the incarnation that has a tombstone"
	}
	d.held = nil
	d.run(2 * time.Second)
	require.True(t, d.machine.mayAct())
	return ""
}

func TestUnansweredRegistration(t *testing.T) { require.Empty(t, registerUnanswered(t)) }

// adoptLate returns what is wrong with a node that finds a directory which was replaced and adopted meanwhile, and whose revision is
// higher than the one before (C9).
func adoptLate(t *testing.T) string {
	d := newDesk(t, "a")
	d.take("arena", noBlock)
	d.requireTook("arena")
	change := func() {
		d.store.serve(request{swaps: []Swap{{"elsewhere", []byte{}, d.store.entries["elsewhere"].Revision}}})
	}
	id := d.store.entries[identityKey]
	for range 20 {
		change()
	}
	d.store.serve(request{swaps: []Swap{{identityKey, id.Value, id.Revision}}})
	d.run(time.Second)
	d.store.wipe()
	d.store.serve(request{swaps: []Swap{{identityKey, []byte(`{"v":1,"id":"00000000000000c3","was":["00000000000000a1"]}`), 0}}})
	for range 100 {
		change()
	}
	d.run(3 * time.Second)
	if d.machine.identity.known != "00000000000000c3" || d.outcome("arena").kind != suspended {
		return "C9: the node takes the directory for the one before"
	}
	d.run(6 * time.Second)
	require.Equal(t, resumed, d.outcome("arena").kind)
	return ""
}

func TestAdoptedMeanwhile(t *testing.T) { require.Empty(t, adoptLate(t)) }

// fencedMeanwhile returns what is wrong with a node that gets a tombstone while it takes a room: the answer owns nothing (C8).
func fencedMeanwhile(t *testing.T) string {
	d := newDesk(t, "a")
	d.held = func(r request) bool { return r.swaps != nil && strings.HasPrefix(r.swaps[0].Key, roomPrefix) }
	d.take("arena", noBlock)
	d.held = nil
	a := d.store.serve(d.waiting[0])
	record := d.store.entries["node/a"]
	dead, err := parseNode("node/a", record.Value)
	require.NoError(t, err)
	dead.Dead = true
	d.store.serve(request{swaps: []Swap{{"node/a", encode(dead), record.Revision}}})
	d.run(500 * time.Millisecond)
	if d.machine.counters.Fenced != 1 {
		return "C4: a node goes on after its tombstone"
	}
	d.input(func() { d.machine.receive(d.now, d.waiting[0].id, a) })
	d.run(2 * time.Second)
	current, err := parseRoom("room/arena", d.store.entries["room/arena"].Value)
	require.NoError(t, err)
	e := d.outcome("arena")
	if e.kind != took {
		return fmt.Sprint("C6: the room cannot be taken: ", e.err)
	}
	if current.Incarnation == dead.Incarnation || e.grant.epoch != current.epochAt(d.store.entries["room/arena"].Revision) || d.machine.counters.LateAnswers == 0 {
		return "C8: a fenced node accepts the answer to a request of its former incarnation"
	}
	return ""
}

func TestFencedMeanwhile(t *testing.T) { require.Empty(t, fencedMeanwhile(t)) }

// A node that finds a tombstone of its own does not ask in a loop until it has read the whole directory.
func TestTombstoneBeforeRead(t *testing.T) {
	for _, closes := range []bool{false, true} {
		d := newDesk(t, "a")
		record := d.store.entries["node/a"]
		dead, err := parseNode("node/a", record.Value)
		require.NoError(t, err)
		dead.Dead = true
		d.store.serve(request{swaps: []Swap{{"node/a", encode(dead), record.Revision}}})
		d.held = func(r request) bool { return r.swaps == nil && r.read.Prefix == "" }
		if closes {
			d.input(func() { d.machine.close(d.now) })
		}
		before := d.served
		d.run(d.machine.settings.patience())
		require.Less(t, d.served-before, 50)
		d.held = nil
		d.run(2 * time.Second)
		require.Equal(t, closes, !d.machine.mayAct())
		require.Equal(t, closes, d.machine.lease.closed)
	}
}

// A store that refuses at once is not asked in a loop, whatever a node has to do.
func TestRefusals(t *testing.T) {
	d := newDesk(t, "a")
	d.store.serve(request{swaps: []Swap{{"node/b", []byte(goodRecords["node/a"]), 0}}})
	d.run(d.machine.settings.leaseTime)
	d.take("arena", noBlock)
	d.refuses = true
	d.take("lobby", noBlock)
	d.release("arena", true)
	before := d.served
	d.run(2 * d.machine.settings.leaseTime)
	require.Less(t, d.served-before, 600)
	d.refuses = false
	d.run(d.machine.settings.leaseTime)
	d.requireTook("lobby")
	require.Equal(t, released, d.outcome("arena").kind)
	require.Contains(t, string(d.store.entries["node/b"].Value), `"dead":true`)
}
