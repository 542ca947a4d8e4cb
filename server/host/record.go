package host

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/regularfile"
	"github.com/worldd/worldd/world"
)

const (
	defaultRecordMB    = 256
	maxRecordMB        = 1e9 // far below what int64 holds in bytes
	defaultRecordRooms = 1000
)

// recordFlags configure recordings.
type recordFlags struct {
	Record      string `type:"path" placeholder:"FILE" help:"Record the world for ${name} replay. The previous recording is kept as FILE.old-1. For games with rooms: a folder, with a file for each room."`
	RecordMB    *int   `name:"record-mb" placeholder:"N" help:"End a recording at N megabytes; 0 for no limit (256; needs --record)."`
	RecordRooms int    `placeholder:"N" help:"Maximum number of recorded rooms of a kind, ended ones included (1000; needs --record, for games with rooms)."`
}

func (f *recordFlags) validate() error {
	switch {
	case f.RecordMB != nil && (*f.RecordMB < 0 || *f.RecordMB > maxRecordMB):
		return fmt.Errorf("--record-mb is %d, want 1 to %d, or 0 for no limit", *f.RecordMB, int(maxRecordMB))
	case f.RecordRooms < 0:
		return fmt.Errorf("--record-rooms is %d, want more than 0, or 0 for %d", f.RecordRooms, defaultRecordRooms)
	case f.Record == "" && (f.RecordMB != nil || f.RecordRooms > 0):
		return errors.New("--record-mb and --record-rooms need --record FILE, where the world is recorded")
	}
	return nil
}

// maxBytes returns the limit of each recording; 0: none.
func (f *recordFlags) maxBytes() int64 {
	if f.RecordMB == nil {
		return defaultRecordMB * 1e6
	}
	return int64(*f.RecordMB) * 1e6
}

// recordedHashTicks is the interval of hashes in a recording: differences are located
// to the second, and most ticks cost nothing.
const recordedHashTicks = 60

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

// keepPrevious renames the recording at path, if there is one, and reports whether it did. The
// recording of a server that failed survives its restart.
func keepPrevious(path string) (kept bool, err error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || !info.Mode().IsRegular() {
		return false, err // createRecord follows links and refuses the others
	}
	return true, os.Rename(path, path+".old-1")
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

// record starts recording the game to to, which stays open, up to limit bytes if it is not 0.
func (g *Game) record(to *recordFile, limit int64) (*world.Recorder, error) {
	var img world.Image
	if err := g.TakeImage(&img); err != nil {
		return nil, err
	}
	r, err := g.World.Record(to, &img, recordedHashTicks)
	if err != nil {
		return nil, err
	}
	r.EndAt(limit, func() {
		to.log.Warn("the recording is complete: it has reached --record-mb", zap.String("path", to.path), zap.Uint64("tick", g.World.Tick()))
	})
	return r, nil
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
