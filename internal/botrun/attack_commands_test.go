package botrun

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/replication/wire"
)

// Arguments beyond the limit would end the session instead of being refused.
func TestAttacksKeepToTheLimitOfArguments(t *testing.T) {
	flood := func(rng *rand.Rand) (string, []byte) { return "shout", make([]byte, rng.IntN(40)) }
	a := &attacker{rng: rand.New(rand.NewPCG(1, 2)), config: Config{Player: &bot.Player{Flood: flood}}}
	longest := 0
	for id := range uint32(20_000) {
		longest = max(longest, len(a.makeCommand(id).Args))
	}
	require.Equal(t, wire.MaxCommandArgs, longest)
}
