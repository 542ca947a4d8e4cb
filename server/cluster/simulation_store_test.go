package cluster

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// simulatedStore is the directory, and the engine that serves it: it answers late, or not at all, and is away during elections.
// Its answers are linearizable: a member that is not current refuses.
type simulatedStore struct {
	entries   map[string]Entry
	revision  uint64
	history   []Entry
	compacted uint64
	pageKeys  int // keys of a page; 0: all
	awayTo    time.Duration
	// generation is how often the directory was wiped. Watches of an earlier one end.
	generation int
}

func newSimulatedStore() *simulatedStore {
	return &simulatedStore{entries: map[string]Entry{}, revision: 1}
}

func (s *simulatedStore) serve(r request) answer {
	if r.swaps == nil {
		return s.read(r.read)
	}
	for _, w := range r.swaps {
		if s.entries[w.Key].Revision != w.Revision {
			return answer{outcome: conflict, err: ErrConflict}
		}
	}
	s.revision++
	for _, w := range r.swaps {
		e := Entry{w.Key, w.Value, s.revision}
		s.history = append(s.history, e)
		if w.Value == nil {
			delete(s.entries, w.Key)
		} else {
			s.entries[w.Key] = e
		}
	}
	return answer{outcome: done, revision: s.revision}
}

// read returns a page of the keys at a revision.
func (s *simulatedStore) read(r Range) answer {
	at := cmp.Or(r.Revision, s.revision)
	if at < s.compacted || at > s.revision {
		return answer{outcome: refused, err: ErrCompacted}
	}
	entries := map[string]Entry{}
	for _, e := range s.history {
		if e.Revision > at {
			break
		}
		if e.Value == nil {
			delete(entries, e.Key)
		} else if e.Key > r.After && strings.HasPrefix(e.Key, r.Prefix) {
			entries[e.Key] = e
		}
	}
	a := answer{outcome: done, revision: s.revision, page: Page{Revision: at, Now: s.revision}}
	a.page.Entries = slices.SortedFunc(maps.Values(entries), func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
	if s.pageKeys != 0 && len(entries) > s.pageKeys {
		a.page.Entries, a.page.More = a.page.Entries[:s.pageKeys], true
	}
	return a
}

// after returns the changes after a revision, or false if they are forgotten or have not happened.
func (s *simulatedStore) after(revision uint64) ([]Entry, bool) {
	if revision < s.compacted || revision > s.revision {
		return nil, false
	}
	i := len(s.history)
	for i > 0 && s.history[i-1].Revision > revision {
		i--
	}
	return s.history[i:], true
}

func (s *simulatedStore) compact() { s.compacted = s.revision }

func (s *simulatedStore) wipe() {
	*s = simulatedStore{entries: map[string]Entry{}, revision: 1, awayTo: s.awayTo, pageKeys: s.pageKeys, generation: s.generation + 1}
}

// inconsistency returns what is wrong with the records, or "" (C6).
func (s *simulatedStore) inconsistency() string {
	blocks := map[int]string{}
	for key, e := range s.entries {
		if number, ok := blockOfKey(key); ok {
			r, err := parseBlock(key, e.Value)
			if err != nil {
				return err.Error()
			}
			if r.Room != "" {
				blocks[number] = r.Room
			}
		}
	}
	for key, e := range s.entries {
		if !strings.HasPrefix(key, roomPrefix) {
			continue
		}
		r, err := parseRoom(key, e.Value)
		if err != nil {
			return err.Error()
		}
		if r.Block == noBlock {
			continue
		}
		if name := strings.TrimPrefix(key, roomPrefix); blocks[r.Block] != name {
			return "C6: " + key + " has " + blockKey(r.Block) + ", which is " + blocks[r.Block] + "'s"
		}
		delete(blocks, r.Block)
	}
	for number, room := range blocks {
		return "C6: " + blockKey(number) + " belongs to " + room + ", which does not have it"
	}
	return ""
}
