package world

import (
	"fmt"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/worldd/worldd/bulk"
)

// Compaction says what the flush does with the rows of bodies that fell asleep
// or woke. It changes what a step costs and the order of rows, never the state:
// StateHash is the same under all three.
type Compaction uint8

const (
	// Exchange swaps misplaced rows in pairs. It costs what changes.
	Exchange Compaction = iota
	// Stable keeps the order of rows, within the awake and within the sleeping,
	// by moving whole spans. It costs what lies between the first and the last
	// row that changes. (A destroyed body's row is still filled with another, and
	// the order that is kept is at times made anew, by place: see Rows in the
	// package comment.)
	Stable
	// InPlace moves nothing and steps the rows that a bitset names. A step then
	// pays for scattered rows instead.
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

// compaction knows which rows are awake (W2), collects the words about who is
// to change (W3), and carries them out in a flush.
type compaction struct {
	mode    Compaction
	awake   int         // rows awake; except in place, these are the rows below it
	inPlace bulk.Bitset // the awake rows, in place
	flips   flips       // rows to be put to sleep or woken by the next flush

	columns []rowColumn  // every array by row
	owner   *[]uint32    // the one of them that says whose the rows are
	written *bulk.Bitset // words of 64 rows that were changed while asleep, or fell asleep; nil: nobody asks

	low, high, gaps []uint32 // rows that change; memory of the flush
	spare           spare
}

// isAwake says whether the step under way, or the last flush, has row awake.
func (c *compaction) isAwake(row int) bool {
	if c.mode == InPlace {
		return c.inPlace.Has(uint32(row))
	}
	return row < c.awake
}

// wakeful says whether row will be awake after the next flush.
func (c *compaction) willBeAwake(row int) bool {
	return c.isAwake(row) != c.flips.has(uint32(row))
}

// say is the word that row is to be awake, or asleep. The last word wins.
func (c *compaction) setAwake(row int, awake bool) {
	c.flips.put(uint32(row), c.isAwake(row) != awake)
}

// wakefulCount is the number of rows awake after the next flush.
func (c *compaction) awakeAfterFlush() int {
	n := c.awake
	for w, word := range c.flips.words {
		if word != 0 {
			n += bits.OnesCount64(word) - 2*bits.OnesCount64(word&c.awakeWord(w))
		}
	}
	return n
}

// awakeWord has a bit for each of 64 rows that are awake.
func (c *compaction) awakeWord(w int) uint64 {
	if c.mode == InPlace {
		return c.inPlace.Word(uint32(w))
	}
	return 1<<min(max(c.awake-w*64, 0), 64) - 1
}

// run returns the next awake rows at or above from as a range, at most limit of
// them; an empty range when there are none.
func (c *compaction) awakeRange(from, limit int) (first, end int) {
	if c.mode != InPlace {
		return from, min(from+limit, c.awake)
	}
	row, ok := c.inPlace.Next(uint32(from))
	if !ok {
		return 0, 0
	}
	first = int(row)
	clear, ok := c.inPlace.NextClear(row, row+uint32(limit))
	if !ok {
		return first, first + limit
	}
	return first, int(clear)
}

// end is the row behind the last that can be awake, of so many.
func (c *compaction) awakeEnd(rows int) int {
	if c.mode == InPlace {
		return rows
	}
	return c.awake
}

// moveBits gives row to, which nobody owns any more, the bits of row from, and
// keeps the word about it.
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

// dropBits forgets a row that is no more.
func (c *compaction) dropBits(row uint32) {
	c.flips.put(row, false)
	if c.mode == InPlace {
		c.inPlace.Clear(row)
	}
}

// rowColumn is one array by row, as a flush sees it.
type rowColumn interface {
	exchange(low, high []uint32)
	partition(c *compaction)
	reserve(spare *spare, count int)
	gather(spare *spare, first int, source []uint32)
}

// flush carries out the words since the last one, and brings rowOf, the inverse
// of owner, up to date (W1). The result is a function of the sets of words.
func (c *compaction) flush(rowOf []int32) {
	c.collect()
	c.applyFlips(rowOf)
}

// carryOut is the rest of a flush.
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

// noteWritten notes that rows are about to get another owner, or change while
// they are asleep.
func (c *compaction) markWritten(rows ...uint32) {
	if c.written == nil {
		return
	}
	for _, row := range rows {
		c.written.Set(row >> 6)
	}
}

// noteFlush notes the rows that fall asleep where they are, and those that a
// partition moves. An exchange notes the sleepers that it moves by itself.
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

// collect lists the rows that change: low are those to be put to sleep, high
// those to be woken, both ascending.
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

// pair turns the lists of all who change into the misplaced rows: low are those
// below the new boundary that are to be asleep, high those above it that are to
// be awake. They are equally many. Who is woken just above the old boundary, or
// put to sleep just below it, is in place already.
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

// renumberSpan follows a partition, which moves rows between the first and the
// last that change. Slots are in no order: it looks before it writes, since loads
// of several are waited for together, and stores one after the other.
func (c *compaction) renumberPartition(slot []uint32, rowOf []int32) {
	first, end := c.span()
	for i, s := range slot[first:end] {
		if rowOf[s] != int32(first+i) {
			rowOf[s] = int32(first + i)
		}
	}
}

// span is the range of rows that a partition moves.
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

// spare is memory for rows on the move: one for all columns, so that it stays in
// the cache.
type spare []uint64

// spareRows returns spare memory of count rows.
func spareRows[T bulk.Packable](s *spare, count int) []T {
	var row T
	words := (count*int(unsafe.Sizeof(row)) + 7) / 8
	*s = slices.Grow((*s)[:0], words)[:words]
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(*s))), count)
}

// rows is a rowColumn of one type.
type rows[T bulk.Packable] struct {
	values *[]T
}

// exchange swaps the rows in pairs. Each column is done by itself, so that the
// loads of different pairs wait for memory at the same time.
func (r *rows[T]) exchange(low, high []uint32) {
	v := *r.values
	high = high[:len(low)]
	for i, l := range low {
		h := high[i]
		v[l], v[h] = v[h], v[l]
	}
}

// partition puts the wakers behind the awake rows that stay so, and the sleepers
// in front of the sleeping rows that stay so; all four keep their order. Those
// who change are saved, since the others move over them:
//
//	a a S a a S a | z z W z W z      S sleepers, W wakers
//	a a a a a W W | S S z z z z
func (r *rows[T]) partition(c *compaction) {
	v, n, m := *r.values, len(c.low), len(c.high)
	saved := spareRows[T](&c.spare, n+m)
	if n > 0 {
		bulk.PackDown(v, saved[m:], c.flips.words, int(c.low[0]), c.awake)
	}
	if m > 0 {
		bulk.PackUp(v, saved[:m], c.flips.words, c.awake, int(c.high[m-1])+1)
	}
	copy(v[c.awake-n:], saved)
}

// permute gives each of the first rows what source says, and brings rowOf up to
// date (W1). No bit may be about a row.
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

// reserve makes room to gather so many rows.
func (r *rows[T]) reserve(spare *spare, count int) { spareRows[T](spare, count) }

// gather takes each row from the first on from where source says.
func (r *rows[T]) gather(spare *spare, first int, source []uint32) {
	v, gathered := *r.values, spareRows[T](spare, len(source))
	for i, row := range source {
		gathered[i] = v[row]
	}
	copy(v[first:], gathered)
}
