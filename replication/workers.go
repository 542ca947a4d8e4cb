package replication

import (
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/wire"
)

// workerPool makes snapshots in parallel. It has one goroutine fewer than there are
// workspaces, because the caller works too. The goroutines live until Close.
type workerPool struct {
	workspaces []*workspace // by worker
	start      []chan struct{}
	done       sync.WaitGroup
	count      int // workers in this call, the caller included
	viewers    []*Viewer
	updates    []Update
	panics     []*WorkerPanic // by goroutine; nil: none
}

// WorkerPanic is the panic of a goroutine that made snapshots. Snapshots panics with it, so that it ends only the world
// whose snapshots they were.
type WorkerPanic struct {
	Value any
	Stack []byte
}

// Error implements error.
func (p *WorkerPanic) Error() string { return fmt.Sprintf("%v\n\nin a worker:\n%s", p.Value, p.Stack) }

// viewersPerWorker is the number of viewers that justifies waking a goroutine: 50 µs of
// work or more, against a cost of 5 µs.
const viewersPerWorker = 8

// addWorkspaces makes the workspaces of r's workers.
func (p *workerPool) addWorkspaces(r *Replicator) {
	for range r.config.Workers {
		p.workspaces = append(p.workspaces, newWorkspace(r))
	}
}

// Snapshots makes the snapshots of viewers, each listed once, on Config.Workers goroutines,
// and returns their updates in the same order. An update does not depend on the goroutine
// that makes it, and equals the result of Viewer.Snapshot (R9). The slice is valid until
// the next call.
func (r *Replicator) Snapshots(viewers []*Viewer) []Update {
	p := &r.workers
	p.beginSnapshots(viewers)
	if p.count > 1 {
		for _, v := range viewers {
			r.changes.shareSince(v.interest.lastCapture, &r.grid, len(r.frame.summaries))
		}
	}
	return p.makeSnapshots()
}

// beginSnapshots prepares for the snapshots of viewers.
func (p *workerPool) beginSnapshots(viewers []*Viewer) {
	p.viewers, p.updates = viewers, append(p.updates[:0], make([]Update, len(viewers))...)
	p.count = max(1, min(len(p.workspaces), len(viewers)/viewersPerWorker))
}

// makeSnapshots makes the snapshots, valid until the next call.
func (p *workerPool) makeSnapshots() []Update {
	if p.count > 1 && p.start == nil {
		p.startWorkers()
	}
	p.done.Add(p.count - 1)
	for i := range p.count - 1 {
		p.start[i] <- struct{}{}
	}
	p.makeOwnShare()
	for _, failed := range p.panics {
		if failed != nil {
			panic(failed)
		}
	}
	return p.updates
}

// makeOwnShare makes the caller's share, and waits for the workers. They read the world, which a panic here may close.
func (p *workerPool) makeOwnShare() {
	defer p.done.Wait()
	p.makeShare(0)
}

func (p *workerPool) startWorkers() {
	p.start, p.panics = make([]chan struct{}, len(p.workspaces)-1), make([]*WorkerPanic, len(p.workspaces)-1)
	for i := range p.start {
		start := make(chan struct{})
		p.start[i] = start
		go func() {
			for range start {
				p.makeShareApart(i + 1)
			}
		}()
	}
}

// makeShareApart makes the snapshots of one worker's share on its goroutine, and keeps its panic for the caller's.
func (p *workerPool) makeShareApart(worker int) {
	defer p.done.Done()
	defer func() {
		if value := recover(); value != nil {
			p.panics[worker-1] = &WorkerPanic{value, debug.Stack()}
		}
	}()
	p.makeShare(worker)
}

// makeShare makes the snapshots of one worker's share. Shares are contiguous. They, and so
// the counters, depend on the number of workers only.
func (p *workerPool) makeShare(worker int) {
	from, to := worker*len(p.viewers)/p.count, (worker+1)*len(p.viewers)/p.count
	for i := from; i < to; i++ {
		p.updates[i] = p.viewers[i].makeSnapshot(p.workspaces[worker])
	}
}

// endWorkers ends the goroutines.
func (p *workerPool) endWorkers() {
	for _, start := range p.start {
		close(start)
	}
	p.start = nil
}

// Close ends the worker goroutines, and stops tracking the world's changes. The Replicator
// must not be used afterwards.
func (r *Replicator) Close() {
	r.reader.Close()
	r.workers.endWorkers()
}

// workspace holds the scratch memory of one goroutine that makes snapshots, and its caches
// of the present frame. It holds no viewer's state.
type workspace struct {
	replicator    *Replicator
	frame         *frame // newest frame
	stats         Stats
	candidates    candidates
	requests      []enterRequest
	keys          []uint64   // sort keys of requests
	newcomers     []newcomer // entities with an Enter in the present snapshot that are not members yet
	memberWords   []uint32   // positions of the members' words that are examined
	slots         []uint32   // slots of the listed members that leave
	packer        packer
	extension     []byte // the record of an effect or a program
	fullRowBuffer []byte // reused by fullRow
	textBuffer    []byte // reused by enterTexts and bytesOf
	writer        bitio.Writer
}

func newWorkspace(r *Replicator) *workspace {
	return &workspace{replicator: r, frame: r.frame, packer: packer{frame: r.frame, parts: exactParts{replicator: r}}}
}

// ownWorkspace returns the workspace of the goroutine that owns the world. Calls between
// snapshots use its counters.
func (r *Replicator) ownWorkspace() *workspace { return r.workers.workspaces[0] }

// fullRow codes a row for an Enter record, followed by its exact part in form. packer.parts
// holds the exact state. The result is valid until the next call.
func (w *workspace) fullRow(rows *rowschema.Layout, row rowschema.Row, form wire.Form) []byte {
	w.writer.Reset(w.fullRowBuffer[:0])
	shares := rows.AppendFull(&w.writer, row)
	wire.AppendBody(&w.writer, form, &w.packer.parts.state, &w.packer.parts.grid)
	addShares(&w.stats.EnterRowBits, &shares, rows.Components())
	w.fullRowBuffer = w.writer.Bytes()
	return w.fullRowBuffer
}
