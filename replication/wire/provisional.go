package wire

import "github.com/worldd/worldd/bulk"

// provisionalGeneration is the generation of every provisional handle.
const provisionalGeneration = 2

// ProvisionalHandle returns the provisional handle with an index: a client's name for an
// entity that it requests. Its generation is even, so it never names a real entity.
func ProvisionalHandle(index uint32) bulk.Handle {
	return bulk.NewHandle(index, provisionalGeneration)
}

// IsProvisional reports whether h has the form of a provisional handle.
func IsProvisional(h bulk.Handle) bool { return h.Generation() == provisionalGeneration }
