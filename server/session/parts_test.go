package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/policy"
)

// The parts of Core, Session, Peer and Router own their fields.
func TestOnlyPartsWriteTheirFields(t *testing.T) {
	names, foreign, err := policy.Parts{Dir: ".", Roots: []string{"Core", "Session", "Peer", "Router"}, Offered: []string{"provisionals"}}.Check()
	require.NoError(t, err)
	require.Empty(t, foreign)
	require.Subset(t, names, []string{"identity", "inbox", "inputs", "faultRecord", "progress", "provisionals", "requests", "roster", "secrets", "sight", "snapshotSchedule", "travel", "view"})
}
