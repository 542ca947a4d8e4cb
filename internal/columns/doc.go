// Package columns keeps values parallel to the slots of a bulk.Pool, or packed, and has the
// kernels that work on whole columns.
//
//   - Column has one element for each slot; Group has many columns of one type, each apart
//     (SoA) or interleaved by sixteen (AoSoA).
//   - Table keeps rows packed: no holes, no stable order.
//   - PackDown and PackUp partition a column in order. AddScaled is a multiply-add of
//     columns, with the same bits on every machine.
//
// # Invariants
//
//   - B7: no block ever moves: a pointer from a Column or a Group is valid for ever.
//   - B12: each row of a Table names its slot, and that slot names the row.
package columns

import "github.com/worldd/worldd/bulk"

const (
	wordShift  = 6 // 64 slots to a word
	wordLen    = 1 << wordShift
	wordMask   = wordLen - 1
	blockShift = 12 // bulk.BlockLen
	blockMask  = 1<<blockShift - 1
	blockWords = 1 << (blockShift - wordShift)
	// maxBlockBytes bounds one allocation of a Group: larger columns are probably a mistake.
	maxBlockBytes = 1 << 28
)

// The build fails unless both packages agree on the length of a block.
var _ [bulk.BlockLen]struct{} = [1 << blockShift]struct{}{}
