package bot

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

// Arguments beyond the limit would end the session instead of being refused.
func TestAttacksKeepToTheLimitOfArguments(t *testing.T) {
	rename := must.Get(renameArgs("attacker"))
	a := &attacker{rng: rand.New(rand.NewPCG(1, 2))}
	longest := 0
	for id := range uint32(20_000) {
		longest = max(longest, len(a.makeCommand(id, rename).Args))
	}
	require.Equal(t, wire.MaxCommandArgs, longest)
}
