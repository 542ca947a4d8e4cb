package client

import (
	"math"
	"time"
	"unsafe"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client/internal/work"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
)

// StatesOf returns how many states of e are kept.
func StatesOf(e *Entity) int { return len(e.states.ticks()) }

// BlendFromOf returns the tick from which e's state of tick is blended in.
func BlendFromOf(e *Entity, tick uint32) uint32 { return e.states.blendFrom(e.states.findTick(tick)) }

// ShowUpTo sets the tick of the newest render, as Session.Render does.
func (r *Replica) ShowUpTo(tick uint32) { r.timeline.shown = tick }

// KeepFor makes r keep states for ticks, as Session.Render does.
func (r *Replica) KeepFor(ticks uint32) { r.keepStates(ticks) }

// Applier feeds a Replica by hand, without a Session.
type Applier struct{ *Replica }

// NewApplier makes an empty replica with the default limits of Config. floor and maxSlots are the
// Welcome's: handles of a generation below floor are Stale (H5), and slots are below maxSlots. The
// codec has the server's schema and tables.
func NewApplier(c *rowcodec.Codec, floor, maxSlots uint32, o Observer) *Applier {
	return &Applier{newReplica(replicaOptions{
		layout: newLayout(c, c.Schema(), nil), issued: handleRange{floor, math.MaxUint32, maxSlots}, limits: SessionConfig{}.replicaLimits(), observer: o,
	})}
}

// Simulate has the replica compute bodies. Call it first.
func (a *Applier) Simulate(tickHz int) error { return a.simulateBodies(tickHz) }

// ApplyStructure applies the body of a Structure message, without a bound on its work.
func (a *Applier) ApplyStructure(body []byte) error {
	*a.budget = work.Budget{}
	return a.applyStructure(body)
}

// ApplyState applies a State datagram, without a bound on its work.
func (a *Applier) ApplyState(datagram []byte) (Outcome, error) {
	*a.budget = work.Budget{}
	_, outcome, err := a.applyState(datagram)
	return outcome, err
}

// Session returns the config of the session that Dial makes.
func (c Config) Session() SessionConfig { return c.sessionConfig() }

// SchemaChanges returns what Client.SchemaChanges does.
func (s *Session) SchemaChanges() []string { return s.greeting.schemaChanges() }

// Stats returns the session's counters since NewSession.
func (s *Session) Stats() Stats { return s.stats() }

// Clock returns the estimate of the server's time at now.
func (s *Session) Clock(now time.Duration) Clock { return s.time.clock.estimateAt(now) }

// Answers reports whether a Client sends an Input after the arrival of datagrams datagrams,
// given the age of the newest.
func (s *Session) Answers(datagrams int, now, quiet time.Duration) bool {
	return s.uplink.inputDue(&s.time, receiptOf(s.replica, &s.stream), datagrams, now, quiet)
}

// Sleeps sets whether s belongs to a Client that waits between updates.
func (s *Session) Sleeps(yes bool) {
	s.uplink.caller = callerRenders
	if yes {
		s.uplink.caller = callerSleeps
	}
}

// InputWait returns how long Client.Wait sleeps if nothing arrives, given the age of the newest
// Input.
func (s *Session) InputWait(now, quiet time.Duration) time.Duration {
	return s.uplink.inputWait(&s.time, receiptOf(s.replica, &s.stream), now, quiet)
}

// Receive applies stream bytes and datagrams that have arrived until now, as an Update does.
func (s *Session) Receive(now time.Duration, stream []byte, datagrams ...[]byte) error {
	in := Arrivals{Stream: stream}
	for _, d := range datagrams {
		in.Datagrams = append(in.Datagrams, Datagram{Bytes: d, At: now})
	}
	_, err := s.receiveArrivals(in, now)
	return err
}

// Patience returns how long a Client waits for a snapshot before it sends an Input.
func (s *Session) Patience() time.Duration {
	return s.uplink.maxSilence(&s.time, receiptOf(s.replica, &s.stream))
}

// HeldDatagrams returns how many datagrams wait for their structure; at most MaxHeld.
func (r *Replica) HeldDatagrams() int { return len(r.held) }

