package bulk_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/shorttest"
)

var (
	orders   = []bulk.Order{bulk.LowestFree, bulk.FreeList, bulk.FIFO}
	memories = []bulk.Memory{bulk.Blocks, bulk.Growing, bulk.Reserved}
)

// tenant is the model test's element: its expected handle, to detect aliasing, and data
// that must start as zero.
type tenant struct {
	self  bulk.Handle
	dirty uint64
}

// modelSlot is one slot as the documentation describes it.
type modelSlot struct {
	generation uint32 // generation of the newest tenant; without tenants, the generation before the first
	live       bool
}

// model is a pool without its machinery.
type model struct {
	slots           []modelSlot
	order           bulk.Order
	head            int   // slots reserved by the order
	holes           []int // in order of removal (FreeList, FIFO)
	first           uint32
	high, newest    uint32
	count, retired  int
	issued          []bulk.Handle // every handle issued, in order
	memory          map[bulk.Handle]*tenant
	lowestMayBeFree int // nothing below is free; speeds up the search
}

func newModel(maxSlots int, first uint32, order bulk.Order) *model {
	m := &model{slots: make([]modelSlot, maxSlots), first: first, memory: map[bulk.Handle]*tenant{}, order: order}
	if order == bulk.FreeList {
		m.head = 1
	}
	for i := range m.slots {
		m.slots[i].generation = first - 1
	}
	return m
}

func (m *model) retiredAt(i int) bool {
	return !m.slots[i].live && m.slots[i].generation == bulk.MaxGeneration
}

// free returns the number of free slots.
func (m *model) free() int { return len(m.slots) - m.head - m.count - m.retired }

// nextSlot is the slot that Add must take, or -1.
func (m *model) nextSlot() int {
	fresh := max(int(m.high), m.head)
	switch {
	case m.order == bulk.LowestFree:
		return m.lowestFree()
	case len(m.holes) > 0 && m.order == bulk.FreeList:
		return m.holes[len(m.holes)-1]
	case len(m.holes) > 0:
		return m.holes[0]
	case fresh < len(m.slots):
		return fresh
	}
	return -1
}

func (m *model) lowestFree() int {
	for i := m.lowestMayBeFree; i < len(m.slots); i++ {
		if !m.slots[i].live && !m.retiredAt(i) {
			m.lowestMayBeFree = i
			return i
		}
	}
	return -1
}

// next is the generation that Add must give a free slot.
func (m *model) next(i int) uint32 { return (m.slots[i].generation + 1) | 1 }

func (m *model) add(h bulk.Handle, memory *tenant) {
	i := int(h.Index())
	if at := slices.Index(m.holes, i); at >= 0 {
		m.holes = slices.Delete(m.holes, at, at+1)
	}
	if from := max(int(m.high), m.head); i > from && m.order != bulk.LowestFree { // skipped
		for hole := from; hole < i; hole++ {
			m.holes = append(m.holes, hole)
		}
		if m.order == bulk.FreeList { // the lowest hole is taken first
			slices.Reverse(m.holes[len(m.holes)-(i-from):])
		}
	}
	m.slots[h.Index()] = modelSlot{generation: h.Generation(), live: true}
	m.count++
	m.high = max(m.high, h.Index()+1)
	m.newest = max(m.newest, h.Generation())
	m.issued = append(m.issued, h)
	m.memory[h] = memory
}

func (m *model) remove(h bulk.Handle) bool {
	if m.status(h) != bulk.Live {
		return false
	}
	i := int(h.Index())
	m.slots[i].live = false
	m.count--
	delete(m.memory, h)
	if m.retiredAt(i) {
		m.retired++
	} else {
		m.lowestMayBeFree = min(m.lowestMayBeFree, i)
		if m.order != bulk.LowestFree {
			m.holes = append(m.holes, i)
		}
	}
	return true
}

func (m *model) status(h bulk.Handle) bulk.Status {
	i := int64(h.Index())
	if h.Generation()%2 == 0 || i >= int64(len(m.slots)) {
		return bulk.Unissued
	}
	s := m.slots[i]
	switch {
	case h.Generation() == bulk.GoneGeneration:
		return bulk.Stale
	case h.Generation() > s.generation:
		return bulk.Unissued
	case h.Generation() == s.generation && s.live:
		return bulk.Live
	}
	return bulk.Stale
}

// nextLive is the lowest live slot at or above i, or -1.
func (m *model) nextLive(i int) int {
	for ; i < int(m.high); i++ {
		if m.slots[i].live {
			return i
		}
	}
	return -1
}

// run applies commands to a pool and its model.
type run struct {
	t     require.TestingT
	pool  *bulk.Pool[tenant]
	model *model
	data  []byte
}

func (r *run) byte() byte {
	if len(r.data) == 0 {
		return 0
	}
	b := r.data[0]
	r.data = r.data[1:]
	return b
}

