package replication

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
)

// The log keeps the deaths that were not seen, and counts those with a cause.
func TestDeathLog(t *testing.T) {
	var l deathLog
	all := []death{{bulk.NewHandle(1, 1), 0}, {bulk.NewHandle(2, 1), 5}, {bulk.NewHandle(1, 3), 7}, {bulk.NewHandle(3, 1), 0}}
	for _, d := range all {
		l.addDeath(d)
	}
	causes := []int{2, 2, 1, 0, 0}
	for seen := range uint64(5) {
		require.Equal(t, all[seen:], l.deathsSince(seen))
		l.dropFirst(seen)
		require.Equal(t, all[seen:], l.deathsSince(seen))
		require.EqualValues(t, 4, l.count())
		require.Equal(t, causes[seen], l.causes)
	}
}
