package client

import (
	"cmp"
	"fmt"
	"unsafe"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// The defaults are far above any game: interest sets have at most some thousand
	// entities, which take some megabytes.
	defaultMaxEntities = 1 << 16
	defaultMaxBytes    = 256 << 20
	// minMaxBytes is enough for a replica of few entities, scratch included.
	minMaxBytes = 1 << 20

	bytesOfEntity = int(unsafe.Sizeof(Entity{}))
)

// limits bound a replica.
type limits struct{ entities, bytes int }

func (c SessionConfig) limits() limits {
	return limits{cmp.Or(c.MaxEntities, defaultMaxEntities), cmp.Or(c.MaxBytes, defaultMaxBytes)}
}

func (c SessionConfig) checkLimits() (errs []error) {
	if c.MaxEntities < 0 {
		errs = append(errs, fmt.Errorf("client: MaxEntities is %d, want more than 0, or 0 for %d", c.MaxEntities, defaultMaxEntities))
	}
	if c.MaxBytes != 0 && c.MaxBytes < minMaxBytes {
		errs = append(errs, fmt.Errorf("client: MaxBytes is %d, want at least %d, or 0 for %d", c.MaxBytes, minMaxBytes, defaultMaxBytes))
	}
	return errs
}

// LimitError ends a session whose server sent more than Config lets the client keep.
// Either the server is at fault or the limit is too low for its game. A Client does not
// reconnect, because the same would happen again. It unwraps to a *wire.Error with code
// wire.TooMuch.
type LimitError struct {
	Limit string // the field of Config: "MaxEntities" or "MaxBytes"
	Max   int    // its value
}

// Error says whose fault it may be and what to do.
func (e *LimitError) Error() string {
	return fmt.Sprintf("client: the server sent more than the client may keep (%s is %d): it is broken or hostile, or the limit is too low for this game", e.Limit, e.Max)
}

// Unwrap returns the code that the server receives as a *wire.Error.
func (e *LimitError) Unwrap() error { return &wire.Error{Code: wire.TooMuch, Detail: e.Limit} }

// Bytes returns the replica's memory in bytes, as Config.MaxBytes bounds it: cells,
// entities with their states, datagrams that wait for structure, and scratch.
func (r *Replica) Bytes() int {
	return r.cells.bytes() + r.entityBytes + len(r.held)*wire.MaxDatagram +
		capacity(r.entities) + capacity(r.rows) + capacity(r.arena) + capacity(r.enters) + capacity(r.plan) + r.bytesOfBodies()
}

func (r *Replica) bytesOfBodies() int {
	if r.bodies == nil {
		return 0
	}
	return r.bodies.Bytes()
}

func capacity[T any](list []T) int {
	var element T
	return cap(list) * int(unsafe.Sizeof(element))
}

// charge takes bytes from what the message being checked may still allocate.
func (r *Replica) charge(bytes int) error {
	r.bytesLeft -= bytes
	if r.bytesLeft < 0 {
		return &LimitError{"MaxBytes", r.limits.bytes}
	}
	return nil
}

// checkGrowth returns an error if the states of a datagram's rows could exceed
// MaxBytes.
func (r *Replica) checkGrowth() error {
	values := r.codec.Schema().Values()
	r.bytesLeft = r.limits.bytes - r.Bytes()
	growth := maxGrowth(values)
	if r.bodies != nil {
		growth += r.bodies.BytesOfNew()
	}
	if len(r.rows)*growth <= r.bytesLeft {
		return nil
	}
	for i := range r.rows {
		if d := &r.rows[i]; d.exact.Form != wire.Ordinary && !r.bodies.Computes(d.entity.index) {
			r.bytesLeft -= r.bodies.BytesOfNew()
		}
		if err := r.charge(r.rows[i].entity.states.growth(values)); err != nil {
			return err
		}
	}
	return nil
}
