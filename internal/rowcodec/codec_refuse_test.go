package rowcodec

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// charge has 131 numbers: 8 bits in full, and residuals of at most 65.
type charge struct {
	Now float32 `net:"range=0..130,step=1"`
}

func TestCodecRejectsNumbersOutOfRange(t *testing.T) {
	s := schema.New()
	schema.Define[charge](s, "charge")
	require.NoError(t, s.Err())
	c := New(s, DefaultTables())
	past := &Past{Base: []uint32{100}, Age: 1}
	var f prediction
	c.predict(&c.parts[0], past, &f)
	head := c.parts[0].groups[0].heads[f.context]
	f.expectNumbers(&c.parts[0].units[0], past)
	residual := f.residuals[0].codes[f.residuals[0].scale(f.missed)]
	read := func(write func(w *bitio.Writer)) (uint32, error) {
		var w bitio.Writer
		head.write(&w, 1, 0, 0)
		write(&w)
		var r bitio.Reader
		r.Reset(w.Bytes())
		row := rowschema.Row{Mask: 1, Values: make([]uint32, 1)}
		err := c.Read(&r, &row, past)
		return row.Values[0], err
	}
	whole := func(n uint64) func(w *bitio.Writer) {
		return func(w *bitio.Writer) { residual.write(w, symbolEscape, n, 8) }
	}
	by := func(m, sign uint64) func(w *bitio.Writer) {
		return func(w *bitio.Writer) {
			symbol, low := bucket(m)
			residual.write(w, symbol, m&(1<<low-1)|sign<<low, low+1)
		}
	}
	refused := &wire.Error{Code: wire.BadMessage}
	for name, c := range map[string]struct {
		write func(w *bitio.Writer)
		want  uint32
		ok    bool
	}{
		"largest number":       {whole(130), 130, true},
		"above the largest":    {whole(131), 0, false},
		"up":                   {by(30, 0), 130, true},
		"up and around":        {by(31, 0), 0, true},
		"down":                 {by(65, 1), 35, true},
		"beyond half the ring": {by(66, 1), 0, false},
		"beyond the ring":      {by(1000, 0), 0, false},
	} {
		got, err := read(c.write)
		if !c.ok {
			require.ErrorIs(t, err, refused, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
}
