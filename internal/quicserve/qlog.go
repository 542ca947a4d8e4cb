package quicserve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
)

const (
	// MaxQlog and maxQlogBytes bound one recording: a session of 60 snapshots
	// a second writes about 100 KB a second.
	MaxQlog      = 5 * time.Minute
	maxQlogBytes = 32 << 20
	// maxQlogs bounds the recordings that run at once, and maxQlogFiles those that
	// lie in the folder: an operator's script that runs wild fills no disk.
	maxQlogs     = 8
	maxQlogFiles = 64
)

// qlogs records what the transport of single sessions does, when asked, for
// tools that read qlog. Without a folder no connection is traced at all: being
// ready for it costs each packet some allocations.
type qlogs struct {
	folder  string
	running atomic.Int32
}

// tape is what the transport tells a connection's events to. It forgets them
// unless somebody records.
type tape struct {
	id        quic.ConnectionID
	mu        sync.RWMutex
	recording qlogwriter.Recorder
	cancel    func() // ends the recording
}

// AddProducer and SupportsSchemas make it a qlogwriter.Trace.
func (t *tape) AddProducer() qlogwriter.Recorder { return t }

// SupportsSchemas says that QUIC's own events are understood.
func (t *tape) SupportsSchemas(schema string) bool { return schema == qlog.EventSchema }

// RecordEvent is called for everything that happens to a packet.
func (t *tape) RecordEvent(e qlogwriter.Event) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.recording != nil {
		t.recording.RecordEvent(e)
	}
}

// Close is called when the connection is over.
func (t *tape) Close() error {
	t.stop()
	return nil
}

func (t *tape) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.recording != nil {
		_ = t.recording.Close() // it has no errors
		t.recording = nil
		t.cancel()
	}
}

// tracer is quic.Config's: it puts a tape into each connection, to be found by its
// guest.
func (q *qlogs) tracer() func(context.Context, bool, quic.ConnectionID) qlogwriter.Trace {
	if q.folder == "" {
		return nil
	}
	return func(ctx context.Context, _ bool, id quic.ConnectionID) qlogwriter.Trace {
		g, ok := ctx.Value(guestKey{}).(*guest)
		if !ok {
			return nil
		}
		g.tape = &tape{id: id}
		return g.tape
	}
}

// Why Record refuses.
var (
	ErrQlogRuns     = errors.New("this session is being recorded already")
	ErrTooManyQlogs = fmt.Errorf("%d recordings run already, or the folder has %d files: remove some", maxQlogs, maxQlogFiles)
)

// record writes what happens to a connection into a new file for so long, or until
// it ends, and returns the file's name.
func (q *qlogs) record(t *tape, session uint64, length time.Duration) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.recording != nil {
		return "", ErrQlogRuns
	}
	if files, err := filepath.Glob(filepath.Join(q.folder, "*.sqlog")); err != nil || len(files) >= maxQlogFiles {
		return "", errors.Join(ErrTooManyQlogs, err)
	}
	if q.running.Add(1) > maxQlogs {
		q.running.Add(-1)
		return "", ErrTooManyQlogs
	}
	name := filepath.Join(q.folder, fmt.Sprintf("session-%d-%s.sqlog", session, time.Now().UTC().Format("20060102T150405.000")))
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		q.running.Add(-1)
		return "", err
	}
	trace := qlogwriter.NewConnectionFileSeq(boundedFileOf(file, maxQlogBytes), false, t.id, []string{qlog.EventSchema})
	go trace.Run() // until its only producer is closed
	t.recording = trace.AddProducer()
	over := time.AfterFunc(length, t.stop)
	t.cancel = func() {
		over.Stop()
		q.running.Add(-1)
	}
	return name, nil
}

// boundedFile takes whole records until there is no room for more, and swallows
// the rest.
type boundedFile struct {
	file   *os.File
	buffer *bufio.Writer
	left   int
	full   bool
}

func boundedFileOf(file *os.File, bytes int) *boundedFile {
	return &boundedFile{file: file, buffer: bufio.NewWriter(file), left: bytes}
}

// Write takes part of a record, which begins with a separator of its own.
func (b *boundedFile) Write(p []byte) (int, error) {
	if len(p) == 1 && p[0] == qlogwriter.RecordSeparator && b.left <= 0 {
		b.full = true
	}
	if b.full {
		return len(p), nil
	}
	b.left -= len(p)
	return b.buffer.Write(p)
}

// Close writes what is left.
func (b *boundedFile) Close() error { return errors.Join(b.buffer.Flush(), b.file.Close()) }

// Records reports whether recordings can be made at all.
func (l *Listener) Records() bool { return l.qlogs.folder != "" }

// Record writes what happens to the connection of a session into a new file for so long,
// at most MaxQlog, or until it ends, and returns the file's name. It returns ErrQlogRuns
// or ErrTooManyQlogs if there is no room for it.
func (l *Listener) Record(c *Conn, session uint64, length time.Duration) (string, error) {
	g, _ := c.conn.Context().Value(guestKey{}).(*guest)
	return l.qlogs.record(g.tape, session, length)
}
