package session

import (
	"slices"
	"sync/atomic"

	"github.com/worldd/worldd/replication/wire"
)

// Two rooms have two journals, and a crash may cut each at another frame. Between them a session is on the disk of the room
// that it has left, as a departure, until its next room has it too, and the next room remembers the arrival until the
// departure is gone:
//
//	room A: session ─► Leave, departure ─────────────► departure forgotten
//	                        └ durable ┐    ┌ durable ─┘         └ durable ┐
//	room B:                           └► Join, arrival                    └► arrival forgotten
//
// A restored departure goes to B again, which knows by the arrival that the session was there, even if it has ended since.

// maxArrivals bounds the arrivals that a room remembers. A crash may leave one for each session that it has caught on its way.
const maxArrivals = 4096

// milestone is a frame that has a step of a passage. The zero milestone is durable.
type milestone struct {
	gate  *outputGate
	frame uint64
}

func (m milestone) isDurable() bool { return m.gate.isDurable(m.frame) }

// fate is the state of a departure. The next room sets it, except fateWaiting.
type fate = uint32

const (
	fateUnderway fate = iota // the next room has it, or it is returning
	fateWaiting              // for the next room, after a crash
	fateEntered              // the next room
	fateOver                 // it has ended on its way, or returned
	fateLost                 // the next room had admitted it, and has failed before that was durable
)

// passage holds the part of a traveller that both rooms follow.
type passage struct {
	left      milestone // of the room that it leaves, before which it does not enter the next
	released  atomic.Bool
	fate      atomic.Uint32
	entered   milestone // if fate is fateEntered
	forgotten atomic.Pointer[milestone]
	note      []byte // of the departure, in the notes of the room that it leaves; nil: none
	crashed   bool   // it was restored
	again     bool   // the next room may have it on its disk
	asks      bool   // it only asks the next room, which has the session, whether that is durable
}

// mayEnter reports whether no crash can undo that the traveller has left, the room that it left ends, or its sessions do not
// survive crashes.
func (p *passage) mayEnter() bool { return p.note == nil || p.left.isDurable() || p.released.Load() }

// enter notes that the next room has admitted the traveller.
func (p *passage) enter(at milestone) {
	p.entered = at
	p.fate.Store(fateEntered)
}

// leaveFailed notes the fate of a traveller that has entered a room that ends before this was durable.
func (p *passage) leaveFailed(next fate) { p.fate.CompareAndSwap(fateEntered, next) }

// forget notes that the room that the traveller has left forgets the departure in a frame.
func (p *passage) forget(in milestone) { p.forgotten.Store(&in) }

// end notes that the traveller needs no departure any more.
func (p *passage) end() { p.fate.Store(fateOver) }

// arrival is a session that a room has received.
type arrival struct {
	id, moves uint64
	traveller *traveller // nil: it arrived before a crash
}

// passages are a room's departures and arrivals. Only the goroutine that calls Tick may use them.
type passages struct {
	departed []*traveller
	arrived  []arrival
}

// addDeparture remembers a session that leaves, in place of an earlier departure of it.
func (p *passages) addDeparture(t *traveller, now milestone) {
	p.forgetDeparture(t.id, now)
	p.departed = append(p.departed, t)
}

// continueFrom remembers the arrivals of a run that was restored.
func (p *passages) continueFrom(n *Notes) { p.arrived = n.arrivals() }

// forgetDeparture forgets the departure of a session, which is here or leaves again.
func (p *passages) forgetDeparture(id uint64, now milestone) {
	p.departed = slices.DeleteFunc(p.departed, func(t *traveller) bool {
		if t.id == id {
			t.forget(now)
		}
		return t.id == id
	})
}

// addArrival remembers a session that has come, in place of an earlier arrival of it.
func (p *passages) addArrival(a arrival) {
	p.arrived = slices.DeleteFunc(p.arrived, func(x arrival) bool { return x.id == a.id })
	if len(p.arrived) >= maxArrivals {
		p.arrived = slices.Delete(p.arrived, 0, 1)
	}
	p.arrived = append(p.arrived, a)
}

// arrivalOf returns the frame in which t has come already, and from now on forgets that with the departure of t.
func (p *passages) arrivalOf(t *traveller) (at milestone, ok bool) {
	i := slices.IndexFunc(p.arrived, func(a arrival) bool { return a.id == t.id && a.moves > t.moves })
	if i < 0 {
		return milestone{}, false
	}
	if was := p.arrived[i].traveller; was != nil {
		at = was.entered
	}
	p.arrived[i].traveller = t
	return at, true
}

