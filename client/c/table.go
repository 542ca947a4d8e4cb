package main

import (
	"fmt"
	"math"
	"sync"
)

// result is a wd_result.
type result int32

// table has the clients of the process by their ids: the number of a slot, counted from 1, below the slot's generation, which
// grows with each client (E2). Calls for different clients run at the same time.
type table struct {
	mu      sync.Mutex
	slots   []slot
	free    []uint32
	leaving sync.WaitGroup // clients that were destroyed and still say so to their servers
}

type slot struct {
	client     *hostedClient // nil: free
	generation uint32
}

// add gives a client an id.
func (t *table) add(h *hostedClient) (id uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.free) == 0 {
		t.slots = append(t.slots, slot{})
		t.free = append(t.free, uint32(len(t.slots)-1))
	}
	i := t.free[len(t.free)-1]
	t.free = t.free[:len(t.free)-1]
	s := &t.slots[i]
	s.client = h
	s.generation++
	return uint64(s.generation)<<32 | uint64(i+1)
}

// find returns the client of an id, or nil.
func (t *table) find(id uint64) *hostedClient {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.slotOf(id); s != nil {
		return s.client
	}
	return nil
}

// slotOf returns the slot of a client, or nil.
func (t *table) slotOf(id uint64) *slot {
	i := uint64(uint32(id)) - 1
	if i >= uint64(len(t.slots)) || t.slots[i].client == nil || uint64(t.slots[i].generation) != id>>32 {
		return nil
	}
	return &t.slots[i]
}

// call calls f for a client, unless another call for it is running (E4). If f panics, the client ends (E1).
func (t *table) call(id uint64, f func(*hostedClient) result) (r result) {
	h := t.find(id)
	switch {
	case h == nil:
		return badClient
	case !h.inCall.CompareAndSwap(false, true):
		return busy
	}
	defer func() {
		if p := recover(); p != nil {
			h.breakDown(p)
			r = fault
		}
		h.inCall.Store(false)
	}()
	if h.destroyed {
		return badClient // while this call was beginning
	}
	if h.broken {
		return fault
	}
	return f(h)
}

// destroy ends a client, whose id is free from then on.
func (t *table) destroy(id uint64) result {
	h := t.find(id)
	switch {
	case h == nil:
		return badClient
	case !h.inCall.CompareAndSwap(false, true):
		return busy
	case h.destroyed:
		h.inCall.Store(false)
		return badClient
	}
	h.destroyed = true
	t.mu.Lock()
	s := t.slotOf(id)
	s.client = nil
	if s.generation < math.MaxUint32 {
		t.free = append(t.free, uint32(id)-1)
	}
	t.mu.Unlock()
	t.leaving.Go(h.leave)
	h.inCall.Store(false)
	return ok
}

// destroyAll destroys the clients that are in no call, and waits until all that were destroyed have left.
func (t *table) destroyAll() {
	t.mu.Lock()
	var ids []uint64
	for i := range t.slots {
		if s := &t.slots[i]; s.client != nil {
			ids = append(ids, uint64(s.generation)<<32|uint64(i+1))
		}
	}
	t.mu.Unlock()
	for _, id := range ids {
		t.destroy(id)
	}
	t.leaving.Wait()
}

// describe returns the text of a panic.
func describe(p any) string {
	return fmt.Sprintf("worldd: a defect of the library, please report it: %v", p)
}
