package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/world"
)

// openImage opens the image that serve saves to, with its links resolved.
func openImage(path string, keep int, log *zap.Logger) (*imagefile.Store, error) {
	store, err := imagefile.Open(path, keep)
	if errors.Is(err, imagefile.ErrInUse) {
		return nil, fmt.Errorf("another server saves to the image %s: end that one first, or give each a file of its own (%w)", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("the image %s cannot be used: %w", path, err)
	}
	if why := store.Unlocked(); why != nil {
		log.Warn("the image is not locked: make sure that no other server saves to it", zap.String("path", store.Path()), zap.Error(why))
	}
	return store, nil
}

// restore brings the scene to its newest whole image, if there is one, and says on
// out which that is. Images that cannot be used are an error: a new world would
// replace what may still be rescued.
func restore(scene *scenes.Scene, store *imagefile.Store, out io.Writer, log *zap.Logger) error {
	found, err := store.Load(scene.World)
	if err == nil && found.Image == nil {
		return nil
	}
	if err == nil {
		err = scene.RestoreRun(found.Image)
	}
	away := fmt.Sprintf("move it away with its older copies (%s*) to begin a new world", store.Path())
	switch {
	case errors.Is(err, world.ErrImageWorld):
		return fmt.Errorf("the image cannot be restored: %w; serve the world file that it was made with, or %s", err, away)
	case errors.Is(err, world.ErrImageVersion):
		return fmt.Errorf("the image cannot be restored: %w; serve it with the worldd that saved it, or %s", err, away)
	case err != nil:
		return fmt.Errorf("the image cannot be restored: %w; put a copy of your own in its place, or %s", err, away)
	}
	if found.Generation > 0 {
		log.Error("an older image was restored, and what happened since it was saved is lost; damaged images were renamed to .damaged",
			zap.String("path", found.Path), zap.Int("generation", found.Generation), zap.Uint64("tick", found.Image.Tick()),
			zap.Time("saved", found.Saved), zap.Errors("damaged", found.Damaged))
	}
	fmt.Fprintf(out, "worldd: restored from %s: tick %d, %d entities\n", found.Path, scene.World.Tick(), scene.World.Stats().Entities)
	return nil
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
