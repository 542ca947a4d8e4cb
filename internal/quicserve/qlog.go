package quicserve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
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
	// MaxQlog and maxQlogBytes bound one recording: a session with 60 snapshots a
	// second writes about 100 KB a second.
	MaxQlog      = 5 * time.Minute
	maxQlogBytes = 32 << 20
	// maxQlogs bounds concurrent recordings. maxQlogFiles bounds the files in the folder, so
	// that a runaway script of the operator cannot fill the disk.
	maxQlogs     = 8
	maxQlogFiles = 64
)

// qlogs records the transport of single sessions on request, in qlog format. Without a folder
// connections have no trace, since even an idle trace costs some allocations per packet.
type qlogs struct {
	folder  string
	running atomic.Int32
}

// trace receives the transport's events of a connection, and discards them unless a
// recording runs.
type trace struct {
	id        quic.ConnectionID
	mu        sync.RWMutex
	recording qlogwriter.Recorder
	cancel    func() // frees the recording's slot
}

// AddProducer implements qlogwriter.Trace.
func (t *trace) AddProducer() qlogwriter.Recorder { return t }

// SupportsSchemas implements qlogwriter.Trace: QUIC's own events only.
func (t *trace) SupportsSchemas(schema string) bool { return schema == qlog.EventSchema }

// RecordEvent implements qlogwriter.Recorder.
func (t *trace) RecordEvent(e qlogwriter.Event) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.recording != nil {
		t.recording.RecordEvent(e)
	}
}

// Close ends the recording with its connection.
func (t *trace) Close() error {
	t.stop()
	return nil
}

// stop ends the recording, if one runs.
func (t *trace) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.recording != nil {
		_ = t.recording.Close() // always nil
		t.recording = nil
		t.cancel()
	}
}

// tracer returns quic.Config's Tracer, which adds a trace to each attempt; nil without a
// folder.
func (q *qlogs) tracer() func(context.Context, bool, quic.ConnectionID) qlogwriter.Trace {
	if q.folder == "" {
		return nil
	}
	return func(ctx context.Context, _ bool, id quic.ConnectionID) qlogwriter.Trace {
		a := attemptOf(ctx)
		if a == nil {
			return nil
		}
		a.trace = &trace{id: id}
		return a.trace
	}
}

// Errors of Record.
var (
	ErrQlogRuns     = errors.New("the session is already being recorded")
	ErrTooManyQlogs = fmt.Errorf("%d recordings already run, or the folder holds %d files: remove some", maxQlogs, maxQlogFiles)
)

// record writes t's events to a new file for length, or until the connection ends, and
// returns the file's name.
func (q *qlogs) record(t *trace, session uint64, length time.Duration) (string, error) {
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
	sink := qlogwriter.NewConnectionFileSeq(newBoundedFile(file, maxQlogBytes), false, t.id, []string{qlog.EventSchema})
	go sink.Run() // until its only producer is closed
	t.recording = sink.AddProducer()
	timer := time.AfterFunc(length, t.stop)
	t.cancel = func() {
		timer.Stop()
		q.running.Add(-1)
	}
	return name, nil
}

// errSlowQlog ends a recording rather than blocking its session.
var errSlowQlog = errors.New("the disk is too slow for the qlog")

// queuedRecords bounds the records that wait for the disk: some seconds of a session.
const queuedRecords = 1024

// boundedFile writes whole records up to its limit from its own goroutine, and discards the
// rest. Neither Write nor Close waits for the disk: the transport of the recorded session would
// wait too.
type boundedFile struct {
	record []byte // the record so far
	left   int
	full   bool
	queue  chan []byte
	done   chan struct{} // closed when the file is

	mu  sync.Mutex
	err error // of the file
}

func newBoundedFile(file io.WriteCloser, bytes int) *boundedFile {
	b := &boundedFile{left: bytes, queue: make(chan []byte, queuedRecords), done: make(chan struct{})}
	go b.drain(file)
	return b
}

// drain writes queued records until the first error.
func (b *boundedFile) drain(file io.WriteCloser) {
	defer close(b.done)
	buffer := bufio.NewWriter(file)
	for record := range b.queue {
		_, err := buffer.Write(record) // a bufio.Writer repeats its first error
		b.note(err)
	}
	b.note(errors.Join(buffer.Flush(), file.Close()))
}

func (b *boundedFile) note(err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
	return b.err
}

// Write writes part of a record. The separator before a record is a separate write. The error
// is an earlier record's.
func (b *boundedFile) Write(p []byte) (int, error) {
	if len(p) == 1 && p[0] == qlogwriter.RecordSeparator {
		b.flush()
		b.full = b.left <= 0
	}
	if !b.full {
		b.left -= len(p)
		b.record = append(b.record, p...)
	}
	return len(p), b.note(nil)
}

// flush queues the record that was written.
func (b *boundedFile) flush() {
	if len(b.record) == 0 {
		return
	}
	select {
	case b.queue <- b.record:
	default:
		_ = b.note(errSlowQlog) // the next Write returns it
	}
	b.record = nil
}

// Close ends the file, in the background.
func (b *boundedFile) Close() error {
	b.flush()
	close(b.queue)
	return nil
}

// Records reports whether recording is on.
func (l *Listener) Records() bool { return l.qlogs.folder != "" }

// Record records the transport of a session's connection to a new file for length, at
// most MaxQlog, or until it ends, and returns the file's name. The error is ErrQlogRuns,
// ErrTooManyQlogs, or one of the file system.
func (l *Listener) Record(c *Conn, session uint64, length time.Duration) (string, error) {
	a := attemptOf(c.conn.Context())
	return l.qlogs.record(a.trace, session, length)
}
