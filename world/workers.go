package world

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// workers process blocks of rows in parallel. There is one goroutine fewer than workers,
// because the caller works too. The goroutines live until close.
type workers struct {
	chunks []chunk // by worker
	block  func(c *chunk, block int)
	blocks int64
	next   atomic.Int64 // next block to process
	start  []chan struct{}
	done   sync.WaitGroup
	failed atomic.Pointer[WorkerPanic] // of a goroutine
}

// WorkerPanic is a panic of one of the Config.Workers. World.Step panics with it on the caller's goroutine.
type WorkerPanic struct {
	Value any
	Stack []byte // of the worker
}

// Error implements error.
func (p *WorkerPanic) Error() string { return fmt.Sprintf("%v\n\nin a worker:\n%s", p.Value, p.Stack) }

// newWorkers starts count-1 goroutines.
func newWorkers(count int) *workers {
	p := &workers{chunks: make([]chunk, count), start: make([]chan struct{}, count-1)}
	for i := range p.start {
		p.start[i] = make(chan struct{})
		go p.serve(p.start[i], &p.chunks[i+1])
	}
	return p
}

func (p *workers) serve(start chan struct{}, c *chunk) {
	for range start {
		p.workApart(c)
	}
}

// workApart works on another goroutine than the caller's, for which it keeps a panic.
func (p *workers) workApart(c *chunk) {
	defer p.done.Done()
	defer func() {
		if value := recover(); value != nil {
			p.failed.CompareAndSwap(nil, &WorkerPanic{value, debug.Stack()})
		}
	}()
	p.work(c)
}

// workHere works on the caller's goroutine, and waits for the others: they use the world, which a panic here may close.
func (p *workers) workHere() {
	defer p.done.Wait()
	p.work(&p.chunks[0])
}

func (p *workers) work(c *chunk) {
	for block := p.next.Add(1) - 1; block < p.blocks; block = p.next.Add(1) - 1 {
		p.block(c, int(block))
	}
}

// run calls f for each block and returns when all are done. The order in which blocks run
// does not affect the result: a block depends only on its own rows and the effects (W11).
// It wakes only as many goroutines as the number of blocks justifies.
func (p *workers) run(blocks int, f func(c *chunk, block int)) {
	p.block, p.blocks = f, int64(blocks)
	p.next.Store(0)
	helpers := min(len(p.start), blocks/blocksPerWorker)
	p.done.Add(helpers)
	for _, start := range p.start[:helpers] {
		start <- struct{}{}
	}
	p.workHere()
	if failed := p.failed.Load(); failed != nil {
		panic(failed)
	}
}

// blocksPerWorker is the number of blocks that justifies waking a goroutine: about 20 µs of
// work for 5 µs of overhead.
const blocksPerWorker = 4

// close ends the goroutines.
func (p *workers) close() {
	for _, start := range p.start {
		close(start)
	}
	p.start = nil
}
