package quicserve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// A recording is bounded and ends with a whole record.
func TestQlogFileIsBounded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "q")
	file := must.Get(os.Create(name))
	b := newBoundedFile(file, 100)
	for range 50 {
		for _, part := range []string{string(qlogwriter.RecordSeparator), `{"a":`, `"bcdefg"}`} {
			n := must.Get(b.Write([]byte(part)))
			require.Len(t, part, n)
		}
	}
	require.NoError(t, b.Close())
	<-b.done
	text := must.Get(os.ReadFile(name))
	require.Equal(t, strings.Repeat("\x1e"+`{"a":"bcdefg"}`, 7), string(text), "the record that fills it is whole")
}

// stuckDisk blocks each Write until it is closed.
type stuckDisk chan struct{}

func (d stuckDisk) Write(p []byte) (int, error) { <-d; return len(p), nil }
func (d stuckDisk) Close() error                { return nil }

// A disk that hangs ends the recording, and blocks neither the session nor its end.
func TestQlogToASlowDisk(t *testing.T) {
	disk := make(stuckDisk)
	file := newBoundedFile(disk, maxQlogBytes)
	sink := qlogwriter.NewConnectionFileSeq(file, false, quic.ConnectionID{}, []string{qlog.EventSchema})
	go sink.Run()
	one := &trace{recording: sink.AddProducer(), cancel: func() {}}
	for range 10 * queuedRecords {
		one.RecordEvent(qlog.DatagramDropped{})
	}
	require.NoError(t, one.Close())
	close(disk)
	<-file.done
	require.ErrorIs(t, file.note(nil), errSlowQlog)
}

// Concurrent recordings and files in the folder are bounded; an ended recording frees
// its slot.
func TestQlogsAreBounded(t *testing.T) {
	q := qlogs{folder: t.TempDir()}
	var traces []*trace
	for i := range maxQlogs {
		traces = append(traces, &trace{})
		must.Get(q.record(traces[i], uint64(i), time.Hour))
		traces[i].RecordEvent(qlog.DatagramDropped{})
	}
	require.ErrorIs(t, must.Fail(q.record(&trace{}, 100, time.Hour)), ErrTooManyQlogs)
	for _, one := range traces {
		require.NoError(t, one.Close())
	}
	for i := range maxQlogFiles - maxQlogs {
		last := &trace{}
		must.Get(q.record(last, uint64(1000+i), time.Hour))
		last.stop()
		last.RecordEvent(qlog.DatagramDropped{}) // discarded
		last.stop()
	}
	require.ErrorIs(t, must.Fail(q.record(&trace{}, 5000, time.Hour)), ErrTooManyQlogs)
	require.Len(t, must.Get(os.ReadDir(q.folder)), maxQlogFiles)
	require.Zero(t, q.running.Load())

	// A recording whose file cannot be created frees its slot.
	q.folder = filepath.Join(q.folder, "missing")
	must.Fail(q.record(&trace{}, 1, time.Hour))
	require.Zero(t, q.running.Load())
}
