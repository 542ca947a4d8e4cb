package imagefile

import (
	"sync"
	"time"
)

// maxQueuedBytes bounds what waits for the disk.
const maxQueuedBytes = 64 << 20

// keptBytes bounds the memory of an empty queue after the disk has been slow.
const keptBytes = 1 << 20

// entryKind says what an entry asks of the writer.
type entryKind uint8

const (
	entryFrames      entryKind = iota // append the bytes to the segment
	entrySegment                      // begin a segment with the bytes
	entryFailed                       // frames up to tick are lost
	entryImageFailed                  // the image of tick was not saved
	entryAwaited                      // tell the caller of Journal.Await
)

// entry is frames in succession, or the head of a segment.
type entry struct {
	kind   entryKind
	run    uint64
	tick   uint64 // of the last frame, or at the head
	end    int    // of its bytes in batch.data
	queued time.Time
	err    error         // of entryFailed and entryImageFailed
	done   chan struct{} // of entryAwaited
}

// batch is entries in order.
type batch struct {
	entries []entry
	data    []byte
}

// endAwaits ends the waits of Await that are left.
func (b *batch) endAwaits() {
	for i := range b.entries {
		b.entries[i].endAwait()
	}
}

// endAwait tells the caller of Journal.Await, once.
func (e *entry) endAwait() {
	if e.done != nil {
		close(e.done)
		e.done = nil
	}
}

// oldest returns when the oldest frame was queued, or the zero time.
func (b *batch) oldest() time.Time {
	for i := range b.entries {
		if b.entries[i].kind == entryFrames {
			return b.entries[i].queued
		}
	}
	return time.Time{}
}

// journalQueue holds entries from the tick's goroutine until the writer takes them. Its memory is
// bounded, and no caller waits.
type journalQueue struct {
	limit int

	mu           sync.Mutex
	waiting      batch
	closed       bool
	run          uint64 // of the newest head
	segmentBytes int64  // handed over since then
}

// push copies an entry to the queue, and returns how many bytes wait in it. If the entry's bytes do not fit, they are lost.
// It returns false if the queue is closed.
func (q *journalQueue) push(e entry, b []byte) (waiting int, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return 0, false
	}
	if e.kind == entrySegment {
		q.run, q.segmentBytes = e.run, 0
	}
	q.segmentBytes += int64(len(b))
	last := len(q.waiting.entries) - 1
	lost := last >= 0 && q.waiting.entries[last].kind == entryFailed
	if len(q.waiting.data)+len(b) > q.limit || lost && e.kind == entryFrames {
		e.kind, e.err, b = entryFailed, ErrJournalSlow, nil
	}
	q.waiting.data = append(q.waiting.data, b...)
	e.end = len(q.waiting.data)
	if last >= 0 && e.kind != entrySegment && e.kind != entryAwaited && q.waiting.entries[last].kind == e.kind {
		q.waiting.entries[last].tick, q.waiting.entries[last].end = e.tick, e.end
		return e.end, true
	}
	q.waiting.entries = append(q.waiting.entries, e)
	return e.end, true
}

// take exchanges what waits for the memory of done, a batch that is written.
func (q *journalQueue) take(done batch) (taken batch, closed bool) {
	if cap(done.data) > keptBytes {
		done.data = nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	taken, q.waiting = q.waiting, batch{done.entries[:0], done.data[:0]}
	return taken, q.closed
}

// close refuses further entries.
func (q *journalQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
}

// oldest returns when the oldest frame that waits was queued, or the zero time.
func (q *journalQueue) oldest() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting.oldest()
}

// newestRun returns the run of the newest segment.
func (q *journalQueue) newestRun() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.run
}

// newestSegmentBytes returns the size of the newest segment once all is written.
func (q *journalQueue) newestSegmentBytes() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.segmentBytes
}
