package replication

import (
	"sync"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/replication/schema"
)

// workers make snapshots. They are goroutines that live as long as the replicator
// is open, one less than there are workspaces: the caller is one, too.
type workerPool struct {
	start   []chan struct{}
	done    sync.WaitGroup
	count   int // at work, the caller included
	viewers []*Viewer
	updates []Update
}

// viewersPerWorker is how many viewers pay for waking a goroutine: 50 µs of work
// and more, against 5.
const viewersPerWorker = 8

// Snapshots brings viewers, each named once, to the newest frame, and returns
// their updates in the same order. It is Snapshot for all of them, by
// Config.Workers goroutines: who makes a snapshot has no influence on it (R9).
// The slice is valid until the next call.
func (r *Replicator) Snapshots(viewers []*Viewer) []Update {
	p := &r.workers
	p.viewers, p.updates = viewers, append(p.updates[:0], make([]Update, len(viewers))...)
	p.count = max(1, min(len(r.workspaces), len(viewers)/viewersPerWorker))
	if p.count > 1 {
		for _, v := range viewers { // what viewers are told of alike is made now, to be only read
			r.changes.since(v.lastCapture)
			r.replaced.since(v.lastCapture)
		}
		if p.start == nil {
			r.startWorkers()
		}
	}
	p.done.Add(p.count - 1)
	for i := range p.count - 1 {
		p.start[i] <- struct{}{}
	}
	r.snapshotShare(0)
	p.done.Wait()
	return p.updates
}

func (r *Replicator) startWorkers() {
	r.workers.start = make([]chan struct{}, len(r.workspaces)-1)
	for i := range r.workers.start {
		start := make(chan struct{})
		r.workers.start[i] = start
		go func() {
			for range start {
				r.snapshotShare(i + 1)
				r.workers.done.Done()
			}
		}()
	}
}

// snapshotShare makes the snapshots that are a worker's: neighbours, always the
// same ones, so that counters depend on the number of workers alone.
func (r *Replicator) snapshotShare(worker int) {
	p := &r.workers
	from, to := worker*len(p.viewers)/p.count, (worker+1)*len(p.viewers)/p.count
	for i := from; i < to; i++ {
		p.updates[i] = p.viewers[i].snapshot(r.workspaces[worker])
	}
}

// Close ends the goroutines that Config.Workers above 1 asks for. The replicator
// is not used after.
func (r *Replicator) Close() {
	for _, start := range r.workers.start {
		close(start)
	}
	r.workers.start = nil
}

// workspace is what one goroutine needs to make snapshots, and what it has made
// of the present frame that serves further viewers. Nothing of it is any one
// viewer's.
type workspace struct {
	capture    uint64 // the capture that codings and payloads are of
	rows       rowCache
	payloads   payloadCache
	stats      Stats
	candidates candidates
	requests   []enterRequest
	keys       []uint64
	newcomers  []newcomer
	// waiting are the codings of the rows that wait for their place in the
	// snapshot, in ascending order of slots, places those of their rows.
	waiting       []codingKey
	waitingRows   []uint32
	ranking       ranking
	selection     selection
	encoder       encoder
	fullRowBuffer []byte // the newest row that was coded in full
	writer        bitio.Writer
}

// turnTo makes the workspace ready for the replicator's present frame.
func (w *workspace) beginFrame(r *Replicator) {
	if w.payloads[0].keys == nil {
		w.payloads.reserve()
	}
	if w.capture != r.changes.captures {
		w.capture = r.changes.captures
		w.rows.reset()
	}
}

// fullRow codes a row for an Enter record. The result is valid until the next
// call.
func (w *workspace) fullRow(s *schema.Schema, row schema.Row) []byte {
	w.writer.Reset(w.fullRowBuffer[:0])
	shares := s.AppendFull(&w.writer, row)
	addShares(&w.stats.EnterRowBits, &shares, s.Components())
	w.fullRowBuffer = w.writer.Bytes()
	return w.fullRowBuffer
}
