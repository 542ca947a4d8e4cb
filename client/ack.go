package client

// ackWindow remembers which snapshots were applied: the newest, and the 64
// before it.
type ackWindow struct {
	newest uint32
	mask   uint64 // bit i: newest-1-i
}

// duplicate says whether seq was applied before, or is too old to tell.
func (a *ackWindow) duplicate(seq uint32) bool {
	switch {
	case seq > a.newest:
		return false
	case seq == a.newest || a.newest-seq > 64:
		return true
	}
	return a.mask>>(a.newest-seq-1)&1 != 0
}

func (a *ackWindow) add(seq uint32) {
	if seq < a.newest {
		a.mask |= 1 << (a.newest - seq - 1)
		return
	}
	if d := seq - a.newest; a.newest != 0 && d <= 64 {
		a.mask = a.mask<<d | 1<<(d-1)
	} else {
		a.mask = 0
	}
	a.newest = seq
}
