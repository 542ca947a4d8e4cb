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
		Case        string             `json:"case,omitempty"`
		About       string             `json:"about,omitempty"`
		Protocol    int                `json:"protocol,omitempty"`
		Schema      string             `json:"schema,omitempty"`
		SchemaHash  string             `json:"schema_hash,omitempty"`
		Simulate    bool               `json:"simulate,omitempty"`
		Plain       bool               `json:"plain,omitempty"`
		Handles     []bulk.Handle      `json:"handles,omitempty"`
		Stream      []byte             `json:"stream,omitempty"`
		Datagram    []byte             `json:"datagram,omitempty"`
		Lost        bool               `json:"lost,omitempty"`
		Forgotten   bool               `json:"forgotten,omitempty"`
		Provisional *vectorProvisional `json:"provisional,omitempty"`
		Send        *vectorSend        `json:"send,omitempty"`
		Expect      *vectorExpect      `json:"expect,omitempty"`
	}
	vectorProvisional struct {
		Handles []bulk.Handle `json:"handles"`
		Command uint32        `json:"command,omitempty"`
		Input   uint32        `json:"input,omitempty"`
	}
	vectorExpect struct {
		Outcome   string                 `json:"outcome,omitempty"`
		Error     string                 `json:"error,omitempty"`
		Hello     *vectorHello           `json:"hello,omitempty"`
		Structure uint32                 `json:"structure"`
		Newest    uint32                 `json:"newest"`
		Mask      string                 `json:"mask"`
		Faults    uint64                 `json:"faults"`
		Verdicts  map[bulk.Handle]string `json:"verdicts,omitempty"`
		Entities  []vectorEntity         `json:"entities,omitempty"`
		Events    []vectorEvent          `json:"events,omitempty"`
		Results   []vectorResult         `json:"results,omitempty"`
		Sent      []byte                 `json:"sent,omitempty"`
		Arrived   int                    `json:"arrived,omitempty"`
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
		Session   uint64 `json:"session"`
		Secret    []byte `json:"secret"`
		Structure uint32 `json:"structure"`
	}
	vectorEntity struct {
		Handle     bulk.Handle `json:"handle"`
		Kind       uint32      `json:"kind"`
		Tick       uint32      `json:"tick"`
		Components uint32      `json:"components"`
		Owned      bool        `json:"owned,omitempty"`
		Values     []uint32    `json:"words"`
		Texts      [][]byte    `json:"texts,omitempty"`
		Teleported uint32      `json:"teleported,omitempty"`
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
		if got := c.play(step, v.handles, before); !reflect.DeepEqual(&got, step.Expect) {
			return fmt.Sprintf("%s, step %d:\n got %+v\nwant %+v", v.name, i+1, got, *step.Expect)
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
