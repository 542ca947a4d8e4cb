package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// simulatedNode is a node's machine with a clock of its own, its link to the store, and a disk that outlives its processes.
type simulatedNode struct {
	s        *simulation
	name     string
	offset   time.Duration
	rate     float64
	pausedTo time.Duration
	cutTo    time.Duration
	life     int // processes so far: what belongs to an earlier one is dropped
	up       bool

	machine *machine
	wakes   int // wakes that were planned: the last one counts
	watch   *simulatedWatch
	runs    map[string]*simulatedRun
	wants   map[string]*want

	// The disk.
	stored map[string]*simulatedRun // runs that can continue
	kept   Past
}

// simulatedRun is a run of a room. It has the same id while it continues exactly.
type simulatedRun struct {
	id      int
	epoch   uint64
	block   int
	running bool
	image   int       // the newest that was acknowledged, or with which the run began
	saving  *pointing // waits for the directory
	steps   int       // of the run so far, in all processes
}

// simulatedWatch delivers changes in order, until it breaks or is stuck.
type simulatedWatch struct {
	id         uint64
	generation int
	sent       uint64        // the revision up to which changes are under way
	last       time.Duration // arrival of the last
	stuck      bool
	queue      []func(now time.Duration) // under way
}

func (n *simulatedNode) clock() time.Duration {
	return n.offset + time.Duration(n.rate*float64(n.s.now))
}

// after runs f in this process after d of true time, later if it is paused.
func (n *simulatedNode) after(d time.Duration, f func()) {
	life := n.life
	var try func()
	try = func() {
		switch {
		case n.life != life:
		case n.s.now < n.pausedTo:
			n.s.after(n.pausedTo-n.s.now+n.s.upTo(time.Millisecond), try)
		default:
			f()
		}
	}
	n.s.after(d, try)
}

// start begins a process.
func (n *simulatedNode) start() {
	s := n.s
	n.life++
	n.up = true
	n.runs, n.wants, n.watch = map[string]*simulatedRun{}, map[string]*want{}, nil
	config := settings{name: n.name, addrs: []string{n.name}, leaseTime: s.lease, keeps: true, blocks: s.blocks}
	if s.random.IntN(3) > 0 {
		config.past.Incarnations = n.kept.Incarnations
	}
	if s.random.IntN(2) == 0 {
		config.past.Directory = n.kept.Directory
	}
	n.machine = newMachine(config, rand.New(rand.NewPCG(s.random.Uint64(), 0)))
	n.input(func(now time.Duration) { n.machine.wake(now) })
	n.tick()
}

// crash ends the process, until another one starts. Runs stay on the disk if their journals are complete.
func (n *simulatedNode) crash(d time.Duration) {
	if !n.up {
		return
	}
	for room, r := range n.runs {
		delete(n.stored, room)
		if r.id%2 == 0 {
			n.stored[room] = r
		}
	}
	n.life++
	n.up = false
	n.s.after(d, n.start)
}

// input gives the machine an input, and does what it wants.
func (n *simulatedNode) input(f func(now time.Duration)) {
	f(n.clock())
	m := n.machine
	out := m.takeOutput()
	if out.keep != nil {
		p := *out.keep
		n.kept = p
		n.after(0, func() {
			n.input(func(now time.Duration) { m.kept(now, p, nil) })
		})
	}
	for _, e := range out.events {
		n.take(e)
	}
	for _, r := range out.requests {
		n.carry(r)
	}
	if w := out.watch; w != nil {
		n.beginWatch(w)
	}
	for _, l := range out.notes {
		n.s.logf("%s: %s %s", n.name, l.text, l.key)
	}
	n.wakes++
	mine := n.wakes
	delay := time.Duration(float64(m.wakeAt()-m.now) / n.rate)
	n.after(delay+n.s.upTo(2*time.Millisecond), func() {
		if n.wakes == mine {
			n.input(func(now time.Duration) { m.wake(now) })
		}
	})
}

