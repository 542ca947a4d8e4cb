package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/policy"
)

// Only the methods of a part write its fields: the receiver of a method tells which fields it may
// change.
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
