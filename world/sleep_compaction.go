package world

import (
	"fmt"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/columns"
)

// Compaction selects how the flush moves the rows of bodies that fell asleep or
// woke. It affects the cost of a step and the order of rows, never the state:
// StateHash is the same in all three modes.
type Compaction uint8

const (
	// Exchange swaps misplaced rows in pairs. Its cost is proportional to the changes.
	Exchange Compaction = iota
	// Stable keeps the order of rows within the awake and the sleeping part by moving
	// whole spans. Its cost is proportional to the range between the first and the
	// last row that changes. (Removing a body still fills its row with another, and
	// sorting reorders awake rows: see Rows in the package comment.)
	Stable
	// InPlace moves nothing and steps the rows of a bitset. Every step is slower, because
	// awake rows are scattered.
	InPlace
)

// String returns "exchange", "stable" or "in place".
func (c Compaction) String() string {
	switch c {
	case Exchange:
		return "exchange"
	case Stable:
		return "stable"
	case InPlace:
		return "in place"
	}
	return fmt.Sprintf("Compaction(%d)", uint8(c))
}

// compaction tracks which rows are awake (W2), collects requests to change (W3) and
// applies them in a flush.
type compaction struct {
	mode    Compaction
	awake   int         // number of awake rows; unless in place, the rows below this number are awake
	inPlace bulk.Bitset // the awake rows, in place
	flips   flips       // rows that the next flush puts to sleep or wakes

	columns []rowColumn  // all columns of the rows
	owner   *[]uint32    // column with the slot of each row
	written *bulk.Bitset // words of 64 rows with a row that fell asleep or changed while asleep; nil: not tracked

	low, high, gaps []uint32 // scratch of the flush: changing rows
	spare           spare
}

// isAwake reports whether row was awake after the last flush.
func (c *compaction) isAwake(row int) bool {
	if c.mode == InPlace {
		return c.inPlace.Has(uint32(row))
	}
	return row < c.awake
}

// willBeAwake reports whether row will be awake after the next flush.
func (c *compaction) willBeAwake(row int) bool {
	return c.isAwake(row) != c.flips.has(uint32(row))
}

// requestAwake requests row's state after the next flush. The last call wins.
func (c *compaction) requestAwake(row int, awake bool) {
	c.flips.put(uint32(row), c.isAwake(row) != awake)
}

// awakeAfterFlush returns the number of rows awake after the next flush.
func (c *compaction) awakeAfterFlush() int {
	n := c.awake
	for w := range c.flips.marked() {
		word := c.flips.words[w]
		n += bits.OnesCount64(word) - 2*bits.OnesCount64(word&c.awakeWord(w))
	}
	return n
}

// awakeWord returns the awake bits of the 64 rows of word w.
func (c *compaction) awakeWord(w int) uint64 {
	if c.mode == InPlace {
		return c.inPlace.Word(uint32(w))
	}
	return 1<<min(max(c.awake-w*64, 0), 64) - 1
}

// awakeRange returns the first range of awake rows at or after from, at most limit
// long, or an empty range.
func (c *compaction) awakeRange(from, limit int) (first, end int) {
	if c.mode != InPlace {
		return from, min(from+limit, c.awake)
	}
	row, ok := c.inPlace.Next(uint32(from))
	if !ok {
		return 0, 0
	}
	first = int(row)
	asleep, ok := c.inPlace.NextClear(row, row+uint32(limit))
	if !ok {
		return first, first + limit
	}
	return first, int(asleep)
}

// awakeEnd returns a bound above all awake rows, given the number of rows.
func (c *compaction) awakeEnd(rows int) int {
	if c.mode == InPlace {
		return rows
	}
	return c.awake
}

// moveBits copies the bits of row from to row to, which no slot owns any more.
func (c *compaction) moveBits(to, from uint32) {
	c.flips.put(to, c.flips.has(from))
	if c.mode == InPlace {
		moveBit(&c.inPlace, to, from)
	}
}

func moveBit(set *bulk.Bitset, to, from uint32) {
	if set.Has(from) {
		set.Set(to)
	} else {
		set.Clear(to)
	}
}

// dropBits clears the bits of a removed row.
func (c *compaction) dropBits(row uint32) {
	c.flips.put(row, false)
	if c.mode == InPlace {
		c.inPlace.Clear(row)
	}
}

// rowColumn is one column of the rows, of any element type, for a flush.
type rowColumn interface {
	exchange(low, high []uint32)
	partition(c *compaction)
	reserve(spare *spare, count int)
	gather(spare *spare, first int, source []uint32)
}

// applyFlips moves the rows that collect listed, and updates rowOf, the inverse of owner (W1). The
// result depends only on the set of requests.
func (c *compaction) applyFlips(rowOf []int32) {
	to := c.awake - len(c.low) + len(c.high)
	c.markFlushed(to)
	switch c.mode {
	case Exchange:
		c.pairMisplaced(to)
		c.markWritten(c.low...)
		c.markWritten(c.high...)
		for _, column := range c.columns {
			column.exchange(c.low, c.high)
		}
		renumber(c.low, *c.owner, rowOf)
		renumber(c.high, *c.owner, rowOf)
	case Stable:
		for _, column := range c.columns {
			column.partition(c)
		}
		c.renumberPartition(*c.owner, rowOf)
	case InPlace:
		for _, row := range c.low {
			c.inPlace.Clear(row)
		}
		for _, row := range c.high {
			c.inPlace.Set(row)
		}
	}
	c.awake = to
	c.flips.reset()
}

// markWritten marks rows that are about to change owner, or change while asleep.
func (c *compaction) markWritten(rows ...uint32) {
	if c.written == nil {
		return
	}
	for _, row := range rows {
		c.written.Set(row >> 6)
	}
}