// take does what an event says.
func (n *simulatedNode) take(e event) {
	n.s.logf("%s: event %d of %s, epoch %d block %d %v", n.name, e.kind, e.room, e.grant.epoch, e.grant.block, e.err)
	switch e.kind {
	case took:
		n.s.beginFrom(n, e.room, e.grant.image)
		run := &simulatedRun{epoch: e.grant.epoch, block: e.grant.block, running: true, image: imageNumber(e.grant.image)}
		if e.want.block != noBlock {
			run.id, run.steps = n.stored[e.room].id, n.stored[e.room].steps
		} else {
			n.s.runs++
			run.id = n.s.runs
		}
		delete(n.stored, e.room)
		delete(n.wants, e.room)
		n.runs[e.room] = run
		n.s.takes++
	case failed:
		delete(n.wants, e.room)
	case resumed:
		r := n.runs[e.room]
		if r.block != e.grant.block {
			n.s.fail("%s: %s continues in block %d, not %d", n.name, e.room, e.grant.block, r.block)
		}
		r.epoch, r.running = e.grant.epoch, true
		if !n.s.oracle.descends(imageNumber(e.grant.image), r.image) {
			n.s.fail("C5: %s continues %s with image %d, after image %d was acknowledged", n.name, e.room, imageNumber(e.grant.image), r.image)
		}
		r.image = imageNumber(e.grant.image) // one of its own, whose answer was lost, or the one that it knew
		n.s.oracle.acknowledge(n.machine.identity.known, e.room, r.image)
	case suspended:
		n.runs[e.room].running = false
	case pointed:
		if r := n.runs[e.room]; r != nil && r.saving == e.pointing {
			r.saving, r.image = nil, imageNumber(e.pointing.image)
			n.s.oracle.acknowledge(n.machine.identity.known, e.room, r.image)
		}
	case pointFailed:
		if r := n.runs[e.room]; r != nil && r.saving == e.pointing {
			r.saving = nil
		}
	case lost:
		n.s.lost++
		delete(n.runs, e.room)
	case released:
		delete(n.runs, e.room)
	case resigned:
		n.life++
		n.up = false
		n.s.after(n.s.upTo(3*time.Second), n.start)
	}
}

// carry takes a request to the store, and its answer back, if neither is lost.
func (n *simulatedNode) carry(r request) {
	s := n.s
	if s.now < n.cutTo {
		return
	}
	m := n.machine
	s.after(s.latency(), func() {
		if s.now < s.store.awayTo {
			if s.random.IntN(3) == 0 {
				s.after(s.store.awayTo-s.now+1, func() { s.serve(r) })
			}
			return
		}
		a := s.serve(r)
		if s.now < n.cutTo || s.random.IntN(50) == 0 {
			return
		}
		n.after(s.latency(), func() {
			n.input(func(now time.Duration) { m.receive(now, r.id, a) })
		})
	})
}

func (n *simulatedNode) beginWatch(w *watchRequest) {
	n.watch = nil
	if w.stop {
		return
	}
	n.watch = &simulatedWatch{id: w.id, sent: w.from, generation: n.s.store.generation, stuck: n.s.now < n.cutTo}
	n.deliver()
}

// deliver sends the changes that the watch has not seen.
func (n *simulatedNode) deliver() {
	w, s := n.watch, n.s
	if w == nil || w.stuck || !n.up {
		return
	}
	if s.now < n.cutTo {
		w.stuck = true
		return
	}
	changes, ok := s.store.after(w.sent)
	if !ok || w.generation != s.store.generation {
		n.breakWatch(!ok)
		return
	}
	m := n.machine
	for _, e := range changes {
		w.sent = e.Revision
		w.last = max(w.last, s.now+s.latency())
		n.bring(w, w.last-s.now, func(now time.Duration) { m.change(now, w.id, e) })
	}
}

