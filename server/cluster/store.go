package cluster

import (
	"context"
	"errors"
	"fmt"
)

// Errors of every Store, also wrapped.
var (
	// ErrConflict: a key was not at its revision, and nothing changed.
	ErrConflict = errors.New("cluster: a key has changed since it was read")
	// ErrUnknown: the answer was lost, and the swap may have happened or still happen. Read the keys again.
	ErrUnknown = errors.New("cluster: it is not known whether the swap happened")
	// ErrCompacted: what the directory was at a revision, and the changes after it, are not known any more. Read all keys and watch
	// from there.
	ErrCompacted = errors.New("cluster: the changes after this revision are gone")
)

// Limits of a swap. Each engine must accept as much; etcd's own are 128 keys and 1.5 MiB.
const (
	MaxKey       = 1 << 10  // bytes of a key
	MaxValue     = 64 << 10 // bytes of a value
	MaxSwaps     = 64       // keys of one swap
	MaxSwapBytes = 1 << 20  // bytes of its keys and values
)

// An Entry is one key of the directory. A nil value says that the key was deleted; only watches report that.
// Several callers may share the value: do not modify it.
type Entry struct {
	Key      string
	Value    []byte
	Revision uint64 // of its last change
}

// A Swap replaces the value of a key whose last change was at Revision. Revision 0 says that there is no such key,
// and a nil value deletes it. An empty value is a value.
type Swap struct {
	Key      string
	Value    []byte
	Revision uint64
}

// A Range names all keys that begin with Prefix, or the rest of them after a Page.
type Range struct {
	Prefix   string
	After    string // the last key of the page before
	Revision uint64 // of the page before; 0: this is the first
}

// A Page holds the keys that a Read has found, in their order.
type Page struct {
	Entries  []Entry
	Revision uint64 // at which the directory had these keys
	Now      uint64 // the directory's revision when it answered
	More     bool   // the range has more keys after these
}

// A Store is a directory of keys, ordered by revisions: every swap that changes a key has a higher revision than
// all before it. Its methods may be called by several goroutines at once, and the context of each bounds its time.
type Store interface {
	// Swap does all or none of swaps with different keys, and returns the directory's revision after the change.
	// ErrConflict: a key was not at its revision. ErrUnknown: it may have happened. Other errors: nothing changed.
	Swap(ctx context.Context, swaps ...Swap) (uint64, error)

	// Read returns the first keys of a range, as many as one answer may hold. The first page of a range sees every swap that
	// returned before it was called (it is linearizable), and the others are at its revision. After an ErrCompacted, begin with
	// the first page again.
	Read(ctx context.Context, r Range) (Page, error)

	// Watch calls f for each change after revision from of a key that begins with the prefix, in order, and the keys
	// of one swap together. It returns when the context ends or the watch breaks, always with an error. Except after
	// ErrCompacted it can be repeated from the revision of the last entry. ErrCompacted also says that the directory
	// has not reached revision from: it was replaced by an older one or by an empty one. f must not block.
	Watch(ctx context.Context, prefix string, from uint64, f func(Entry)) error
}

// CheckSwaps reports why no Store may accept these swaps, or nil.
func CheckSwaps(swaps []Swap) error {
	if len(swaps) == 0 || len(swaps) > MaxSwaps {
		return fmt.Errorf("cluster: a swap of %d keys: it must have 1 to %d", len(swaps), MaxSwaps)
	}
	bytes := 0
	keys := make(map[string]bool, len(swaps))
	for _, s := range swaps {
		switch {
		case s.Key == "" || len(s.Key) > MaxKey:
			return fmt.Errorf("cluster: a key of %d bytes: it must have 1 to %d", len(s.Key), MaxKey)
		case len(s.Value) > MaxValue:
			return fmt.Errorf("cluster: key %q: a value of %d bytes: at most %d", s.Key, len(s.Value), MaxValue)
		case keys[s.Key]:
			return fmt.Errorf("cluster: key %q is twice in one swap", s.Key)
		}
		keys[s.Key] = true
		bytes += len(s.Key) + len(s.Value)
	}
	if bytes > MaxSwapBytes {
		return fmt.Errorf("cluster: a swap of %d bytes: at most %d", bytes, MaxSwapBytes)
	}
	return nil
}
