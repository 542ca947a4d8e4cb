package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
)

// schemaVectors is the file of schema texts: see testdata/vectors/README.md.
const schemaVectors = "schemas.jsonl"

type schemaLine struct {
	About string `json:"about"`
	Text  string `json:"text,omitempty"`
	Bytes []byte `json:"bytes,omitempty"` // in place of Text, if that is not UTF-8
	Valid bool   `json:"valid"`
	Hash  string `json:"hash,omitempty"` // hash of a valid text
}

func (l schemaLine) content() string {
	if l.Bytes != nil {
		return string(l.Bytes)
	}
	return l.Text
}

func readSchemaVectors(t testing.TB) (lines []schemaLine) {
	text := must.Get(os.ReadFile(filepath.Join(vectorsAt, schemaVectors)))
	for line := range bytes.Lines(text) {
		var l schemaLine
		require.NoError(t, json.Unmarshal(line, &l))
		lines = append(lines, l)
	}
	return lines
}

// equal reports whether a client reads the text with the line's expected result.
func (l schemaLine) equal(m mutation) bool {
	_, err := readSchema(l.content(), m)
	return (err == nil) == l.Valid
}

// TestSchemaVectors reads the texts with the package's parser and with the parser written
// from the page. -vectors.update writes the file.
func TestSchemaVectors(t *testing.T) {
	if *vectorsUpdate {
		var text []byte
		for _, l := range makeSchemaLines() {
			if l.Valid {
				l.Hash = fmt.Sprintf("%016x", fnv1a(l.content()))
			}
			line := must.Get(json.Marshal(l))
			text = append(append(text, line...), '\n')
		}
		require.NoError(t, os.WriteFile(filepath.Join(vectorsAt, schemaVectors), text, 0o644))
	}
	valid := 0
	for i, l := range readSchemaVectors(t) {
		s, err := schema.Parse(l.content())
		if err == nil {
			err = rowcodec.CheckRows(s)
		}
		_, pageErr := readSchema(l.content(), mutation{})
		if !l.Valid {
			require.Error(t, err, "line %d: %s", i+1, l.About)
			require.Error(t, pageErr, "line %d: %s", i+1, l.About)
			continue
		}
		valid++
		require.NoError(t, err, "line %d: %s", i+1, l.About)
		require.NoError(t, pageErr, "line %d: %s", i+1, l.About)
		require.Equal(t, l.Hash, fmt.Sprintf("%016x", s.Hash()), l.About)
	}
	require.NotZero(t, valid)
}