func (r *run) number(byteLen int) uint64 {
	n := uint64(0)
	for range byteLen {
		n = n<<8 | uint64(r.byte())
	}
	return n
}

// runCommands is the model test. The first bytes select the options, the rest are
// commands; the pool is audited and compared after each.
func runCommands(t require.TestingT, data []byte) {
	const most = 200 // bounds the time of a run
	r := &run{t: t, data: data}
	maxSlots := []int{1, 64, 70, bulk.BlockLen, bulk.BlockLen + 3, 2*bulk.BlockLen + 100}[r.byte()%6]
	first := []uint32{1, 1, 101, bulk.MaxGeneration - 4, bulk.MaxGeneration - 2, bulk.MaxGeneration}[r.byte()%6]
	strategy := int(r.byte()) % (len(orders) * len(memories))
	order, memory := orders[strategy%len(orders)], memories[strategy/len(orders)]
	if order == bulk.FreeList {
		maxSlots++ // the list head
	}
	pool, err := bulk.NewPool[tenant](bulk.Options{MaxSlots: maxSlots, FirstGeneration: first, Order: order, Memory: memory})
	if memory == bulk.Reserved && errors.Is(err, bulk.ErrOptions) && !canReserve() {
		return
	}
	require.NoError(t, err)
	defer func() { require.NoError(t, pool.Close()) }()
	r.pool, r.model = pool, newModel(maxSlots, first, order)
	commands := []func(){r.add, r.add, r.addN, r.addAt, r.removeIssued, r.removeIssued, r.removeIssued, r.removeRange, r.forged, r.walk}
	for i := 0; i < most && len(r.data) > 0; i++ {
		commands[int(r.byte())%len(commands)]()
		r.check()
	}
	r.checkAll()
}

func (r *run) add() {
	want := bulk.Handle(0)
	if i := r.model.nextSlot(); i >= 0 {
		want = bulk.NewHandle(uint32(i), r.model.next(i))
	}
	h, memory := r.pool.Add()
	require.Equal(r.t, want, h)
	require.Equal(r.t, h == 0, memory == nil)
	if h != 0 {
		r.checkNew(h, memory)
	}
}

// checkNew checks a tenant's new memory and records it in the model.
func (r *run) checkNew(h bulk.Handle, memory *tenant) {
	require.Equal(r.t, tenant{}, *memory, "zeroed")
	*memory = tenant{self: h, dirty: math.MaxUint64}
	r.model.add(h, memory)
}

func (r *run) addN() {
	n := int(r.byte()) * 24
	free := r.model.free()
	got := 0
	err := r.pool.AddN(n, func(h bulk.Handle, memory *tenant) {
		i := r.model.nextSlot()
		require.Equal(r.t, bulk.NewHandle(uint32(i), r.model.next(i)), h)
		r.checkNew(h, memory)
		got++
	})
	if n > free {
		require.ErrorIs(r.t, err, bulk.ErrFull)
		require.Zero(r.t, got)
		return
	}
	require.NoError(r.t, err)
	require.Equal(r.t, n, got)
}

func (r *run) addAt() {
	index, kind, offset := uint32(r.number(2)), r.byte(), uint32(r.byte())
	generation := offset
	switch kind % 3 {
	case 0: // near the slot's generation
		if int(index) < len(r.model.slots) {
			generation = r.model.slots[index].generation + offset - 8
		}
	case 1: // near MaxGeneration
		generation = bulk.MaxGeneration - offset
	}
	h := bulk.NewHandle(index, generation)
	memory, err := r.pool.AddAt(h)
	var want error
	switch {
	case generation%2 == 0:
		want = bulk.ErrHandle
	case int(index) >= len(r.model.slots) || int(index) < r.model.head || generation == bulk.GoneGeneration:
		want = bulk.ErrLimit
	case r.model.slots[index].live:
		want = bulk.ErrLive
	case r.model.status(h) == bulk.Stale:
		want = bulk.ErrStale
	default:
		require.NoError(r.t, err)
		r.checkNew(h, memory)
		return
	}
	require.ErrorIs(r.t, err, want)
	require.Nil(r.t, memory)
}

func (r *run) removeIssued() {
	if len(r.model.issued) == 0 {
		return
	}
	r.remove(r.model.issued[r.number(2)%uint64(len(r.model.issued))])
}

func (r *run) remove(h bulk.Handle) {
	require.Equal(r.t, r.model.remove(h), r.pool.Remove(h), "%v", h)
	require.False(r.t, r.pool.Remove(h), "twice: %v", h)
	require.Nil(r.t, r.pool.Get(h))
}

// removeRange empties whole words, and with them summary bits.
func (r *run) removeRange() {
	from, n := int(r.number(2)), int(r.byte())*8
	for i := from; i < min(from+n, int(r.model.high)); i++ {
		if h := r.pool.HandleAt(uint32(i)); h != 0 {
			r.remove(h)
		}
	}
}

