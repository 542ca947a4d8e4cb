package replication

import "github.com/worldd/worldd/replication/wire"

// datagrams are the State datagrams of a viewer's newest snapshot, and what they show about the
// size of the next ones.
type datagrams struct {
	list      [][]byte // in order; copies follow
	buffers   [maxDatagrams][]byte
	limit     int    // size limit of a datagram on the client's path
	overflow  int    // rows waiting when they last did not fit into one datagram; 0: they all fitted
	rowBits   int    // of a row in the newest datagram with rows, on average; 0: unknown
	input     uint32 // tick of the newest input applied; 0: none
	inputSent uint32 // input in the newest snapshot
}

// noteInput notes the tick of the newest input of the client that was applied.
func (d *datagrams) noteInput(tick uint32) { d.input = tick }

// hasInputNews reports whether an input was applied that no snapshot named.
func (d *datagrams) hasInputNews() bool { return d.input != d.inputSent }

// setLimit sets the size limit of datagrams, within what the protocol allows.
func (d *datagrams) setLimit(bytes int) {
	d.limit = min(max(bytes, wire.MinDatagram), wire.MaxDatagram)
}

// beginSnapshot drops the former snapshot's datagrams.
func (d *datagrams) beginSnapshot() { d.list = d.list[:0] }

// mayFitOne reports whether rows may fit into one datagram: the last rows did, or were more.
func (d *datagrams) mayFitOne(rows int) bool { return d.overflow == 0 || rows < d.overflow }

// noteOverflow notes that rows do not fit into one datagram.
func (d *datagrams) noteOverflow(rows int) { d.overflow = rows }

// noteRest notes how many rows are left after the datagrams of a snapshot that did not fit into one.
// guessed tells whether mayFit had expected none: the next snapshot then goes by priority, so that no
// row waits for ever.
func (d *datagrams) noteRest(rest int, guessed bool) {
	if rest == 0 && len(d.list) == 1 {
		d.overflow = 0 // they fit again
	}
	if guessed && rest > 0 {
		d.rowBits = 0
	}
}

// addCopies appends the copies that delivery makes of the datagrams, and returns them.
func (d *datagrams) addCopies(by *delivery, spare, window int) (copies [][]byte) {
	made := len(d.list)
	d.list = by.appendCopies(d.list, spare, window)
	return d.list[made:]
}

// addDatagram makes a datagram of a header and rows, and returns its size.
func (d *datagrams) addDatagram(h *wire.StateHeader, rows *packed) int {
	n := len(d.list)
	h.InputAge = d.inputAge(h.Tick)
	h.Fold, h.Rows, h.Exact = rows.fold, int(rows.rows), rows.exact
	b := wire.AppendStateHeader(d.buffers[n][:0], *h)
	d.buffers[n] = append(b, rows.bytes...)
	d.list = append(d.list, d.buffers[n])
	d.inputSent = d.input
	if rows.rows > 0 {
		d.rowBits = 8 * len(rows.bytes) / int(rows.rows)
	}
	return len(d.buffers[n])
}

// inputAge returns StateHeader.InputAge for a snapshot of a tick.
func (d *datagrams) inputAge(tick uint32) uint32 {
	if d.input == 0 {
		return 0
	}
	return tick - d.input + 1
}

// mayFit reports whether rows fit into a budget of bytes if they are as long as in the newest
// datagram.
func (d *datagrams) mayFit(rows, budget, headerBytes int) bool {
	const marginDivisor = 8
	size := rows * d.rowBits
	return d.rowBits > 0 && rows <= maxDatagrams*wire.MaxRows &&
		size+size/marginDivisor <= 8*min(budget, maxDatagrams*(d.limit-headerBytes))
}
