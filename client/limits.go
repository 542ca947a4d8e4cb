package client

import (
	"fmt"
	"unsafe"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// defaultMaxEntities and defaultMaxBytes are far above any game: interest sets
	// have some thousand entities at most, which take some megabytes.
	defaultMaxEntities = 1 << 16
	defaultMaxBytes    = 256 << 20
	// minMaxBytes holds what a replica of few entities takes, scratch included.
	minMaxBytes = 1 << 20

	bytesOfEntity = int(unsafe.Sizeof(Entity{}))
)

// limits bound what a replica keeps.
type limits struct{ entities, bytes int }

func (c SessionConfig) limits() limits {
	l := limits{c.MaxEntities, c.MaxBytes}
	if l.entities == 0 {
		l.entities = defaultMaxEntities
	}
	if l.bytes == 0 {
		l.bytes = defaultMaxBytes
	}
	return l
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

// LimitError ends a session whose server showed more than Config allows the
// client to keep. The server is at fault, or the limit is too low for its game; the
// same server will do it again, so a Client does not reconnect. errors.Is finds it as
// a *wire.Error with the code wire.TooMuch, too.
type LimitError struct {
	Limit string // the field of Config: "MaxEntities" or "MaxBytes"
	Max   int    // its value
}

// Error says whose fault it is and what to do.
func (e *LimitError) Error() string {
	return fmt.Sprintf("client: the server shows more than the client may keep (%s is %d): it is broken or hostile; if it is not, raise the limit", e.Limit, e.Max)
}

// Unwrap is the code that the server receives.
func (e *LimitError) Unwrap() error { return &wire.Error{Code: wire.TooMuch, Detail: e.Limit} }

// Bytes is the memory that the replica takes, in bytes, as Config.MaxBytes
// bounds it: cells, entities with their states, datagrams that wait for structure, and
// scratch.
func (r *Replica) Bytes() int {
	return r.cells.bytes() + r.entityBytes + len(r.held)*wire.MaxDatagram +
		capacity(r.entities) + capacity(r.rows) + capacity(r.arena) + capacity(r.entering) + capacity(r.foreseen)
}

// capacity is the memory of a list, in bytes.
func capacity[T any](list []T) int {
	var element T
	return cap(list) * int(unsafe.Sizeof(element))
}

// charge notes that a message which is being checked will take some bytes more.
func (r *Replica) charge(bytes int) error {
	if r.room -= bytes; r.room < 0 {
		return &LimitError{"MaxBytes", r.limits.bytes}
	}
	return nil
}

// checkGrowth returns an error if the states of a datagram's rows could take more
// memory than there is left.
func (r *Replica) checkGrowth() error {
	words := r.codec.Schema().Words()
	r.room = r.limits.bytes - r.Bytes()
	if len(r.rows)*mostGrowth(words) <= r.room {
		return nil
	}
	for i := range r.rows {
		if err := r.charge(r.rows[i].entity.states.growth(words)); err != nil {
			return err
		}
	}
	return nil
}