// bring lets the watch's next input arrive after d. A pause delays inputs and keeps their order, as a connection does.
func (n *simulatedNode) bring(w *simulatedWatch, d time.Duration, input func(now time.Duration)) {
	w.queue = append(w.queue, input)
	n.after(d, func() {
		next := w.queue[0]
		w.queue = w.queue[1:]
		if n.watch == w {
			n.input(next)
		}
	})
}

// breakWatch ends the watch, after the changes that are under way.
func (n *simulatedNode) breakWatch(compacted bool) {
	w, m := n.watch, n.machine
	if w == nil || w.stuck {
		return
	}
	w.stuck = true
	n.bring(w, max(w.last-n.s.now, 0)+n.s.latency(), func(now time.Duration) { m.endWatch(now, w.id, compacted) })
}

// tick steps the runs that may (C1).
func (n *simulatedNode) tick() {
	if n.clock() < n.machine.until() {
		for _, room := range n.s.rooms {
			if r := n.runs[room]; r != nil && r.running {
				n.s.step(n, room, r)
				n.save(room, r)
			}
		}
	} else if len(n.runs) > 0 {
		n.s.frozen++
	}
	n.after(80*time.Millisecond+n.s.upTo(40*time.Millisecond), n.tick)
}

// save saves the run now and then, and gives up if the directory does not answer.
func (n *simulatedNode) save(room string, r *simulatedRun) {
	if r.saving != nil || n.s.random.IntN(15) > 0 {
		return
	}
	m, p := n.machine, &pointing{room: room, image: n.s.saveImage(n.name, r)}
	r.saving = p
	n.input(func(now time.Duration) { m.point(now, p) })
	n.after(n.s.upTo(n.s.lease), func() {
		if r.saving == p {
			r.saving = nil
			n.input(func(now time.Duration) { m.withdraw(now, p) })
		}
	})
}

// ask wants a room, as a client does, for a while.
func (n *simulatedNode) ask(room string) {
	if !n.up || n.wants[room] != nil || n.runs[room] != nil {
		return
	}
	w := &want{room: room, block: noBlock}
	if r := n.stored[room]; r != nil && n.s.random.IntN(4) > 0 {
		w.block = r.block
	} else {
		delete(n.stored, room)
	}
	n.wants[room] = w
	m := n.machine
	n.input(func(now time.Duration) { m.take(now, w) })
	n.after(n.s.upTo(2*n.s.lease), func() {
		if n.wants[room] == w {
			delete(n.wants, room)
			n.input(func(now time.Duration) { m.giveUp(now, w) })
		}
	})
}

// end releases a room that the node has.
func (n *simulatedNode) end(room string) {
	r := n.runs[room]
	if !n.up || r == nil {
		return
	}
	r.running = false
	keep, heir := n.s.random.IntN(2) == 0, ""
	delete(n.stored, room)
	if keep {
		n.stored[room] = r
	}
	if keep && n.s.random.IntN(2) == 0 { // the other node gets the whole run, and may not come for it
		other := n.s.nodes[n.s.random.IntN(3)]
		heir = other.name
		if other.runs[room] == nil {
			copied := *r
			other.stored[room] = &copied
		}
		n.s.after(n.s.upTo(n.s.lease), func() { other.ask(room) })
	}
	n.input(func(now time.Duration) { n.machine.release(now, room, keep, heir) })
}

func (n *simulatedNode) close() {
	if !n.up {
		return
	}
	for room, r := range n.runs {
		r.running = false
		n.stored[room] = r
	}
	n.input(func(now time.Duration) { n.machine.close(now) })
}

func (n *simulatedNode) String() string {
	m := n.machine
	var held []string
	for room, r := range n.runs {
		held = append(held, fmt.Sprintf("%s@%d", room, r.epoch))
	}
	slices.Sort(held)
	return fmt.Sprintf("%s up=%v born=%v incarnation=%s state=%d loaded=%v until=%v now=%v holds %s", n.name, n.up, m.lease.born, m.lease.incarnation,
		m.identity.state, m.view.loaded, m.until(), n.clock(), strings.Join(held, " "))
}