// settle forgets the departures that are on the disks of their next rooms, and the arrivals whose departures are gone.
func (p *passages) settle(now milestone) {
	p.departed = slices.DeleteFunc(p.departed, func(t *traveller) bool {
		fate := t.fate.Load()
		over := fate == fateOver || fate == fateEntered && t.entered.isDurable()
		if over {
			t.forget(now)
		}
		return over
	})
	p.arrived = slices.DeleteFunc(p.arrived, func(a arrival) bool {
		if a.traveller == nil {
			return false
		}
		gone := a.traveller.forgotten.Load()
		return gone != nil && gone.isDurable()
	})
}

// undurable returns the travellers that have entered, and would not be here after a crash.
func (p *passages) undurable() (all []*traveller) {
	for _, a := range p.arrived {
		if a.traveller != nil && !a.traveller.entered.isDurable() {
			all = append(all, a.traveller)
		}
	}
	return all
}

// waitsFor reports whether s may return from its next room, which has failed.
func (p *passages) waitsFor(s *Session) bool {
	return slices.ContainsFunc(p.departed, func(t *traveller) bool {
		fate := t.fate.Load()
		return t.origin == s && (fate == fateWaiting || fate == fateLost)
	})
}

// endWaiting ends a session that waits for its next room.
func (p *passages) endWaiting(id uint64, why *wire.Error) {
	for _, t := range p.departed {
		if t.id == id && t.fate.Load() == fateWaiting {
			t.kicked = why
		}
	}
}

// milestoneNow returns the frame that the next Step makes.
func (c *Core) milestoneNow() milestone { return milestone{c.outputGate, c.world.Tick() + 1} }

// noteDeparture makes the notes of this room hold t, whose Leave has been called, until its next room has it.
func (c *Core) noteDeparture(t *traveller) {
	t.left = c.milestoneNow()
	s := t.origin
	if c.config.Hooks.SaveSession == nil || len(s.secrets.newest) == 0 {
		return // no client could resume it after a crash
	}
	t.note = appendDeparture(nil, s, s.describePlay(), s.saveLeft(), t.to)
	c.passages.addDeparture(t, t.left)
}

// saveLeft returns the game's value of a session after Leave, or the one before if SaveSession cannot read it any more.
func (s *Session) saveLeft() (saved []byte) {
	kicked, ok := s.kicked, false
	s.callHook(HookSave, func(s *Session) {
		saved = s.core.config.Hooks.SaveSession(s, nil)
		ok = len(saved) <= MaxSessionValue
	})
	if !ok {
		s.endNext(kicked)
		return s.noted.value
	}
	return saved
}

// noteArrival makes the notes of this room hold that t has come.
func (c *Core) noteArrival(t *traveller) {
	c.passages.forgetDeparture(t.id, c.milestoneNow()) // it has returned by way of other rooms
	if t.note != nil {
		c.passages.addArrival(arrival{t.id, t.moves + 1, t})
	}
	t.enter(c.milestoneNow())
}

// followPassages settles the passages, and sends on the sessions that a crash has kept from their next room.
func (c *Core) followPassages() {
	now := c.milestoneNow()
	c.passages.settle(now)
	for _, t := range slices.Clone(c.passages.departed) {
		switch t.fate.Load() {
		case fateLost:
			t.reopenOrigin()
		case fateWaiting:
			c.sendOn(t)
		}
	}
}

// reopenOrigin prepares a session whose next room has failed for another attempt, or for its return. Its client
// begins with an empty view.
func (t *traveller) reopenOrigin() {
	s := t.origin
	t.peer, t.numbers.Structure = nil, structureAbove(t.numbers.Structure)
	s.closeViewer() // if it is not closed yet
	s.openViewer(t.numbers, s.abilities)
	s.travel.raiseFence(t.numbers.Structure)
	s.progress, s.silentTicks = progress{structure: t.numbers.Structure}, 0
	t.fate.Store(fateWaiting)
}

// sendOn hands a session over to its next room once that room is ready. If there will be no such room, the session returns.
func (c *Core) sendOn(t *traveller) {
	s := t.origin
	elsewhere, outdated := c.config.Router.placeWaiting(t)
	switch {
	case elsewhere == nil && c.config.Router.hasArrived(t):
		c.config.Router.forgetTraveller(t, c)
		t.end()
		t.endOrigin()
		return
	case elsewhere == c: // it is about to return
		return
	case elsewhere != nil && elsewhere.config.Room == t.to:
		t.ask(elsewhere)
		return
	case elsewhere != nil: // it could move on only after it was durable in the next room
		t.end()
		t.endOrigin()
		return
	case outdated:
		c.turnAway(t, &wire.Error{Code: wire.SignedInElsewhere})
		return
	}
	s.silentTicks++
	why := c.whyWaitingEnds(t)
	if why != nil {
		c.turnAway(t, why)
		return
	}
	core, err := s.findRoom(t.to)
	switch {
	case err != nil && mayOpenLater(err): // its disk may have the session
	case err != nil:
		t.refused = refusalOf(err, wire.NoRoom)
		why = c.takeBack(t)
		if why != nil {
			c.turnAway(t, why)
		}
	case core != nil:
		t.again = true
		t.fate.Store(fateUnderway)
		t.left, t.silent, t.lasts = milestone{}, durationOf(uint64(s.silentTicks), c.world.TickHz()), s.timeLeft()
		if !c.config.Router.handOver(t, c, core) {
			t.waitAgain() // another run of the room may follow
		}
	}
}

