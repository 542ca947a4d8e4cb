package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/policy"
)

// The parts of sessions, replicas and clients write their own fields: what a line of code may
// change is said by its receiver.
func TestOnlyPartsWriteTheirFields(t *testing.T) {
	for dir, want := range map[string]struct{ roots, parts []string }{
		".":                {[]string{"Session", "Replica", "Client"}, []string{"stream", "greeting", "timing", "uplink", "commands", "provisionals", "resyncs", "entities", "timeline", "silence"}},
		"internal/predict": {[]string{"Core", "Group"}, []string{"subject", "subjects", "blend", "inputRing", "reportedEffects"}},
		"internal/bodies":  {[]string{"Bodies"}, []string{"tracks", "effects", "computation", "audits"}},
	} {
		parts, complaints, err := policy.Parts{Dir: dir, Roots: want.roots, Offered: []string{"cells"}}.Check()
		require.NoError(t, err)
		require.Empty(t, complaints, dir)
		require.Subset(t, parts, want.parts)
	}
}
