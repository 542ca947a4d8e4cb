package replication

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSentLogModel compares the log with lists: rows of pending datagrams are kept, in
// bounded memory.
func TestSentLogModel(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 5))
		var l sentLog
		model := map[uint32][]uint32{}
		forget := func(back uint32) {
			l.pending &^= 1 << back
			delete(model, l.newest-back)
		}
		for tick := range uint32(400) {
			if l.pending>>(sentWindow-1) != 0 {
				forget(sentWindow - 1)
			}
			l.openDatagram(tick)
			rows := make([]uint32, r.UintN(40))
			for i := range rows {
				rows[i] = r.Uint32()
			}
			l.addRows(rows...)
			if r.UintN(2) == 0 {
				l.addRows(tick)
				rows = append(rows, tick)
			}
			model[l.newest] = rows
			for back := range uint32(sentWindow) {
				if _, ok := model[l.newest-back]; ok && r.UintN(6+uint(seed)*20) == 0 {
					forget(back)
				}
			}
			for back := range uint32(sentWindow) {
				rows, ok := model[l.newest-back]
				if ok != (l.pending>>back&1 != 0) || ok && (!slices.Equal(rows, l.rowsOf(l.datagramAt(back))) || l.datagramAt(back).tick != tick-back) {
					require.Fail(t, "wrong datagram", "%d before %d: %v, want %v", back, l.newest, l.datagramAt(back), rows)
				}
			}
			require.Less(t, cap(l.rowIndexes), 5*41*sentWindow)
		}
	}
}
