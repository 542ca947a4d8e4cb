package columns

import (
	"fmt"
	"iter"

	"github.com/worldd/worldd/bulk"
)

// Table keeps rows packed, for data that is iterated far more often than it is looked
// up. Remove moves the last row into the gap, so there are no holes, no stable order,
// and no pointer that survives a Remove. A row is found by the handle of a pool's
// tenant, through an array.
//
// It uses memory for its rows, and four bytes per slot up to the highest named one: check
// untrusted handles against a pool first. The zero value is an empty table.
type Table[T any] struct {
	rows    []T
	handles []bulk.Handle // by row
	rowOf   []uint32      // slot -> row + 1; 0: none
}

// noRow is the row number that Row returns with false.
const noRow = ^uint32(0)

// Add appends a zeroed row for h. It does nothing and returns nil if h is not valid or
// its slot has a row: see Get and Remove.
func (t *Table[T]) Add(h bulk.Handle) *T {
	i := h.Index()
	if !h.Valid() || uint64(len(t.rows)) >= uint64(noRow) {
		return nil
	}
	if uint64(i) >= uint64(len(t.rowOf)) {
		t.rowOf = append(t.rowOf, make([]uint32, uint64(i)+1-uint64(len(t.rowOf)))...)
	}
	if t.rowOf[i] != 0 {
		return nil
	}
	var zero T
	t.rows = append(t.rows, zero)
	t.handles = append(t.handles, h)
	t.rowOf[i] = uint32(len(t.rows))
	return &t.rows[len(t.rows)-1]
}

// Get returns the row of h, or nil. It accepts any 64 bits. The pointer is valid until
// the next Add or Remove.
func (t *Table[T]) Get(h bulk.Handle) *T {
	if i := uint64(uint32(h)); i < uint64(len(t.rowOf)) {
		if row := t.rowOf[i] - 1; uint64(row) < uint64(len(t.rows)) && t.handles[row] == h {
			return &t.rows[row]
		}
	}
	return nil
}

// Row returns the row number of h, or false.
func (t *Table[T]) Row(h bulk.Handle) (uint32, bool) {
	if i := uint64(uint32(h)); i < uint64(len(t.rowOf)) {
		if row := t.rowOf[i] - 1; uint64(row) < uint64(len(t.rows)) && t.handles[row] == h {
			return row, true
		}
	}
	return noRow, false
}

// Remove deletes the row of h, or does nothing and returns false. The last row, from,
// becomes row to; move parallel storage in the same way (see Group.Move). to
// equals from if the deleted row was the last.
func (t *Table[T]) Remove(h bulk.Handle) (to, from uint32, ok bool) {
	to, ok = t.Row(h)
	if !ok {
		return noRow, noRow, false
	}
	from = uint32(len(t.rows) - 1)
	moved := t.handles[from]
	t.rows[to], t.handles[to] = t.rows[from], moved
	t.rowOf[moved.Index()] = to + 1
	t.rowOf[h.Index()] = 0
	var zero T
	t.rows[from] = zero
	t.rows, t.handles = t.rows[:from], t.handles[:from]
	return to, from, true
}

// Len is the number of rows.
func (t *Table[T]) Len() int { return len(t.rows) }

// Rows returns all rows, packed: the fastest way to visit everything. The slice is
// valid until the next Add or Remove.
func (t *Table[T]) Rows() []T { return t.rows }

// HandleOfRow returns the handle of a row of Rows.
func (t *Table[T]) HandleOfRow(row uint32) bulk.Handle { return t.handles[row] }

// All yields every row, last first. The loop may remove the row just yielded, but no other
// row. Rows added during the iteration are not visited.
func (t *Table[T]) All() iter.Seq2[bulk.Handle, *T] {
	return func(yield func(bulk.Handle, *T) bool) {
		for row := len(t.rows) - 1; row >= 0; row-- {
			if !yield(t.handles[row], &t.rows[row]) {
				return
			}
		}
	}
}

// CheckInvariants audits B12: rows and slots point at each other.
func (t *Table[T]) CheckInvariants() error {
	if len(t.rows) != len(t.handles) {
		return fmt.Errorf("columns: B12: %d rows, %d handles", len(t.rows), len(t.handles))
	}
	for row, h := range t.handles {
		if at, ok := t.Row(h); !ok || int(at) != row {
			return fmt.Errorf("columns: B12: row %d is of %v, whose row is %d", row, h, at)
		}
	}
	used := 0
	for _, row := range t.rowOf {
		if row != 0 {
			used++
		}
	}
	if used != len(t.rows) {
		return fmt.Errorf("columns: B12: %d slots have a row, but there are %d rows", used, len(t.rows))
	}
	return nil
}
