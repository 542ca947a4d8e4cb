package cluster

import (
	"bytes"
	"errors"
	"slices"
	"time"
)

// maxPageFailures is how often a page of the directory is asked for, before all is read from the first page again.
const maxPageFailures = 4

// view says how current the machine's copy of the directory is. The copy tells what to try; permission comes from swaps (C2).
type view struct {
	loaded bool
	// complete is the revision up to which every change has been applied. The newest revision may have changes that are still to
	// come, so it counts when a later one has begun.
	complete uint64
	highest  uint64 // that the directory had in any answer; 0: none
	due      bool   // all is to be read again
	readAt   time.Duration
	reading  pages // of the directory, while not all of them have been read
	failures int   // of the newest page

	watch   uint64 // the watch whose changes count
	stopped bool   // it has ended
	watchAt time.Duration

	// A renewal must come back by the watch, or the watch is stuck.
	expected   uint64
	expectedAt time.Duration // until when
}

// readAgain makes the machine read the whole directory.
func (v *view) readAgain() { v.due = true }

// reset forgets what is known of a directory that was replaced.
func (v *view) reset(m *machine) {
	*v = view{watch: v.watch + 1, readAt: m.now}
	m.out.watch = &watchRequest{id: v.watch, stop: true}
}

func (v *view) drive(m *machine) {
	if v.loaded && v.expected != 0 && v.expectedAt <= m.now {
		v.expected = 0
		m.counters.WatchesStuck++
		v.readAgain()
	}
	if (v.due || !v.loaded) && v.readAt <= m.now && !m.calls.busy[""] {
		m.calls.send(m, "", request{read: v.reading.rest("")}, func(a answer) { v.addPage(m, a) })
	}
	if v.loaded && v.stopped && v.watchAt <= m.now {
		v.start(m)
	}
}

// addPage takes a page of the directory. Each has its own deadline, so that a large directory is read as well.
func (v *view) addPage(m *machine, a answer) {
	v.readAt = m.now + m.jittered(m.settings.pause())
	if a.outcome != done {
		v.failures++
		if errors.Is(a.err, ErrCompacted) || v.failures == maxPageFailures {
			v.reading, v.failures = pages{}, 0
		}
		return
	}
	v.failures = 0
	several := v.reading.revision != 0
	err := v.reading.add(a.page.Entries, a.page.Revision)
	switch {
	case err != nil:
		v.reading = pages{}
		v.readAt = m.now + m.jittered(m.settings.interval())
		m.note(note{text: "the cluster's directory is too large", trouble: true, err: err})
	case a.page.More:
		v.readAt = m.now
	case several:
		m.calls.send(m, "", request{read: Range{Prefix: identityKey}}, func(a answer) { v.confirm(m, a) })
	default:
		v.replace(m)
	}
}

// confirm takes a read of the identity after the last of several pages: the directory may have been replaced between two of them (C9).
func (v *view) confirm(m *machine, a answer) {
	read := answer{page: Page{Entries: v.reading.entries}}
	now, then := a.entry(identityKey), read.entry(identityKey)
	isSame := bytes.Equal(now.Value, then.Value) && (now.Value == nil || now.Revision == then.Revision)
	if a.outcome != done || !isSame {
		v.reading = pages{}
		return
	}
	v.replace(m)
}

// replace replaces the copy of the directory by the pages that have been read.
func (v *view) replace(m *machine) {
	a := answer{page: Page{Entries: v.reading.entries, Revision: v.reading.revision}}
	v.reading = pages{}
	if !m.identity.recognize(m, a) {
		v.readAt = m.now + m.jittered(m.settings.interval())
		return
	}
	found := map[string]bool{}
	for _, e := range a.page.Entries {
		found[e.Key] = true
	}
	for _, key := range m.keys() {
		if !found[key] {
			m.apply(Entry{Key: key, Revision: a.page.Revision})
		}
	}
	for _, e := range a.page.Entries {
		m.apply(e)
	}
	v.loaded, v.due = true, false
	v.complete, v.highest = max(v.complete, a.page.Revision), max(v.highest, a.page.Revision)
	v.start(m)
	m.lease.judge(m)
}

// start watches the changes after the complete ones.
func (v *view) start(m *machine) {
	v.watch++
	v.stopped, v.expected = false, 0
	m.out.watch = &watchRequest{id: v.watch, from: v.complete}
}

// change takes a change that a watch has seen.
func (m *machine) change(now time.Duration, watch uint64, e Entry) {
	m.now = now
	if watch != m.view.watch {
		return
	}
	v := &m.view
	v.complete, v.highest = max(v.complete, e.Revision-1), max(v.highest, e.Revision)
	if e.Revision >= v.expected {
		v.expected = 0
	}
	m.apply(e)
	m.drive()
}

// endWatch takes the end of a watch. After a compacted one all must be read again.
func (m *machine) endWatch(now time.Duration, watch uint64, compacted bool) {
	m.now = now
	if watch != m.view.watch {
		return
	}
	m.view.stopped, m.view.watchAt = true, now+m.jittered(m.settings.pause())
	if compacted {
		m.view.stopped = false
		m.view.readAgain()
	}
	m.drive()
}

// expect notes a change of the node's own that the watch must deliver.
func (v *view) expect(m *machine, revision uint64) {
	if v.expected == 0 && v.complete < revision {
		v.expected, v.expectedAt = revision, m.now+m.settings.leaseTime/2
	}
}

func (v *view) wakeAt(at time.Duration) time.Duration {
	if v.due || !v.loaded {
		at = min(at, max(v.readAt, 0))
	}
	if v.stopped {
		at = min(at, v.watchAt)
	}
	return at
}

// keys returns the keys of all records that the machine knows.
func (m *machine) keys() (keys []string) {
	if m.identity.revision != 0 {
		keys = append(keys, identityKey)
	}
	for _, p := range m.peers.list {
		keys = append(keys, p.key())
	}
	for name := range m.rooms.all {
		keys = append(keys, roomKey(name))
	}
	for block := range m.blocks.all {
		if m.blocks.all[block].revision != 0 {
			keys = append(keys, blockKey(block))
		}
	}
	slices.Sort(keys)
	return keys
}
