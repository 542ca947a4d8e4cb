package cluster

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"
)

// maxHistory bounds the changes that a Memory keeps for watches.
const maxHistory = 4096

// Memory is a Store in this process, for development without an engine and for tests. A watch costs a goroutine
// and no memory: it reads the common history, and ends with ErrCompacted if it falls behind that.
type Memory struct {
	mu       sync.Mutex
	revision uint64
	entries  map[string]Entry
	history  []Entry // all changes after compacted, in order; watches share the array, so elements never change
	// compacted is the revision of the last change that history has lost.
	compacted uint64
	changed   chan struct{} // closed by the next change
}

// NewMemory returns an empty directory. Its revision is 1, as in a new etcd.
func NewMemory() *Memory {
	return &Memory{revision: 1, entries: map[string]Entry{}, changed: make(chan struct{})}
}

// Swap implements Store.
func (m *Memory) Swap(ctx context.Context, swaps ...Swap) (uint64, error) {
	if err := CheckSwaps(swaps); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range swaps {
		if m.entries[s.Key].Revision != s.Revision {
			return 0, ErrConflict
		}
	}
	next := m.revision + 1
	before := len(m.history)
	for _, s := range swaps {
		if s.Value == nil && s.Revision == 0 {
			continue // there is no such key, as it was to be
		}
		e := Entry{Key: s.Key, Value: bytes.Clone(s.Value), Revision: next}
		m.history = append(m.history, e)
		if e.Value == nil {
			delete(m.entries, e.Key)
		} else {
			m.entries[e.Key] = e
		}
	}
	if len(m.history) > before {
		m.revision = next
		m.forgetOldest()
		close(m.changed)
		m.changed = make(chan struct{})
	}
	return m.revision, nil
}

// forgetOldest drops the older half of a full history, at a boundary between revisions.
func (m *Memory) forgetOldest() {
	if len(m.history) <= maxHistory {
		return
	}
	m.compacted = m.history[maxHistory/2].Revision
	m.history = slices.Clone(after(m.history, m.compacted))
}

// after returns the changes of a history after a revision.
func after(history []Entry, revision uint64) []Entry {
	return history[sort.Search(len(history), func(i int) bool { return history[i].Revision > revision }):]
}

// Read implements Store: every range has one page.
func (m *Memory) Read(ctx context.Context, r Range) (Page, error) {
	if err := ctx.Err(); err != nil {
		return Page{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []Entry
	for _, key := range slices.Sorted(maps.Keys(m.entries)) {
		if strings.HasPrefix(key, r.Prefix) {
			found = append(found, m.entries[key])
		}
	}
	return Page{Entries: found, Revision: m.revision, Now: m.revision}, nil
}

// Watch implements Store.
func (m *Memory) Watch(ctx context.Context, prefix string, from uint64, f func(Entry)) error {
	for {
		changes, changed, err := m.changesAfter(from)
		if err != nil {
			return err
		}
		for _, e := range changes {
			// A watch ends between two swaps, never within one.
			if e.Revision != from && ctx.Err() != nil {
				return ctx.Err()
			}
			from = e.Revision
			if strings.HasPrefix(e.Key, prefix) {
				f(e)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// changesAfter returns all changes after a revision, and a channel that the next change closes.
func (m *Memory) changesAfter(from uint64) ([]Entry, <-chan struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if from < m.compacted || from > m.revision {
		return nil, nil, ErrCompacted
	}
	return after(m.history, from), m.changed, nil
}
