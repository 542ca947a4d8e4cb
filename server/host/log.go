package host

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/worldd/worldd/internal/commandline"
)

// newLog logs readable lines to a terminal and JSON to other outputs. The server samples its lines, so that
// frequent messages do not fill the disk, and keeps the audit trail. If the reader of w stops, as a paused pager does,
// logging never blocks.
func newLog(w io.Writer, level zapcore.Level) *zap.Logger {
	config := zap.NewProductionEncoderConfig()
	config.EncodeTime = zapcore.ISO8601TimeEncoder
	encoder := zapcore.NewJSONEncoder(config)
	if commandline.IsTerminal(w) {
		encoder = zapcore.NewConsoleEncoder(config)
	}
	out := zapcore.Lock(zapcore.AddSync(w))
	if canBlock(w) {
		out = newLogQueue(w, encoder)
	}
	return zap.New(zapcore.NewCore(encoder, out, level))
}

// logLibraries redirects the standard log to l, sampled, until the returned function is called. quic-go,
// for example, reports a small receive buffer there.
func logLibraries(l *zap.Logger) (restore func()) {
	const firstPerSecond, thenEach = 100, 100
	l = l.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, time.Second, firstPerSecond, thenEach)
	}))
	restore, err := zap.RedirectStdLogAt(l, zapcore.WarnLevel)
	if err != nil {
		panic(err) // the level is valid
	}
	return restore
}

// canBlock reports whether a write to w waits for a reader: w is a pipe, a socket or a
// terminal.
func canBlock(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket|os.ModeCharDevice) != 0
}

const (
	maxQueuedLog = 1 << 20         // bytes
	logSyncTime  = 2 * time.Second // the most that Sync waits for the reader
)

// A logQueue passes a log to a reader that may stop: its own goroutine writes. It drops lines
// for which it has no space, and writes a line with their number when the reader continues.
type logQueue struct {
	w       io.Writer
	encoder zapcore.Encoder

	mu      sync.Mutex
	lines   []byte
	dropped int
	writing bool
	written sync.Cond // signalled when writing ends
}

func newLogQueue(w io.Writer, e zapcore.Encoder) *logQueue {
	q := &logQueue{w: w, encoder: e}
	q.written.L = &q.mu
	return q
}

// Write queues whole lines. It never blocks and never fails.
func (q *logQueue) Write(lines []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.lines)+len(lines) > maxQueuedLog {
		q.dropped++
		return len(lines), nil
	}
	q.lines = append(q.lines, lines...)
	if !q.writing {
		q.writing = true
		go q.writeLines()
	}
	return len(lines), nil
}

// writeLines writes until the queue is empty. A failed write loses its lines: there is no other
// place to report the failure.
func (q *logQueue) writeLines() {
	q.mu.Lock()
	defer q.mu.Unlock()
	var spare []byte
	for len(q.lines) > 0 {
		lines := q.lines
		if q.dropped > 0 {
			lines = append(lines, q.encodeDropped()...)
		}
		q.lines, q.dropped = spare[:0], 0
		q.mu.Unlock()
		_, _ = q.w.Write(lines)
		q.mu.Lock()
		spare = lines
	}
	q.writing = false
	q.written.Broadcast()
}

// encodeDropped returns the line with the number of dropped lines.
func (q *logQueue) encodeDropped() []byte {
	entry := zapcore.Entry{Level: zapcore.WarnLevel, Time: time.Now(), Message: "log lines were dropped: nobody read them in time"}
	line, err := q.encoder.EncodeEntry(entry, []zapcore.Field{zap.Int("lines", q.dropped)})
	if err != nil {
		return nil
	}
	defer line.Free()
	return append([]byte(nil), line.Bytes()...)
}

// Sync waits until all lines are written, but no longer than logSyncTime.
func (q *logQueue) Sync() error {
	var late bool
	timer := time.AfterFunc(logSyncTime, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		late = true
		q.written.Broadcast()
	})
	defer timer.Stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.writing && !late {
		q.written.Wait()
	}
	if q.writing {
		return errors.New("log lines are lost: nobody reads them")
	}
	return nil
}
