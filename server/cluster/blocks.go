package cluster

// blockChoices is among how many of the oldest free blocks a node chooses by chance, so that several nodes seldom want the same
// one. It never chooses among the younger half.
const blockChoices = 8

// blocks are the blocks of generations of the cluster. A block belongs to one room at most (C6).
type blocks struct {
	all []block // by number
}

type block struct {
	revision uint64 // of its record; 0: never used. Of free blocks the lowest was freed first.
	room     string // that has it
	err      error
	exists   bool // its record
	claimed  bool // by a swap under way
}

func (b *block) isFree() bool { return b.room == "" && b.err == nil && !b.claimed }

// apply takes the record of a block. A block is free if its record is deleted.
func (bs *blocks) apply(m *machine, e Entry) {
	number, ok := blockOfKey(e.Key)
	if !ok || number >= len(bs.all) {
		return
	}
	b := &bs.all[number]
	if e.Revision <= b.revision {
		return
	}
	var r blockRecord
	b.err = nil
	if e.Value != nil {
		r, b.err = parseBlock(e.Key, e.Value)
	}
	if b.err != nil {
		m.refuseRecord(b.err, e.Key)
	}
	b.revision, b.room = e.Revision, r.Room
	b.exists = e.Value != nil
}

func (bs *blocks) forget() { clear(bs.all) }

// choose returns one of the blocks that were freed least recently, so that handles of ended rooms stay stale for as long as
// possible. It returns noBlock if none is free.
func (bs *blocks) choose(m *machine) int {
	var oldest [blockChoices]int
	n, free := 0, 0
	for i := range bs.all {
		if !bs.all[i].isFree() {
			continue
		}
		free++
		at := n
		for at > 0 && bs.all[i].revision < bs.all[oldest[at-1]].revision {
			at--
		}
		if at == blockChoices {
			continue
		}
		n = min(n+1, blockChoices)
		copy(oldest[at+1:n], oldest[at:n-1])
		oldest[at] = i
	}
	if n == 0 {
		return noBlock
	}
	return oldest[m.random.IntN(min(n, (free+1)/2))]
}

// swap returns the swap that gives a block to a room, or frees it.
func (bs *blocks) swap(number int, room string) Swap {
	s := Swap{Key: blockKey(number), Value: encode(blockRecord{Version: recordVersion, Room: room})}
	if bs.all[number].exists {
		s.Revision = bs.all[number].revision
	}
	return s
}

// countFree returns how many blocks are free.
func (bs *blocks) countFree() (n int) {
	for i := range bs.all {
		if bs.all[i].isFree() {
			n++
		}
	}
	return n
}
