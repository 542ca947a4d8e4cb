package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
)

type (
	// vectorCase is a case, and vectorStep one of its lines: see
	// testdata/vectors/README.md.
	vectorCase struct {
		name, schema string
		plain        bool
		handles      []bulk.Handle
		steps        []vectorStep
	}
	vectorStep struct {
		Case, Schema     string
		Simulate, Plain  bool
		Handles          []bulk.Handle
		Stream, Datagram []byte
		Lost             bool
		Provisional      *vectorProvisional
		Send             *vectorSend
		Expect           vectorExpect
	}
	vectorProvisional struct {
		Handles        []bulk.Handle
		Command, Input uint32
	}
	vectorExpect struct {
		Outcome, Error    string
		Hello             *vectorHello
		Structure, Newest uint32
		Mask              string
		Faults            uint64
		Verdicts          map[bulk.Handle]string
		Entities          []vectorEntity
		Events            []vectorEvent
		Results           []vectorResult
		Sent              []byte
		Arrived           int
	}
	vectorSend struct {
		Command string
		ID      uint32
		Words   []uint32
		Texts   [][]byte
	}
	vectorEvent struct {
		Tick  uint32
		Event string
		Words []uint32
		Texts [][]byte
	}
	vectorResult struct {
		ID    uint32
		Code  string
		Words []uint32
		Texts [][]byte
	}
	vectorHello struct {
		Session   uint64
		Secret    []byte
		Structure uint32
	}
	vectorEntity struct {
		Handle     bulk.Handle
		Kind       uint32
		Tick       uint32
		Components uint32
		Owned      bool
		Values     []uint32 `json:"words"`
		Texts      [][]byte
		Teleported uint32
	}
)

func (e vectorEntity) equal(o vectorEntity) bool {
	return e.Handle == o.Handle && e.Kind == o.Kind && e.Tick == o.Tick && e.Components == o.Components && e.Owned == o.Owned && e.Teleported == o.Teleported && slices.Equal(e.Values, o.Values) && slices.EqualFunc(e.Texts, o.Texts, bytes.Equal)
}

// readVectors returns the cases of all files.
func readVectors(t testing.TB) (cases []vectorCase) {
	files := must.Get(filepath.Glob(vectorsAt + "/*.jsonl"))
	for _, file := range files {
		if slices.Contains([]string{rowsFile, exactVectors, schemaVectors, "binding.jsonl", "versions.jsonl", "rooms.jsonl"}, filepath.Base(file)) {
			continue // no sessions: each has a test of its own
		}
		text := must.Get(os.ReadFile(file))
		for line := range bytes.Lines(text) {
			var step vectorStep
			require.NoError(t, json.Unmarshal(line, &step), file)
			if step.Simulate { // the page's client does not: see TestExactVectors
				break
			}
			if step.Case != "" {
				if step.Schema == "" {
					step.Schema = cases[len(cases)-1].schema
				}
				cases = append(cases, vectorCase{filepath.Base(file) + ": " + step.Case, step.Schema, step.Plain, step.Handles, nil})
				continue
			}
			c := &cases[len(cases)-1]
			c.steps = append(c.steps, step)
		}
	}
	return cases
}

// play plays a case, and returns the difference between the client and the expectation, or
// "".
func (v *vectorCase) play(c *pageClient) string {
	before := &pageResult{verdicts: map[bulk.Handle]string{}}
	for i, step := range v.steps {
		if got := c.play(step, v.handles, before); !reflect.DeepEqual(got, step.Expect) {
			return fmt.Sprintf("%s, step %d:\n got %+v\nwant %+v", v.name, i+1, got, step.Expect)
		}
	}
	return ""
}

// TestConformanceVectors plays all vectors with the client written from the page.
func TestConformanceVectors(t *testing.T) {
	page := readPage(t)
	for _, v := range readVectors(t) {
		require.Empty(t, v.play(newPageClient(t, page, v, 0)))
	}
}