// mayOpenLater reports whether a room that RouterConfig.Move has refused may open later: the server lacks something, or the
// operator has closed the room. Otherwise there is no such room, or the game refuses it.
func mayOpenLater(err error) bool {
	code := refusalOf(err, wire.NoRoom).Code
	return code.Info().Retry || code == wire.RoomClosed
}

// ask asks the next room, which has the session or is about to, whether that is durable.
func (t *traveller) ask(next *Core) {
	t.asks, t.left = true, milestone{}
	t.fate.Store(fateUnderway)
	if !next.requests.addTraveller(t) {
		t.waitAgain()
	}
}

// waitAgain makes the room that the session has left try again.
func (t *traveller) waitAgain() {
	t.asks = false
	t.fate.Store(fateWaiting)
}

// knowsTraveller answers a traveller that has come already, perhaps before a crash, or only asks for that.
func (c *Core) knowsTraveller(t *traveller) bool {
	at, ok := c.passages.arrivalOf(t)
	s := c.Session(t.id)
	switch {
	case ok || s != nil && s.travel.moves > t.moves:
		t.enter(at)
		t.endOrigin()
		if !t.asks && s == nil { // it has ended here
			c.config.Router.forgetTraveller(t, c)
		}
		return true
	case t.asks:
		t.waitAgain()
		return true
	}
	return false
}

// whyWaitingEnds returns why a session that waits for its next room ends, or nil.
func (c *Core) whyWaitingEnds(t *traveller) *wire.Error {
	switch s := t.origin; {
	case t.kicked != nil:
		return t.kicked
	case c.roster.banned[t.user]:
		return &wire.Error{Code: wire.Banned}
	case s.hasExpired(c.world.Tick()):
		return &wire.Error{Code: wire.SessionExpired}
	case s.silentTicks > c.graceTicks:
		return &wire.Error{Code: wire.Timeout, Detail: "did not reconnect"}
	}
	return nil
}

// restoreDeparture restores a session that a crash has caught between this room and another.
func (c *Core) restoreDeparture(n *notedSession, to string) (*traveller, error) {
	s := c.reviveSession(n)
	s.enterState(stateHandedOver)
	t := &traveller{
		identity: s.identity, secrets: s.secrets.allSecrets(), moves: n.moves, visited: c.visitedWith(n.visited), origin: s, to: to,
		passage: passage{note: appendDeparture(nil, s, n.play, n.saved, to), crashed: true},
	}
	t.numbers.Structure = s.travel.fence
	t.fate.Store(fateWaiting)
	err := errOneWorld
	if r := c.config.Router; r != nil && r.config.Move != nil {
		err = s.callRestore(n.saved)
	}
	t.SetValue(s.value)
	if err != nil {
		s.closeViewer()
		return nil, err
	}
	c.config.Router.placeWaiting(t) // so that its client finds it
	c.passages.addDeparture(t, milestone{})
	return t, nil
}

// Departures returns the numbers of sessions that have left for other rooms, and would be lost if this room's
// files were removed and the process were killed. Those underway may soon be on the disks of their next rooms. The stranded ones
// need a later Tick or run of this room, which sends them on or takes them back. Only the goroutine that calls Tick may call it.
func (c *Core) Departures() (underway, stranded int) {
	c.passages.settle(c.milestoneNow())
	for _, t := range c.passages.departed {
		fate := t.fate.Load()
		if fate == fateWaiting || fate == fateLost || c.requests.isReturning(t) {
			stranded++
		} else {
			underway++
		}
	}
	return underway, stranded
}

// ReleaseDepartures lets the sessions that have left enter their next rooms, after the last Tick of a room that ends: the
// frame of their departure may never be durable.
func (c *Core) ReleaseDepartures() {
	for _, t := range c.passages.departed {
		t.released.Store(true)
	}
}

// awaitsSession reports whether h resumes a session that is on its way to or from this room.
func (c *Core) awaitsSession(h *wire.Hello) bool {
	waits := func(t *traveller) bool { return t.id == h.Session && t.resumedBy(h) }
	return c.requests.hasTraveller(waits) ||
		slices.ContainsFunc(c.passages.departed, func(t *traveller) bool { return t.fate.Load() == fateWaiting && waits(t) })
}

// resumedBy reports whether h has a secret of the session.
func (t *traveller) resumedBy(h *wire.Hello) bool {
	return slices.ContainsFunc(t.secrets, func(x secret) bool { return x.equals(h.Secret) })
}
