package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/wire"
)

const (
	vectorsAt       = "../testdata/vectors"
	rowsFile        = "rows.jsonl"
	otherTables     = "rows.tables"
	usualTables     = "default.tables"
	usualTablesPath = "../../../internal/rowcodec/" + usualTables
)

type (
	// rowCase is a line of rows.jsonl that begins a case: a schema and tables for the rows
	// in the following lines.
	rowCase struct {
		Case     string    `json:"case"`
		Protocol int       `json:"protocol"`
		Tables   string    `json:"tables"`         // file name
		Version  string    `json:"tables_version"` // 8 hexadecimal digits
		Schema   string    `json:"schema"`
		Hash     string    `json:"schema_hash"`
		Rows     []codeRow `json:"-"`
		first    int       // line number of the first row
	}
	// codeRow is a line of rows.jsonl with a coded row and its past. Either Values or Error
	// is set.
	codeRow struct {
		Mask   uint32      `json:"mask"`
		Owned  bool        `json:"owned,omitempty"`
		Age    uint32      `json:"age"`
		Gap    uint32      `json:"gap,omitempty"`
		Base   []uint32    `json:"base"`
		Older  []uint32    `json:"older,omitempty"`
		Anchor *anchorLine `json:"anchor,omitempty"`
		Bits   []byte      `json:"bits"`
		Values []uint32    `json:"values,omitempty"`
		Error  string      `json:"error,omitempty"` // name of the code
		About  string      `json:"about,omitempty"` // why the row is rejected
	}
	anchorLine struct {
		Component int      `json:"component"`
		Now       []uint32 `json:"now"`
		Base      []uint32 `json:"base"`
		Older     []uint32 `json:"older,omitempty"`
	}
)

// readRowCases reads rows.jsonl.
func readRowCases(t testing.TB) (cases []*rowCase) {
	text := must.Get(os.ReadFile(filepath.Join(vectorsAt, rowsFile)))
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var into any
		if bytes.HasPrefix(lines.Bytes(), []byte(`{"case":`)) {
			cases = append(cases, &rowCase{first: n + 1})
			into = cases[len(cases)-1]
		} else {
			c := cases[len(cases)-1]
			c.Rows = append(c.Rows, codeRow{})
			into = &c.Rows[len(c.Rows)-1]
		}
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		require.NoError(t, d.Decode(into), "line %d", n)
	}
	require.NoError(t, lines.Err())
	return cases
}

// tableFiles returns the bytes of the tables that rows.jsonl names.
func tableFiles() map[string][]byte {
	all := map[string][]byte{}
	for name, path := range map[string]string{usualTables: usualTablesPath, otherTables: filepath.Join(vectorsAt, otherTables)} {
		b := must.Get(os.ReadFile(path))
		all[name] = b
	}
	return all
}

// readWithPackage decodes a row with package rowcodec.
func (row *codeRow) readWithPackage(c *rowcodec.Codec) ([]uint32, error) {
	past := &rowcodec.Past{Base: row.Base, Older: row.Older, Age: row.Age, Gap: row.Gap}
	if a := row.Anchor; a != nil {
		past.Anchor = new(rowcodec.Anchor)
		c.SetAnchor(past.Anchor, a.Component, a.Now, a.Base, a.Older)
	}
	var r bitio.Reader
	r.Reset(row.Bits)
	got := rowschema.Row{Mask: row.Mask, Owned: row.Owned, Values: make([]uint32, len(row.Base))}
	if err := c.Read(&r, &got, past); err != nil {
		return nil, err
	}
	return got.Values, wire.ExpectEnd(&r)
}

// read decodes a row with the decoder of CODEC.md.
func (row *codeRow) read(t *codingTables, parts []codecPart) (values []uint32, err error) {
	defer func() {
		if why := recover(); why != nil {
			values, err = nil, fmt.Errorf("%v", why)
		}
	}()
	values = make([]uint32, len(row.Base))
	s := &pageDecoder{b: row.Bits}
	s.codedRow(t, parts, row.Mask, row.past(t.probe), values)
	s.expectEnd()
	return values, nil
}

// past returns the row's past for the decoder of CODEC.md.
func (row *codeRow) past(m *probe) *pagePast {
	past := &pagePast{base: row.Base, older: row.Older}
	if row.Older != nil {
		past.r = m.ratio(int64(row.Age), int64(row.Gap))
	}
	if a := row.Anchor; a != nil {
		past.anchor, past.anchored = &[3][]uint32{a.Now, a.Base, a.Older}, a.Component
	}
	return past
}

// The package and the decoder of CODEC.md read all rows of the vectors as expected.
func TestRowVectors(t *testing.T) {
	files, schemas := tableFiles(), rowSchemas(t)
	rejected := 0
	for _, c := range readRowCases(t) {
		s := schemas[c.Case]
		require.NotNil(t, s, c.Case)
		require.Equal(t, s.Text(), c.Schema, "%s: regenerate with -vectors.update", c.Case)
		require.Equal(t, fmt.Sprintf("%016x", s.Hash()), c.Hash)
		tables := must.Get(rowcodec.ParseTables(files[c.Tables]))
		require.Equal(t, fmt.Sprintf("%08x", tables.Version()), c.Version)
		codec, page := rowcodec.New(s, tables), readTables(files[c.Tables])
		components := parseSchemaText(t, c.Schema)
		for i, row := range c.Rows {
			values, err := row.readWithPackage(codec)
			paged, pageErr := row.read(&page, codecParts(components, row.Owned))
			line := fmt.Sprintf("line %d, %s", c.first+i, c.Case)
			if row.Error != "" {
				rejected++
				require.Equal(t, row.Error, wire.CodeOf(err).String(), line)
				require.EqualError(t, pageErr, row.About, line)
				continue
			}
			require.NoError(t, err, line)
			require.Equal(t, row.Values, values, line)
			require.NoError(t, pageErr, line)
			require.Equal(t, row.Values, paged, line)
		}
	}
	require.Greater(t, rejected, 20)
}
