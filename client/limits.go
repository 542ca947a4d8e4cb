package client

import (
	"cmp"
	"errors"
	"fmt"
	"unsafe"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// The defaults exceed the needs of any game: interest sets have at most a few thousand
	// entities, which take a few megabytes.
	defaultMaxEntities = 1 << 16
	defaultMaxBytes    = 256 << 20
	// minMaxBytes is enough for a replica of few entities, with its scratch buffers.
	minMaxBytes = 1 << 20

	bytesOfEntity = int(unsafe.Sizeof(Entity{}))
)

// limits bound a replica.
type limits struct{ entities, bytes int }

func (c SessionConfig) replicaLimits() limits {
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

// ErrLimit ends a session whose server sent more than Config lets the client keep. Either the
// server is at fault or the limit is too low for its game. The Client does not reconnect,
// because the limit would be exceeded again. The error wraps a *wire.Error too, with code
// wire.TooMuch and as Detail the field of Config: "MaxEntities" or "MaxBytes".
var ErrLimit = errors.New("client: the server sent more than the client may keep")

// limitError returns ErrLimit for a field of Config and its value.
func limitError(field string, most int) error {
	return fmt.Errorf("%w: %s is %d: it is broken or hostile, or the limit is too low for this game: %w",
		ErrLimit, field, most, &wire.Error{Code: wire.TooMuch, Detail: field})
}

// bytes returns the replica's memory; see ReplicaStats.Bytes.
func (r *Replica) bytes() int {
	return r.entities.bytes() + len(r.held)*wire.MaxDatagram + r.rows.bytes() + r.check.bytes()
}

func capacity[T any](list []T) int {
	var element T
	return cap(list) * int(unsafe.Sizeof(element))
}

// memory bounds what a message may allocate.
type memory struct{ max, left int }

// beginMessage begins a message; used is the memory in use before it.
func (m *memory) beginMessage(used int) { m.left = m.max - used }

// chargeBytes deducts bytes from what the message may still allocate.
func (m *memory) chargeBytes(bytes int) error {
	m.left -= bytes
	if m.left < 0 {
		return limitError("MaxBytes", m.max)
	}
	return nil
}
