package server

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/world"
)

// ImageConfig configures how a server saves its world: before the first tick, which detects an
// unwritable path at once, then periodically while ticks continue, and at the end. A full disk
// does not prevent the start: the failure is logged and counted, the images on the disk stay,
// and the next save may succeed.
//
// To start from an image, load it from the Store before Listen and pass it to
// world.World.RestoreRun. The image includes the entities that sessions controlled. The
// sessions are gone, so the game must destroy those entities.
type ImageConfig struct {
	// Store receives the images. If nil, the world is not saved. The caller opens it,
	// and closes it after Serve.
	Store *imagefile.Store
	// Every is the interval between saves, at most 1 h. Default 30 s. If the process is killed,
	// changes since the last save are lost. A new run skips world.RunGenerations generations of
	// handles, which cover hours. Older images are at least half of Every apart, so
	// that restarts in quick succession do not displace them.
	Every time.Duration
	// Journal says whether the ticks between two saves are written too, and when they are on the disk: see
	// imagefile.JournalMode. Without it a crash loses them. With JournalAlways what a client was told survives
	// a crash, at the cost of a sync for each tick before its output leaves; with JournalEverySecond a crash of the
	// process or the machine loses at most about a second.
	Journal imagefile.JournalMode
	// Extra appends the game's state outside the world, the Image.Extra of images, at most
	// world.MaxExtraBytes. It is called for each image, and with a journal after each tick: the journal gets
	// what has changed. nil: the game has none.
	Extra func(b []byte) []byte

	restored *restoredRun // set by Config.Restore; nil: a new run
	crash    *crashLoop   // set by Config.Restore; nil: the world has not panicked
	program  uint64       // identifies the executable; 0: the running one
}

const (
	defaultImageEvery = 30 * time.Second
	// maxImageEvery is well below 2.4 hours, the time in which a slot could exhaust
	// RunGenerations at 60 ticks a second.
	maxImageEvery = time.Hour
)

func (c ImageConfig) validate() error {
	switch {
	case c.Every < 0 || c.Every > maxImageEvery:
		return fmt.Errorf("server: image interval %v: want at most %v, or 0 for %v", c.Every, maxImageEvery, defaultImageEvery)
	case c.Store == nil && (c.Every != 0 || c.Extra != nil || c.Journal != imagefile.JournalOff):
		return errors.New("server: Image.Every, Extra or Journal is set without a Store")
	}
	return nil
}

// saver saves the world. Its methods run on the goroutine that ticks; at most one save runs
// concurrently.
type saver struct {
	config  ImageConfig
	world   *world.World
	log     *zap.Logger
	due     time.Time
	image   world.Image
	ready   bool // PrepareImage has finished
	saving  sync.WaitGroup
	idle    chan struct{} // holds a token while no save runs
	take    func(*world.Image) error
	unused  func() bool // reports that the world need not be saved yet; may be nil
	journal *journal    // nil: none
	crash   *crashLoop
	failed  atomic.Pointer[diskPanic] // of the goroutine that saves

	descriptors *descriptorReserve // of the process; may be nil
	trace       *tracer            // may be nil
	permit      *permit            // nil: the server has no cluster

	mu      sync.Mutex
	images  admin.Images
	unsaved bool   // the newest save has failed
	newest  uint64 // tick of the newest image that this run has saved; 0: none
}

func newSaver(c ImageConfig, w *world.World, log *zap.Logger) *saver {
	c.Every = cmp.Or(c.Every, defaultImageEvery)
	s := &saver{config: c, world: w, log: log, idle: make(chan struct{}, 1), crash: c.crash}
	if s.crash == nil {
		s.crash = &crashLoop{program: c.program}
		if c.Store != nil && c.program == 0 {
			s.crash.program = identifyAtStart()
		}
	}
	s.take = s.takeWorld
	s.idle <- struct{}{}
	return s
}

// mustNotSave reports whether no image is to be saved now.
func (s *saver) mustNotSave() bool { return s.nobodyEntered() || s.isHeld() }

// isHeld reports whether the disk must keep the images from which the world has panicked.
func (s *saver) isHeld() bool { return s.crash.holds(s.world.Tick()) }

