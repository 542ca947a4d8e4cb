package quicserve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
	"github.com/stretchr/testify/require"
)

// What is recorded is bounded, in whole records.
func TestQlogFileIsBounded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "q")
	file, err := os.Create(name)
	require.NoError(t, err)
	b := boundedFileOf(file, 100)
	for range 50 {
		for _, part := range []string{string(qlogwriter.RecordSeparator), `{"a":`, `"bcdefg"}`} {
			n, err := b.Write([]byte(part))
			require.NoError(t, err)
			require.Len(t, part, n)
		}
	}
	require.NoError(t, b.Close())
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("\x1e"+`{"a":"bcdefg"}`, 7), string(text), "the record that fills it is whole")
}

// Recordings at once and files in the folder are bounded, and ends make room.
func TestQlogsAreBounded(t *testing.T) {
	q := qlogs{folder: t.TempDir()}
	var tapes []*tape
	for i := range maxQlogs {
		tapes = append(tapes, &tape{})
		_, err := q.record(tapes[i], uint64(i), time.Hour)
		require.NoError(t, err)
		tapes[i].RecordEvent(qlog.DatagramDropped{})
	}
	_, err := q.record(&tape{}, 100, time.Hour)
	require.ErrorIs(t, err, ErrTooManyQlogs)
	for _, one := range tapes {
		require.NoError(t, one.Close())
	}
	for i := range maxQlogFiles - maxQlogs {
		last := &tape{}
		_, err := q.record(last, uint64(1000+i), time.Hour)
		require.NoError(t, err)
		last.stop()
		last.RecordEvent(qlog.DatagramDropped{}) // which nobody hears
		last.stop()
	}
	_, err = q.record(&tape{}, 5000, time.Hour)
	require.ErrorIs(t, err, ErrTooManyQlogs)
	files, err := os.ReadDir(q.folder)
	require.NoError(t, err)
	require.Len(t, files, maxQlogFiles)
	require.Zero(t, q.running.Load())

	// A file that cannot be made leaves nothing running.
	q.folder = filepath.Join(q.folder, "missing")
	_, err = q.record(&tape{}, 1, time.Hour)
	require.Error(t, err)
	require.Zero(t, q.running.Load())
}
