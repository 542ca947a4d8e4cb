package replication_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/policy"
)

// The parts of a Viewer and of a Replicator own their fields, and so do the parts of these.
func TestOnlyPartsWriteTheirFields(t *testing.T) {
	parts := policy.Parts{Dir: ".", Roots: []string{"Viewer", "Replicator"}, Offered: []string{"structure", "eventQueue"}} // outbox holds both beside the budget
	names, foreign, err := parts.Check()
	require.NoError(t, err)
	require.Empty(t, foreign)
	require.Subset(t, names, []string{
		"interest", "boundary", "ownedSet", "members", "memberSlots", "memberRows", "knowledge", "outbox", "structure", "eventQueue", "datagrams", "delivery", "sentLog", "simulation",
		"slotChanges", "changeLog", "deathLog", "grid", "frame", "staleRows", "clean", "effectLog",
	})
}
