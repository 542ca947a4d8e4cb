package world

// flushSleep carries out the words since the last flush. Rows below the new
// boundary that are to be asleep and rows above it that are to be awake are
// equally many; they are exchanged pairwise, both in ascending order. At most as
// many exchanges as there are words in the larger set.
func (w *World) flushSleep() {
	b := &w.bodies
	if !b.goSleep.Any() && !b.goWake.Any() {
		return
	}
	to := b.awake - b.goSleep.Count() + b.goWake.Count()
	low, high := b.asleepFrom(0, to), b.awakeFrom(to)
	for low < to {
		w.exchangeRows(low, high)
		low, high = b.asleepFrom(low+1, to), b.awakeFrom(high+1)
	}
	b.awake = to
	b.goSleep.Reset()
	b.goWake.Reset()
}

// asleepFrom returns the first row at or above from that the flush will find
// asleep; end or more when there is none below end.
func (b *bodies) asleepFrom(from, end int) int {
	if from < b.awake {
		if row, ok := b.goSleep.Next(uint32(from)); ok {
			return int(row)
		}
		from = b.awake
	}
	for from < end && b.goWake.Has(uint32(from)) {
		from++
	}
	return from
}

// awakeFrom returns the first row at or above from that the flush will find
// awake; the number of rows when there is none.
func (b *bodies) awakeFrom(from int) int {
	for ; from < b.awake; from++ {
		if !b.goSleep.Has(uint32(from)) {
			return from
		}
	}
	if row, ok := b.goWake.Next(uint32(from)); ok {
		return int(row)
	}
	return b.len()
}
