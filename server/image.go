package server

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/world"
)

// ImageConfig says where and how often a server saves its world: before the first
// tick, so that a path that cannot be written to is found at once; then at
// intervals, beside the ticks; and when it ends. A full disk does not keep a server
// from starting: the failure is logged and counted, the images on the disk stay, and
// the next save may find room. To start from an image, load it from the Store before
// Listen and pass it to world.World.RestoreRun. The entities that sessions
// controlled are in the image, and none of those sessions comes back: the game has
// to destroy them.
type ImageConfig struct {
	// Store is where the world is saved; nil: it is not saved. The caller opens it,
	// and closes it after Serve.
	Store *imagefile.Store
	// Every is the time from one save to the next. Default 30 s. What happened
	// since the last save is lost when the process is killed. A new run skips
	// world.RunGenerations generations, which is enough for hours: at most one.
	Every time.Duration
	// Take takes the image, on the goroutine that owns the world, with what the
	// game keeps outside the world as its Extra. nil is world.TakeImage.
	Take func(*world.Image) error
}

const (
	defaultImageEvery = 30 * time.Second
	// maxImageEvery is well below the time in which a slot could use up
	// RunGenerations: 2.4 hours at 60 ticks a second.
	maxImageEvery = time.Hour
)

func (c ImageConfig) validate() error {
	switch {
	case c.Every < 0 || c.Every > maxImageEvery:
		return fmt.Errorf("server: an image every %v: want at most %v, or 0 for %v", c.Every, maxImageEvery, defaultImageEvery)
	case c.Store == nil && (c.Every != 0 || c.Take != nil):
		return errors.New("server: images without a Store")
	}
	return nil
}

// saver saves the world. Its methods belong to the goroutine that ticks; one
// save at a time runs beside it.
type saver struct {
	config ImageConfig
	world  *world.World
	log    *zap.Logger
	due    time.Time
	image  world.Image
	ready  bool // the image is prepared
	saving sync.WaitGroup
	idle   chan struct{} // holds a token while no save is under way
	own    os.FileInfo   // the file as it was saved last; it belongs to the save

	mu     sync.Mutex
	images Images
}

func newSaver(c ImageConfig, w *world.World, log *zap.Logger) *saver {
	if c.Every == 0 {
		c.Every = defaultImageEvery
	}
	if c.Take == nil {
		c.Take = func(img *world.Image) error {
			w.TakeImage(img)
			return nil
		}
	}
	s := &saver{config: c, world: w, log: log, idle: make(chan struct{}, 1)}
	s.idle <- struct{}{}
	return s
}

// begin saves for the first time.
func (s *saver) begin() error {
	if s.config.Store == nil {
		return nil
	}
	s.due = time.Now().Add(s.config.Every)
	s.sweep()
	err := s.saveNow()
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return nil // a world that nobody can enter would be the greater loss
	}
	return err
}

// afterTick saves if it is time: a part of the world is copied after each of
// some ticks, and the rest at once. A save that takes longer than the interval is
// waited for: the next is late.
func (s *saver) afterTick(now time.Time) {
	if s.config.Store == nil || now.Before(s.due) {
		return
	}
	select {
	case <-s.idle:
	default:
		return
	}
	if !s.ready {
		s.ready = s.world.PrepareImage(&s.image)
		s.block(time.Since(now))
		s.idle <- struct{}{}
		return
	}
	s.ready, s.due = false, now.Add(s.config.Every)
	err := s.config.Take(&s.image)
	s.block(time.Since(now))
	if err != nil {
		s.saved(now, err)
		s.idle <- struct{}{}
		return
	}
	s.saving.Go(func() {
		s.saved(now, s.save())
		s.idle <- struct{}{}
	})
}

// block notes how long a tick was kept waiting.
func (s *saver) block(d time.Duration) {
	s.mu.Lock()
	s.images.Blocked = max(s.images.Blocked, d)
	s.mu.Unlock()
}

// end waits for the save under way, and saves for the last time.
func (s *saver) end() error {
	if s.config.Store == nil {
		return nil
	}
	s.saving.Wait()
	return s.saveNow()
}

func (s *saver) saveNow() error {
	began := time.Now()
	err := s.config.Take(&s.image)
	if err == nil {
		err = s.save()
	}
	s.saved(began, err)
	if err != nil {
		return fmt.Errorf("server: the world can't be saved: %w", err)
	}
	return nil
}

// sweep removes what killed saves left.
func (s *saver) sweep() {
	left, err := s.config.Store.Sweep()
	for _, path := range left {
		s.log.Info("removing what a killed save left", zap.String("path", path))
	}
	if err != nil {
		s.log.Warn("what a killed save left cannot be removed", zap.Error(err))
	}
}

// save writes the image. It warns if the newest one on the disk is not the one that
// it wrote: two servers that save to one file undo each other's work.
func (s *saver) save() error {
	path := s.config.Store.Path()
	if s.own != nil {
		found, err := os.Stat(path)
		if err != nil || !os.SameFile(found, s.own) || !found.ModTime().Equal(s.own.ModTime()) {
			s.log.Warn("the image on the disk was replaced or removed since it was saved, and is written over: give each server a file of its own",
				zap.String("path", path))
		}
	}
	err := s.config.Store.Save(&s.image)
	if err == nil {
		s.own, _ = os.Stat(path)
	}
	return err
}

// saved counts a save that began then, and says if it failed.
func (s *saver) saved(began time.Time, err error) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.images.Took = max(s.images.Took, now.Sub(began))
	if err != nil {
		s.images.Failed++
		last := zap.Skip() // what was saved by an earlier run is the operator's
		if s.images.Saved > 0 {
			last = zap.Time("last saved", s.images.LastSaved)
		}
		s.log.Error("the world was not saved", zap.String("path", s.config.Store.Path()), zap.Error(err), last)
		return
	}
	s.images.Saved++
	s.images.LastSaved = now
}

func (s *saver) report() Images {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.images
}
