package host

import (
	"bufio"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"go.uber.org/zap"

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

func (f *recordFlags) checkFlags() error {
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

// recordFile writes a recording to a recordDisk from its own goroutine. It logs the first error
// at once: the server may continue for days without a recording.
type recordFile struct {
	path  string
	log   *zap.Logger
	queue chan []byte // a nil element ends the head of the recording
	done  sync.WaitGroup

	mu  sync.Mutex
	err error // of the disk
}

// beginRecording records g to the file at path up to limit bytes, 0 for no limit, and returns
// the function that ends the recording. If recording fails, it logs the error, and g runs
// without a recording.
func beginRecording(g *Instance, path string, limit int64, log *zap.Logger) (end func()) {
	file, err := createRecord(path, log)
	if err != nil {
		log.Error("the world is not recorded", zap.String("path", path), zap.Error(err))
		return func() {}
	}
	recorder, err := g.recordWorld(file, limit)
	return func() {
		if err == nil {
			err = recorder.Close()
		}
		if closed := file.Close(); closed == nil && err != nil { // otherwise drainTo has logged the error
			log.Error("the recording ended", zap.String("path", path), zap.Error(err))
		}
	}
}

func createRecord(path string, log *zap.Logger) (*recordFile, error) {
	disk, err := createRecordDisk(path)
	if err != nil {
		return nil, fmt.Errorf("cannot create the recording: %w", err)
	}
	return newRecordFile(disk, path, log), nil
}

func newRecordFile(disk *recordDisk, path string, log *zap.Logger) *recordFile {
	r := &recordFile{path: path, log: log, queue: make(chan []byte, queuedSteps)}
	r.done.Go(func() { r.drainTo(disk) })
	return r
}

// drainTo writes queued data until the first error. It flushes whenever the queue is empty, so
// that little is lost if the process is killed.
func (r *recordFile) drainTo(disk *recordDisk) {
	defer r.endPanic()
	to := bufio.NewWriterSize(disk, 1<<20)
	for b := range r.queue {
		if r.firstFault() != nil {
			continue
		}
		_, err := to.Write(b)
		if err == nil && (b == nil || len(r.queue) == 0) {
			err = to.Flush()
		}
		if err == nil && b == nil {
			err = disk.publishFile()
		}
		r.noteFault(err)
	}
	if r.firstFault() == nil {
		r.noteFault(to.Flush())
	}
	r.noteFault(disk.closeFile())
}

// endPanic ends the recording after a panic, but not the process: no crash loop would count it, and the world does not need
// its recording.
func (r *recordFile) endPanic() {
	value := recover()
	if value == nil {
		return
	}
	r.noteFault(fmt.Errorf("the writer of the recording panicked: %v\n%s", value, debug.Stack()))
	for range r.queue { // until Close
	}
}

func (r *recordFile) noteFault(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil && err != nil {
		r.err = err
		r.log.Error("the recording ended", zap.String("path", r.path), zap.Error(err))
	}
}

func (r *recordFile) firstFault() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// recordWorld starts recording the game to to, which stays open. limit is in bytes, 0 for none.
func (g *Instance) recordWorld(to *recordFile, limit int64) (*world.Recorder, error) {
	var img world.Image
	g.takeImage(&img)
	r, err := g.World.Record(to, &img, recordedHashTicks)
	if err != nil {
		return nil, err
	}
	to.endHead()
	r.EndAt(limit, func() {
		to.log.Warn("the recording is complete: it has reached --record-mb", zap.String("path", to.path), zap.Uint64("tick", g.World.Tick()))
	})
	return r, nil
}

// Write queues a copy. It returns an earlier write's error, or errSlowDisk.
func (r *recordFile) Write(b []byte) (int, error) {
	if err := r.firstFault(); err != nil {
		return 0, err
	}
	return len(b), r.enqueueBytes(append([]byte{}, b...))
}

// endHead tells the disk's goroutine that the head of the recording, with its image, is
// complete.
func (r *recordFile) endHead() { _ = r.enqueueBytes(nil) } // the next Write returns the error

func (r *recordFile) enqueueBytes(b []byte) error {
	select {
	case r.queue <- b:
		return nil
	default:
		r.noteFault(errSlowDisk)
		return errSlowDisk
	}
}

// Close waits for the disk.
func (r *recordFile) Close() error {
	close(r.queue)
	r.done.Wait()
	return r.firstFault()
}