// markFlushed marks the rows that fall asleep without moving and those that a partition
// moves. An exchange itself marks the sleeping rows that it moves.
func (c *compaction) markFlushed(to int) {
	if c.written == nil {
		return
	}
	first, end := to, c.awake
	switch c.mode {
	case Stable:
		first, end = c.span()
	case InPlace:
		c.markWritten(c.low...)
		return
	}
	for word := first >> 6; word<<6 < end; word++ {
		c.written.Set(uint32(word))
	}
}

// collect lists the changing rows in ascending order: low will fall asleep, high
// will wake.
func (c *compaction) collect() {
	c.low, c.high = c.flips.appendTo(c.low[:0]), c.high[:0]
	if c.mode == InPlace {
		n := 0
		for _, row := range c.low {
			if c.inPlace.Has(row) {
				c.low[n] = row
				n++
			} else {
				c.high = append(c.high, row)
			}
		}
		c.low = c.low[:n]
		return
	}
	i, _ := slices.BinarySearch(c.low, uint32(c.awake))
	c.high = append(c.high, c.low[i:]...)
	c.low = c.low[:i]
}

// pairMisplaced reduces low and high to the misplaced rows: rows below the new
// boundary that will sleep, and as many rows above it that will be awake. Rows that
// wake just above the old boundary, or fall asleep just below it, need no move.
func (c *compaction) pairMisplaced(to int) {
	i, _ := slices.BinarySearch(c.low, uint32(to))
	c.low = c.low[:i]
	for row := c.awake; row < to; row++ {
		if !c.flips.has(uint32(row)) {
			c.low = append(c.low, uint32(row))
		}
	}
	i, _ = slices.BinarySearch(c.high, uint32(to))
	c.high = append(c.high[:0], c.high[i:]...)
	c.gaps = c.gaps[:0]
	for row := to; row < c.awake; row++ {
		if !c.flips.has(uint32(row)) {
			c.gaps = append(c.gaps, uint32(row))
		}
	}
	c.high = slices.Insert(c.high, 0, c.gaps...)
}

func renumber(rows, slot []uint32, rowOf []int32) {
	for _, row := range rows {
		rowOf[slot[row]] = int32(row)
	}
}

// renumberPartition updates rowOf after a partition. It compares before it writes, because
// slots are in random order: cache misses of loads overlap, cache misses of stores do not.
func (c *compaction) renumberPartition(slot []uint32, rowOf []int32) {
	first, end := c.span()
	for i, s := range slot[first:end] {
		if rowOf[s] != int32(first+i) {
			rowOf[s] = int32(first + i)
		}
	}
}

// span returns the range of rows that a partition moves.
func (c *compaction) span() (first, end int) {
	first, end = c.awake, c.awake
	if len(c.low) > 0 {
		first = int(c.low[0])
	}
	if n := len(c.high); n > 0 {
		end = int(c.high[n-1]) + 1
	}
	return first, end
}

// spare is scratch memory for moving rows. All columns share it, so that it stays in the
// cache.
type spare []uint64

// spareRows returns scratch memory for count rows.
func spareRows[T columns.Packable](s *spare, count int) []T {
	var row T
	words := (count*int(unsafe.Sizeof(row)) + 7) / 8
	*s = slices.Grow((*s)[:0], words)[:words]
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(*s))), count)
}

// rows is a rowColumn of one element type.
type rows[T columns.Packable] struct {
	values *[]T
}

// exchange swaps the rows in pairs. Columns are processed one after the other, so
// that the cache misses of different pairs overlap.
func (r *rows[T]) exchange(low, high []uint32) {
	v := *r.values
	high = high[:len(low)]
	for i, l := range low {
		h := high[i]
		v[l], v[h] = v[h], v[l]
	}
}

// partition moves waking rows behind the rows that stay awake, and rows falling asleep in
// front of those that stay asleep. All four groups keep their order. Changing rows are
// saved first, because other rows overwrite them:
//
//	a a S a a S a | z z W z W z      S falls asleep, W wakes
//	a a a a a W W | S S z z z z
func (r *rows[T]) partition(c *compaction) {
	v, n, m := *r.values, len(c.low), len(c.high)
	saved := spareRows[T](&c.spare, n+m)
	if n > 0 {
		columns.PackDown(v, saved[m:], c.flips.words, int(c.low[0]), c.awake)
	}
	if m > 0 {
		columns.PackUp(v, saved[:m], c.flips.words, c.awake, int(c.high[m-1])+1)
	}
	copy(v[c.awake-n:], saved)
}

// permute moves row source[i] to row i and updates rowOf (W1). No flip may be
// pending.
func (c *compaction) permute(source []uint32, rowOf []int32) {
	from, to := 0, len(source)
	for from < to && source[from] == uint32(from) {
		from++
	}
	for from < to && source[to-1] == uint32(to-1) {
		to--
	}
	for word := from >> 6; word<<6 < to && c.written != nil; word++ {
		c.written.Set(uint32(word))
	}
	for _, column := range c.columns {
		column.gather(&c.spare, from, source[from:to])
	}
	for i, slot := range (*c.owner)[from:to] {
		rowOf[slot] = int32(from + i)
	}
}

// reserve allocates scratch memory to gather count rows.
func (r *rows[T]) reserve(spare *spare, count int) { spareRows[T](spare, count) }

// gather moves row source[i] to row first+i.
func (r *rows[T]) gather(spare *spare, first int, source []uint32) {
	v, gathered := *r.values, spareRows[T](spare, len(source))
	for i, row := range source {
		gathered[i] = v[row]
	}
	copy(v[first:], gathered)
}
