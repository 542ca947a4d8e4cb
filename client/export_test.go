package client

import (
	"time"
	"unsafe"

	"github.com/worldd/worldd/bulk"
)

// StatesOf is how many states are kept of e.
func StatesOf(e *Entity) int { return len(e.states.ticks()) }

// SinceOf is from when on the state of a tick that is kept of e is shown to come about.
func SinceOf(e *Entity, tick uint32) uint32 { return e.states.blendFrom(e.states.find(tick)) }

// ShowUpTo has r know the moment of the newest frame, as Session.Render does.
func (r *Replica) ShowUpTo(tick uint32) { r.shown = tick }

// KeepFor has r keep the states of so many ticks, as Session.Render does.
func (r *Replica) KeepFor(ticks uint32) { r.span = ticks }

// Session is what Dial makes the session of.
func (c Config) Session() SessionConfig { return c.session() }

// Answers says whether a Client sends an Input, after so many datagrams.
func (s *Session) Answers(datagrams int, quiet time.Duration) bool {
	return s.inputDue(datagrams, quiet)
}

// Receive takes what came over both lanes, as a Client does.
func (s *Session) Receive(stream []byte, datagrams ...[]byte) error {
	in := arrivals{stream: stream}
	for _, d := range datagrams {
		in.datagrams = append(in.datagrams, arrival{bytes: d})
	}
	return s.receive(in)
}

// Patience is how long a Client waits before it sends an Input unasked.
func (s *Session) Patience() time.Duration { return s.patience() }

// HeldDatagrams is how many wait for their structure, and MaxHeld the most.
func (r *Replica) HeldDatagrams() int { return len(r.held) }

const MaxHeld = maxHeld

// TenantOf is who is live in a slot; 0: nobody.
func (r *Replica) TenantOf(slot uint32) bulk.Handle {
	if c := r.cells.peek(slot); c != nil && c.entity != nil {
		return c.entity.handle
	}
	return 0
}

// CountedBytes is what Bytes should say of cells and entities, counted by visiting them.
func (r *Replica) CountedBytes() (n int) {
	n = 8 * len(r.cells.pages)
	for _, page := range r.cells.pages {
		if page != nil {
			n += int(unsafe.Sizeof(*page))
		}
	}
	for _, e := range r.entities {
		n += int(unsafe.Sizeof(*e)) + 4*len(e.states.list)
	}
	return n
}

// KeptBytes is what Bytes says of cells and entities.
func (r *Replica) KeptBytes() int { return r.cells.bytes() + r.entityBytes }

// Digest is a sum over all that was published and all that later rows may stand on:
// cells, entities, their states, and what is acknowledged.
func (r *Replica) Digest() uint64 {
	d := digest(1)
	d.add(uint64(r.applied), uint64(r.acks.newest), r.acks.mask, uint64(r.tick), uint64(r.before), uint64(len(r.entities)))
	for slot, c := range r.cells.known() {
		d.add(uint64(slot), uint64(c.generation), uint64(c.state))
	}
	for _, e := range r.entities {
		d.add(uint64(e.handle), uint64(e.kind), uint64(e.entered), uint64(e.mask))
		s := &e.states
		if s.owned {
			d.add(1)
		}
		d.add(uint64(s.tick), uint64(s.named), uint64(s.floor), uint64(s.room), uint64(s.count), uint64(s.newest))
		for _, w := range s.list {
			d.add(uint64(w))
		}
	}
	return uint64(d)
}

type digest uint64

func (d *digest) add(numbers ...uint64) {
	for _, n := range numbers {
		*d = (*d ^ digest(n)) * 0x9e3779b97f4a7c15
		*d ^= *d >> 29
	}
}

// SizeOfEntity and SizeOfCell are in bytes.
const (
	SizeOfEntity = unsafe.Sizeof(Entity{})
	SizeOfCell   = unsafe.Sizeof(cell{})
)