const MaxHeld = maxHeld

// TenantOf returns the live entity of a slot, 0 if none.
func (r *Replica) TenantOf(slot uint32) bulk.Handle {
	if c := r.entities.cells.findCell(slot); c != nil && c.entity != nil {
		return c.entity.handle
	}
	return 0
}

// CountedBytes returns the memory of cells and entities, counted by visiting them.
func (r *Replica) CountedBytes() (n int) {
	n = 8 * len(r.entities.cells.pages)
	for _, page := range r.entities.cells.pages {
		if page != nil {
			n += int(unsafe.Sizeof(*page))
		}
	}
	for _, e := range r.entities.all {
		n += r.entities.bytesOfNew() + 4*int(e.states.size)
		if len(r.entities.layout.textFields) > 0 {
			for _, text := range *textsOf(e) {
				n += bytesOfString + heapBytes(len(text))
			}
		}
	}
	return n
}

// KeptBytes returns the part of Bytes for cells and entities.
func (r *Replica) KeptBytes() int { return r.entities.cells.bytes() + r.entities.size }

// Digest hashes the visible state and the baselines: cells, entities, their states, and
// the acknowledgement.
func (r *Replica) Digest() uint64 {
	d := digest(1)
	d.add(uint64(r.applied), uint64(r.timeline.acks.newest), r.timeline.acks.mask, uint64(r.timeline.tick), uint64(r.timeline.before), uint64(len(r.entities.all)))
	for slot, c := range r.entities.cells.knownSlots() {
		d.add(uint64(slot), uint64(c.generation), uint64(c.state))
	}
	for _, e := range r.entities.all {
		d.add(uint64(e.handle), uint64(e.kind), uint64(e.entered), uint64(e.mask))
		s := &e.states
		if s.owned {
			d.add(1)
		}
		d.add(uint64(s.tick), uint64(s.named), uint64(s.floor), uint64(s.room), uint64(s.count), uint64(s.newest))
		for _, w := range s.list() {
			d.add(uint64(w))
		}
		for _, text := range r.AppendTexts(nil, e) {
			d.add(uint64(len(text)))
			for _, b := range []byte(text) {
				d.add(uint64(b))
			}
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

// SizeOfEntity, SizeOfTextEntity, SizeOfCell and SizeOfState are in bytes.
const (
	SizeOfEntity     = unsafe.Sizeof(Entity{})
	SizeOfTextEntity = bytesOfTextEntity
	SizeOfCell       = unsafe.Sizeof(cell{})
)

func SizeOfState(s *schema.Schema) int { return stateBytes(s.Values()) }

// Recorrect makes p believe that the server has corrected its confirmed tick.
func Recorrect[State any](p *Prediction[State]) { p.core.Recorrect() }

// ComputedTick returns the tick up to which exact bodies are computed.
func (r *Replica) ComputedTick() uint32 { return r.entities.bodies.Now() }

// StateLists returns how many bodies have a list of past states, and how many spare lists there
// are.
func (r *Replica) StateLists() (used, spare int) { return r.entities.bodies.StateLists() }

// Allowance is the time to allow for varying delays.
type Allowance struct{ allowance }

// Add adds a delay at now, and returns the delay that only the allowed share of the newest ones
// exceeds.
func (a *Allowance) Add(now, delay time.Duration) time.Duration {
	a.addDelay(now, delay)
	return a.wantedAt(now)
}

const (
	AllowanceSamples = allowanceSamples
	AllowanceSpan    = allowanceSpan
	MinOutlier       = minOutlier
)

// FrameTypes follows the frames of a stream.
type FrameTypes struct{ frameTypes }

// Wake reports whether the next piece of the stream wakes Client.Wait.
func (f *FrameTypes) Wake(p []byte) bool { return f.wakesWait(p) }

// Debt returns the work of the session that passing time has not paid for.
func Debt(s *Session) time.Duration { return s.budget.Debt() }

// MaxWork is the work that a server may cause at once.
const MaxWork = work.Max

// WaitingBodies returns how many bodies wait for a snapshot.
func WaitingBodies(s *Session) int { return s.replica.entities.bodies.Waiting() }