// awaitsFirstImage reports whether a run without an image gets one soon, for which its output waits: a crash before it
// would deny what sessions were told. A run that is held gets none for long, and its next crash begins another run.
func (s *saver) awaitsFirstImage() bool { return !s.nobodyEntered() && !s.isHeld() }

// nobodyEntered reports whether there is no Store, or no session has entered the world yet.
func (s *saver) nobodyEntered() bool { return s.config.Store == nil || s.unused != nil && s.unused() }

// saveFirst makes the first save, or checks that it will be possible. A full disk is no error.
func (s *saver) saveFirst() error {
	if s.config.Store == nil {
		return nil
	}
	s.due = time.Now().Add(s.config.Every)
	s.removeTemporary()
	save := s.saveNow
	if s.mustNotSave() {
		save = s.checkStore
		if s.journal != nil || s.isHeld() {
			s.due = time.Now() // output waits for the first image once somebody has entered the world
		}
	}
	return exceptFull(save())
}

// continueSaving is saveFirst for a run that continues: its world is in the image and the journal, so the
// first ticks do not wait for a save.
func (s *saver) continueSaving() error {
	if s.config.Store == nil {
		return nil
	}
	s.due = time.Now()
	s.removeTemporary()
	return exceptFull(s.checkStore())
}

// checkStore checks that saves will be possible.
func (s *saver) checkStore() error {
	return errors.Join(s.config.Store.CheckWritable(), s.config.Store.BeginRun(s.world.Config().FirstGeneration))
}

// abandonRun gives the generations of a run back that nobody has entered: a room that clients ask for and do not enter
// would use up a range each time.
func (s *saver) abandonRun() {
	if s.config.Store == nil {
		return
	}
	if err := s.config.Store.AbandonRun(); err != nil {
		s.log.Warn("a run that nobody has entered keeps its generations", zap.Error(err))
	}
}

// exceptFull returns nil for a full disk: an unsaved world is better than an unavailable one.
func exceptFull(err error) error {
	if isFull(err) {
		return nil
	}
	return err
}

// isFull reports whether a save failed because a disk, a quota or a file size limit was
// reached. A world may outgrow a limit while the server runs.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// afterTick starts a save when one is due. It copies a part of the world after each of several
// ticks, and then the rest at once. A save longer than the interval delays the next one.
func (s *saver) afterTick(now time.Time) {
	s.raisePanic()
	if s.config.Store == nil || now.Before(s.due) && !s.journal.wantsImage() || s.mustNotSave() {
		return
	}
	select {
	case <-s.idle:
	default:
		return
	}
	if !s.ready {
		s.ready = s.world.PrepareImage(&s.image)
		s.recordBlocked(time.Since(now))
		s.idle <- struct{}{}
		return
	}
	s.ready, s.due = false, now.Add(s.config.Every)
	err := s.takeImage()
	s.recordBlocked(time.Since(now))
	if err != nil {
		s.recordSave(now, err)
		s.idle <- struct{}{}
		return
	}
	s.saving.Go(func() {
		defer s.keepPanic()
		_ = s.writeTaken(now) // which is logged
		s.idle <- struct{}{}
	})
}

// diskPanic is a panic while an image or the journal was written, on another goroutine or on the one that ticks. It ends the
// world on the latter.
type diskPanic struct {
	value any
	stack []byte
	where string // inSave or inJournal
}

// Error implements error.
func (p *diskPanic) Error() string { return fmt.Sprintf("%s%v\n\n%s", p.where, p.value, p.stack) }

// writeTaken writes the image that was taken in a save that began at began. Its panics are a *diskPanic.
func (s *saver) writeTaken(began time.Time) error {
	defer func() {
		if value := recover(); value != nil {
			panic(&diskPanic{value, debug.Stack(), inSave})
		}
	}()
	err := s.writeImage()
	s.recordSave(began, err)
	return err
}

// keepPanic is deferred around writeTaken on the goroutine that saves. After a panic no further save begins.
func (s *saver) keepPanic() {
	if value := recover(); value != nil {
		s.failed.Store(value.(*diskPanic))
	}
}

// raisePanic continues the panic of a save or of the journal.
func (s *saver) raisePanic() {
	s.journal.raisePanic()
	if p := s.failed.Load(); p != nil {
		panic(p)
	}
}

