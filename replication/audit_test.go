package replication

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
)

// P4: each body is audited, whatever its slot. Each turn has one audit per cycle.
func TestAuditsTakeTurns(t *testing.T) {
	for first := range uint32(300) {
		turns := map[uint32]int{}
		for seq := first; seq < first+auditEvery*wire.AuditTurns; seq++ {
			if isAudited(seq) {
				turns[seq%wire.AuditTurns]++
			}
		}
		require.Len(t, turns, wire.AuditTurns, "from snapshot %d", first)
		for turn, n := range turns {
			require.Equal(t, 1, n, "turn %d", turn)
		}
	}
}
