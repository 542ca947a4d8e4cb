package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/gofrs/flock"
	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/world"
)

// restore brings the scene to where an image file left it, if there is one, and says so
// on out. A file that is there and cannot be used is an error: to begin anew would be to
// overwrite what somebody may still rescue.
func restore(scene *scenes.Scene, path string, out io.Writer) error {
	img, err := scene.World.LoadImage(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = scene.RestoreRun(img)
	}
	switch {
	case errors.Is(err, world.ErrImageWorld):
		return fmt.Errorf("the image %s cannot be restored: %w; serve the world file that it was made with, or move the image away to begin anew", path, err)
	case errors.Is(err, world.ErrImageVersion):
		return fmt.Errorf("the image %s cannot be restored: %w; serve it with the worldd that saved it, or move it away to begin anew", path, err)
	case err != nil:
		return fmt.Errorf("the image %s cannot be restored: %w; put an older copy in its place, or move it away to begin anew", path, err)
	}
	fmt.Fprintf(out, "worldd: restored from %s: tick %d, %d entities\n", path, scene.World.Tick(), scene.World.Stats().Entities)
	return nil
}

// lockImage keeps other servers from an image while this process lives: each would
// undo what the other has saved. What is locked is a file beside it, which stays there.
// Where there can be none (a disk that is full, or knows no locks) the server that
// saves still says when it finds the image replaced.
func lockImage(path string, log *zap.Logger) (unlock func(), err error) {
	lock := flock.New(path + ".lock")
	held, err := lock.TryLock()
	if err != nil {
		log.Warn("the image is not locked: mind that no other server saves to it", zap.String("path", path), zap.Error(err))
		return func() {}, nil
	}
	if !held {
		return nil, fmt.Errorf("another server saves to the image %s: end that one first, or give each a file of its own", path)
	}
	return func() { _ = lock.Unlock() }, nil // which the system does too, at the latest
}

// queuedSteps bounds the recorded steps that wait for the disk: some seconds of
// a busy world.
const queuedSteps = 1024

// errSlowDisk ends a recording, so that the tick never waits.
var errSlowDisk = errors.New("the disk is too slow for the recording")

// recordFile writes a recording to a file on a goroutine of its own. The first
// thing that goes wrong is logged, when it does: the server goes on without a
// recording, for days perhaps.
type recordFile struct {
	path  string
	log   *zap.Logger
	queue chan []byte
	done  sync.WaitGroup

	mu  sync.Mutex
	err error // of the file
}

func createRecord(path string, log *zap.Logger) (*recordFile, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("the recording cannot be made: %w", err)
	}
	r := &recordFile{path: path, log: log, queue: make(chan []byte, queuedSteps)}
	r.done.Go(func() { r.drain(file) })
	return r, nil
}

// drain writes what is queued. It flushes whenever nothing is, so that little is
// lost if the process is killed.
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

// Write queues a copy. The error is that of an earlier write, or errSlowDisk.
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