// takeImage takes an image, with which the next segment of the journal begins.
func (s *saver) takeImage() error {
	err := s.take(&s.image)
	if err == nil {
		s.journal.beginSegment()
	} else {
		s.journal.noteNoImage()
	}
	return err
}

// takeWorld takes an image of the world and of the game's state outside it.
func (s *saver) takeWorld(img *world.Image) error {
	s.world.TakeImage(img)
	if s.config.Extra != nil {
		img.Extra = s.config.Extra(img.Extra)
	}
	return nil
}

// saveSoon makes the next tick begin a save, and reports whether one can succeed. It runs between ticks.
func (s *saver) saveSoon() bool {
	if s.mustNotSave() {
		return false
	}
	s.due = time.Now()
	return true
}

// newestTick returns the tick of the newest image that this run has saved; 0: none. Any goroutine may call it.
func (s *saver) newestTick() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newest
}

// recordBlocked records the time for which a save has blocked a tick.
func (s *saver) recordBlocked(d time.Duration) {
	s.mu.Lock()
	s.images.Blocked = max(s.images.Blocked, d)
	s.mu.Unlock()
}

// saveLast waits for the running save, and makes the last save.
func (s *saver) saveLast() error {
	if s.nobodyEntered() {
		return nil
	}
	s.saving.Wait()
	s.raisePanic()
	if err := s.permit.awaitThaw(); err != nil { // the lease may have ended while the run did
		return err
	}
	return s.saveNow()
}

// saveNow takes and saves an image on the calling goroutine.
func (s *saver) saveNow() error {
	began := time.Now()
	err := s.takeImage()
	if err == nil {
		err = s.writeTaken(began)
	} else {
		s.recordSave(began, err)
	}
	if err != nil {
		return fmt.Errorf("server: cannot save the world: %w", err)
	}
	return nil
}

// removeTemporary removes the temporary files of killed saves.
func (s *saver) removeTemporary() {
	left, err := s.config.Store.Sweep()
	for _, path := range left {
		s.log.Info("removed the temporary file of a killed save", zap.String("path", path))
	}
	if err != nil {
		s.log.Warn("cannot remove the temporary files of a killed save", zap.Error(err))
	}
}

// writeImage writes the image. It warns if the newest image on the disk is not from this
// server: two servers that save to the same file overwrite each other's worlds.
func (s *saver) writeImage() error {
	if err := s.config.Store.CheckOwn(); err != nil {
		text := "cannot check whether another server saves to the image"
		if errors.Is(err, imagefile.ErrReplaced) {
			text = "overwriting an image that was replaced or removed since the last save: give each server its own file"
		}
		s.log.Warn(text, zap.String("path", s.config.Store.Path()), zap.Error(err))
	}
	s.journal.await()
	err := explainDescriptors(s.descriptors.saveWithSpares(func() error {
		if !s.permit.mayRun() {
			return errMayNotSave
		}
		return s.config.Store.Save(&s.image, s.config.Every/2)
	}))
	if err == nil {
		s.crash.noteSaved(&s.image)
	}
	s.journal.noteSaved(s.image.Tick(), err)
	return err
}

// recordSave counts a save that began at began, and logs its error.
func (s *saver) recordSave(began time.Time, err error) {
	s.trace.send(Span{Name: "save", Err: err}, began)
	now, size := time.Now(), int64(0)
	if info, statErr := os.Stat(s.config.Store.Path()); statErr == nil {
		size = info.Size()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.images.Took = max(s.images.Took, now.Sub(began))
	s.unsaved = err != nil
	if err != nil {
		s.images.Failed++
		last := zap.Skip() // no save of this run to report
		if s.images.Saved > 0 {
			last = zap.Time("last saved", s.images.LastSaved)
		}
		s.log.Error("the world was not saved", zap.String("path", s.config.Store.Path()), zap.Error(err), last)
		return
	}
	s.images.Saved++
	s.newest = s.image.Tick()
	s.images.LastSaved, s.images.LastTook, s.images.LastBytes = now, now.Sub(began), size
}

// fails reports whether the newest save has failed.
func (s *saver) fails() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unsaved
}

func (s *saver) report() admin.Images {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.images
}
