package client_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/vectors"
	"github.com/worldd/worldd/replication/schema"
)

// The components of the conformance vectors.
type (
	vectorIdentity struct {
		Value uint64 `net:"always"`
	}
	vectorTarget struct {
		Handle bulk.Handle `net:"ref"`
	}
	vectorPurse struct {
		Coins int32 `net:"bits=20,owner"`
	}
	vectorSeat struct {
		At [3]float32  `net:"range=-256..256,step=1/64,predict=linear,parent=On"`
		On bulk.Handle `net:"ref"`
	}
)

// TestConformance plays the conformance vectors, which clients in any language must
// pass.
func TestConformance(t *testing.T) {
	s := schema.New()
	schema.Define[schema.Body](s, "body")
	schema.Define[vectorIdentity](s, "identity")
	schema.Define[vectorTarget](s, "target")
	schema.Define[vectorPurse](s, "purse")
	require.NoError(t, s.Err())
	riders := schema.New()
	schema.Define[schema.Body](riders, "body")
	schema.Define[vectorIdentity](riders, "identity")
	schema.Define[vectorTarget](riders, "target")
	schema.Define[vectorPurse](riders, "purse")
	schema.Define[vectorSeat](riders, "seat")
	require.NoError(t, riders.Err())
	schemas := must.Get(vectors.Schemas())
	schemas = append(schemas, s, riders)
	files := must.Get(vectors.SessionFiles("../replication/wire/testdata/vectors"))
	require.NotEmpty(t, files)
	outcomes, codes := map[string]int{}, map[string]int{}
	for _, file := range files {
		f := must.Get(os.Open(file))
		cases, err := vectors.Read(f)
		require.NoError(t, err, file)
		require.NoError(t, f.Close())
		for _, c := range cases {
			t.Run(filepath.Base(file)+"/"+c.Name, func(t *testing.T) {
				require.NoError(t, c.Check(schemas...))
			})
			for _, step := range c.Steps {
				outcomes[step.Expect.Outcome]++
				codes[step.Expect.Error]++
			}
		}
	}
	for _, outcome := range []string{"applied", "held", "duplicate", "unreadable", "faulty"} {
		require.NotZero(t, outcomes[outcome], "no datagram is %s", outcome)
	}
	require.NotZero(t, codes["bad-message"])
	require.NotZero(t, codes["draining"])
}
