package host

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"

	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/regularfile"
)

// queuedSteps bounds the recorded steps waiting for the disk: some seconds of a busy
// world.
const queuedSteps = 1024

// errSlowDisk ends a recording rather than blocking the tick.
var errSlowDisk = errors.New("the disk is too slow for the recording")

// recordFile writes a recording to a file from its own goroutine. The first error is
// logged when it happens: the server may continue for days without a recording.
type recordFile struct {
	path  string
	log   *zap.Logger
	queue chan []byte
	done  sync.WaitGroup

	mu  sync.Mutex
	err error // of the file
}

func createRecord(path string, log *zap.Logger) (*recordFile, error) {
	file, err := regularfile.Create(path)
	if err != nil {
		return nil, fmt.Errorf("cannot create the recording: %w", err)
	}
	return newRecordFile(file, path, log), nil
}

func newRecordFile(file io.WriteCloser, path string, log *zap.Logger) *recordFile {
	r := &recordFile{path: path, log: log, queue: make(chan []byte, queuedSteps)}
	r.done.Go(func() { r.drain(file) })
	return r
}

// drain writes queued data. It flushes whenever the queue is empty, to lose little if
// the process is killed.
func (r *recordFile) drain(file io.WriteCloser) {
	to := bufio.NewWriterSize(file, 1<<20)
	for b := range r.queue {
		_, err := to.Write(b)
		if err == nil && len(r.queue) == 0 {
			err = to.Flush()
		}
		r.note(err)
	}
	r.note(errors.Join(to.Flush(), file.Close()))
}

func (r *recordFile) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil && err != nil {
		r.err = err
		r.log.Error("the recording ended", zap.String("path", r.path), zap.Error(err))
	}
}

func (r *recordFile) fault() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Write queues a copy. Its error is an earlier write's, or errSlowDisk.
func (r *recordFile) Write(b []byte) (int, error) {
	if err := r.fault(); err != nil {
		return 0, err
	}
	select {
	case r.queue <- append([]byte(nil), b...):
		return len(b), nil
	default:
		r.note(errSlowDisk)
		return 0, errSlowDisk
	}
}

// Close waits for the disk.
func (r *recordFile) Close() error {
	close(r.queue)
	r.done.Wait()
	return r.fault()
}
