package replication

import "github.com/worldd/worldd/replication/wire"

// datagrams holds the State datagrams of a viewer's newest snapshot, and predicts the size
// of the next snapshot from them.
type datagrams struct {
	list      [][]byte // in order of number; copies follow
	buffers   [maxDatagrams][]byte
	limit     int    // size limit of a datagram on the client's path
	header    int    // maximum size of a State header without events
	overflow  int    // number of waiting rows that last did not fit into one datagram; 0: all fitted
	rowBits   int    // mean row size in the newest datagram with rows; 0: unknown
	input     uint32 // tick of the newest input applied; 0: none
	inputSent uint32 // input in the newest snapshot
}

func newDatagrams() datagrams {
	return datagrams{limit: wire.MaxDatagram, header: wire.StateHeaderBytes}
}

// reserveAudits leaves room for an audit in each header: the client simulates.
func (d *datagrams) reserveAudits() { d.header = wire.StateHeaderBytes + auditBytes }

// NoteInput tells the viewer the tick of its client's newest applied input, which later
// snapshots confirm. The tick is at most the next frame's, and not 0.
func (d *datagrams) NoteInput(tick uint32) { d.input = tick }

// hasInputNews reports whether an input was applied that no snapshot has confirmed.
func (d *datagrams) hasInputNews() bool { return d.input != d.inputSent }

// SetMaxDatagram sets the maximum size of datagrams on the client's path, for the next
// snapshots. It is clamped to wire.MinDatagram and wire.MaxDatagram, which is the default.
func (d *datagrams) SetMaxDatagram(bytes int) {
	d.limit = min(max(bytes, wire.MinDatagram), wire.MaxDatagram)
}

// limitWithin returns the size limit of the next datagram: the path's limit or the tokens
// that are left, if they are fewer.
func (d *datagrams) limitWithin(tokens int) int { return min(d.limit, max(tokens, minDatagramBytes)) }

// roomWithin returns the maximum size of the next datagram without its header.
func (d *datagrams) roomWithin(tokens int) int { return d.limitWithin(tokens) - d.header }

// beginSnapshot drops the previous snapshot's datagrams.
func (d *datagrams) beginSnapshot() { d.list = d.list[:0] }

// mayFitOne reports whether this many rows may fit into one datagram: more rows overflowed
// the last time, or no rows ever did.
func (d *datagrams) mayFitOne(rows int) bool { return d.overflow == 0 || rows < d.overflow }

// noteOverflow records that this many rows do not fit into one datagram.
func (d *datagrams) noteOverflow(rows int) { d.overflow = rows }

// noteRest records how many rows a snapshot of several datagrams left unsent. guessed tells
// whether mayFit predicted that all rows fit: if rows are left despite the prediction, the
// next snapshot selects rows by priority, so that no row waits for ever.
func (d *datagrams) noteRest(rest int, guessed bool) {
	if rest == 0 && len(d.list) == 1 {
		d.overflow = 0 // the rows fit into one datagram again
	}
	if guessed && rest > 0 {
		d.rowBits = 0
	}
}

// addCopies appends the copies that delivery makes of the datagrams, and returns the
// copies.
func (d *datagrams) addCopies(by *delivery, spare, window int) (copies [][]byte) {
	made := len(d.list)
	d.list = by.appendCopies(d.list, spare, window)
	return d.list[made:]
}

// addDatagram makes a datagram of a header and rows, and returns its size.
func (d *datagrams) addDatagram(h *wire.StateHeader, rows *packed) int {
	n := len(d.list)
	h.InputAge = d.inputAge(h.Tick)
	h.Fold, h.Rows, h.Exact, h.Teleports = rows.fold, int(rows.rows), rows.exact, rows.teleports
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

// mayFit reports whether this many rows fit into a budget of bytes if they are as large as
// the newest datagram's rows.
func (d *datagrams) mayFit(rows, budget int) bool {
	const marginDivisor = 8
	size := rows * d.rowBits
	return d.rowBits > 0 && rows <= maxDatagrams*wire.MaxRows &&
		size+size/marginDivisor <= 8*min(budget, maxDatagrams*(d.limit-d.header))
}
