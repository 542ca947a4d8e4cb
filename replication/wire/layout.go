package wire

import "github.com/worldd/worldd/internal/bitio"

// Rows that moved between the two states that both sides know, and so are
// expected to have changed, are told of one after the other, in the order of
// their slots; the head of one that did not says so. Of the others only those
// that changed are told of, each after the number of those passed over.

// AppendGap writes how many rows were passed over, below 2^20.
func (c *Codec) AppendGap(w *bitio.Writer, gap uint32) {
	symbol, low := bucket(uint64(gap))
	c.tables.gapCode.write(w, symbol, uint64(gap)&(1<<low-1), low)
}

// AppendEnd writes that no other row follows.
func (c *Codec) AppendEnd(w *bitio.Writer) { c.tables.gapCode.write(w, symbolEscape, 0, 0) }

// ReadGap reads what AppendGap or AppendEnd wrote.
func (c *Codec) ReadGap(r *bitio.Reader) (gap uint32, more bool) {
	e := c.tables.gapCode.first(r.Peek())
	r.Skip(e.bits())
	if e.value() == entryEscape || r.Err() != nil {
		return 0, false
	}
	return uint32(e.value()<<e.low() | r.Read(e.low())), true
}