// forged tests 64 arbitrary bits.
func (r *run) forged() {
	h := bulk.Handle(r.number(8))
	want := r.model.status(h)
	require.Equal(r.t, want, r.pool.Status(h), "%v", h)
	require.Equal(r.t, r.model.memory[h], r.pool.Get(h), "%v", h)
	r.remove(h)
	if _, err := r.pool.AddAt(bulk.NewHandle(uint32(len(r.model.slots))+h.Index()>>1, 1)); true {
		require.ErrorIs(r.t, err, bulk.ErrLimit)
	}
}

// walk removes and adds while iterating.
func (r *run) walk() {
	end := int(r.model.high)
	cursor := -1
	for h, memory := range r.pool.All() {
		want := r.model.nextLive(cursor + 1)
		require.Equal(r.t, want, int(h.Index()), "the next live slot")
		require.Less(r.t, want, end)
		require.Equal(r.t, h, memory.self)
		cursor = want
		switch r.byte() % 8 {
		case 0:
			r.remove(h)
		case 1:
			if ahead := r.model.nextLive(cursor + 1); ahead >= 0 {
				r.remove(r.pool.HandleAt(uint32(ahead)))
			}
		case 2:
			r.remove(r.model.issued[0])
		case 3:
			r.add()
		case 4:
			return
		}
	}
	next := r.model.nextLive(cursor + 1)
	require.True(r.t, next < 0 || next >= end, "nothing left out")
}

// check makes the cheap comparisons, and audits.
func (r *run) check() {
	require.NoError(r.t, r.pool.CheckInvariants())
	require.Equal(r.t, r.model.count, r.pool.Len())
	require.Equal(r.t, r.model.retired, r.pool.Retired())
	require.Equal(r.t, r.model.high, r.pool.Slots())
	require.Equal(r.t, r.model.newest, r.pool.NewestGeneration())
}

// checkAll compares everything, through every query.
func (r *run) checkAll() {
	for _, h := range r.model.issued {
		memory := r.pool.Get(h)
		require.True(r.t, memory == r.model.memory[h], "the pointer never moves: %v", h)
		require.Equal(r.t, r.model.status(h), r.pool.Status(h), "%v", h)
		if memory != nil {
			require.Equal(r.t, tenant{self: h, dirty: math.MaxUint64}, *memory)
			require.Equal(r.t, h, r.pool.HandleAt(h.Index()))
			require.True(r.t, memory == r.pool.At(h.Index()))
		}
	}
	visited := 0
	for h := range r.pool.All() {
		require.Equal(r.t, bulk.Live, r.model.status(h))
		visited++
	}
	require.Equal(r.t, r.model.count, visited)
	for base, word := range r.pool.Words() {
		require.Equal(r.t, r.pool.Live().Word(base/64), word.Live)
		for i := range bulk.Bits(0, word.Live) {
			require.True(r.t, r.pool.At(base+i) == &word.Slots[i])
			visited--
		}
	}
	require.Zero(r.t, visited)
	for i, s := range r.model.slots {
		if !s.live {
			require.Zero(r.t, r.pool.HandleAt(uint32(i)))
		}
	}
}

// canReserve reports whether this system has Reserved memory.
func canReserve() bool {
	p, err := bulk.NewPool[uint64](bulk.Options{Memory: bulk.Reserved})
	return err == nil && p.Close() == nil
}

func TestPoolAgainstModel(t *testing.T) {
	for seed := range shorttest.Pick[uint64](300, 40) {
		r := rand.New(rand.NewPCG(seed, 0))
		data := make([]byte, 50+r.IntN(600))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		data[0], data[1], data[2] = byte(seed), byte(seed/6), byte(seed) // covers all options
		if !t.Run(fmt.Sprintf("seed%d", seed), func(t *testing.T) { runCommands(t, data) }) {
			return
		}
	}
}

func FuzzPool(f *testing.F) {
	f.Add([]byte{0, 3, 6, 0, 4, 0, 0, 0, 4, 0, 1})                        // one slot, until it retires
	f.Add([]byte{5, 0, 1, 2, 255, 7, 0, 10, 40, 9, 3, 0, 1, 2, 3, 9, 3})  // many, a range of holes, a walk
	f.Add([]byte{2, 4, 5, 3, 0, 5, 1, 0, 4, 0, 0, 0, 3, 0, 5, 1, 0})      // AddAt at the maximum, then again
	f.Add([]byte{1, 2, 3, 8, 255, 255, 255, 255, 255, 255, 255, 255, 0})  // forged
	f.Add([]byte{4, 5, 8, 2, 200, 4, 0, 0, 4, 0, 1, 0, 0, 8, 0, 0, 0, 1}) // every tenant is the last
	f.Add([]byte("0000\xff\xff\xff\xff"))                                 // forged GoneGeneration
	f.Fuzz(func(t *testing.T, data []byte) { runCommands(t, data) })
}
