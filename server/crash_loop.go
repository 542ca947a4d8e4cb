package server

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/world"
)

// ErrCrashLoop reports a world that panics at the same tick after each start. Config.Restore has changed nothing on the disk.
var ErrCrashLoop = errors.New("server: the world panics at the same tick after each start")

// crashLoop ends the restarts of a world that leads into the same panic each time. The frame of the failing
// tick is never in the journal, since a frame follows its step: the panic repeats only if the state before
// the tick leads to it, and the newest call of a client may have made that state.
//
// A process that panics leaves a note (imagefile.Crash); one that is killed does not. A start counts the note only if
// it restores the state from which the noted process, or its next start, would run into the panic: the same
// image, tick and executable, and no divergence. Until the world is beyond the failing tick, no image is saved, so
// that each start finds the disk as the first panic left it.
type crashLoop struct {
	program uint64          // that runs; 0: not yet identified
	former  imagefile.Crash // that counts; Panics is 0 without one
	less    bool            // not all was restored
	began   uint64          // tick of the restored world
	held    uint64          // no image is saved before this tick
	// Loaded.Mark of the newest image, and the tick to which the next start returns without a journal that runs.
	image, returns uint64
	mu             sync.Mutex // guards image and returns once the world ticks
}

// Panics in a row, from which on the next start restores less.
const (
	panicsSkip  = 2 // up to the newest call, and a panicking replay up to the tick before
	panicsOlder = 3 // the image before, without a journal
	panicsStop  = 4 // nothing
)

// holds reports that no image is to be saved after a tick.
func (l *crashLoop) holds(tick uint64) bool { return tick < l.held }

// noteSaved notes the newest image.
func (l *crashLoop) noteSaved(img *world.Image) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.image, l.returns = img.Mark(), img.Tick()
}

// next returns the note of a panic at a tick. Only the same panic at the same tick counts. Another one of a world that was
// restored without its newest state says that this state is not the cause, or not alone: the next start stops.
func (l *crashLoop) next(tick uint64, value any) imagefile.Crash {
	if l.program == 0 {
		l.program = identifyProgram()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c := imagefile.Crash{
		Tick: tick, Panics: 1, Image: l.image, Returns: l.returns, Program: l.program, Text: imagefile.CrashText(fmt.Sprint(value)),
	}
	f := &l.former
	switch {
	case f.Panics == 0 || f.Image != l.image:
	case tick == f.Tick && c.Text == f.Text:
		c.Panics, c.Replaying = min(f.Panics+1, panicsStop), f.Replaying
		if c.Panics == panicsOlder && (c.Replaying || tick == l.began+1) { // a missing service, for example, fails each first tick
			c.Panics = panicsStop
		}
	case l.less:
		c.Text = imagefile.CrashText(fmt.Sprintf("%.100s; when less was restored, at tick %d: %s", f.Text, tick, c.Text))
		c.Tick, c.Panics, c.Replaying = f.Tick, panicsStop, f.Replaying
	}
	return c
}

// until returns the last tick to repeat after an image: the tick before the one whose replay has panicked again.
func (l *crashLoop) until(found imagefile.Loaded) uint64 {
	l.image, l.returns = found.Mark, found.Image.Tick()
	if f := &l.former; f.Replaying && f.Panics >= panicsSkip && f.Image == found.Mark {
		l.less = true
		return max(f.Tick, 1) - 1
	}
	return math.MaxUint64
}

// recoverBeforePanic restores the newest state, or less if the world has panicked from it before.
func (c *Config) recoverBeforePanic(r *Restoring) (imagefile.Recovered, *restoredRun, error) {
	loop := &crashLoop{program: c.Image.program}
	c.Image.crash = loop
	c.readCrash(loop, r.Log)
	found, run, err := c.recoverJournal(r, loop, func(found imagefile.Loaded) (uint64, error) {
		f := loop.former
		if f.Replaying && f.Panics >= panicsStop && f.Image == found.Mark && (r.Edited == nil || !r.Edited(found.Image.Extra)) {
			return 0, c.stopCrashLoop(f, nil) // before it panics again
		}
		return loop.until(found), nil
	})
	if errors.Is(err, imagefile.ErrSkipped) {
		err = c.stopCrashLoop(loop.former, err)
	}
	if err != nil || found.Image == nil {
		return found, run, err
	}
	loop.image, loop.returns = found.Mark, max(found.Tick, found.Image.Tick())
	f := loop.former
	switch {
	case f.Panics == 0:
		return found, run, nil
	case f.Image != found.Mark || found.Diverged != nil || r.isEdited(&found, run) || loop.returns >= f.Tick || f.Tick-loop.returns > c.mostHeld():
		loop.former = imagefile.Crash{}
		if loop.less { // by a note that does not count
			loop.less = false
			found, run, err = c.recoverJournal(r, loop, func(imagefile.Loaded) (uint64, error) { return math.MaxUint64, nil })
			loop.returns = max(found.Tick, loop.returns)
		}
		return found, run, err
	}
	loop.held = f.Tick + 1
	log := r.Log.With(zap.Uint64("tick", f.Tick), zap.Int("panics", f.Panics), zap.String("panic", f.Text), zap.Uint64("restored", loop.returns))
	if !f.Replaying && loop.returns != f.Returns { // the noted process ran from another state
		loop.former = imagefile.Crash{}
		f.Panics = 1
	}
	if f.Panics < panicsStop {
		log.Warn("the world has panicked: no image is saved until it is beyond that tick")
	}
	switch {
	case f.Panics == panicsSkip && loop.less:
		log.Error("the journal panicked again: it is repeated up to the tick before", zap.Strings("kept", found.SkippedSegments))
	case f.Panics == panicsSkip && found.NewestCalls > 0:
		loop.less = true
		before := found.NewestCalls - 1
		found, run, err = c.recoverJournal(r, loop, func(imagefile.Loaded) (uint64, error) { return before, nil })
		switch {
		case errors.Is(err, imagefile.ErrSkipped):
			err = c.stopCrashLoop(f, err)
		case err == nil:
			log.Error("the world panicked at the same tick again: the newest call of a client and what followed is skipped",
				zap.Uint64("restored_before_it", before), zap.Strings("kept", found.SkippedSegments))
		}
	case f.Panics == panicsOlder:
		found.Loaded, err = c.loadBefore(&found, f)
		found, run = imagefile.Recovered{Loaded: found.Loaded}, &restoredRun{}
		loop.less = true
		if err == nil {
			loop.held = min(f.Tick+1, found.Image.Tick()+c.mostHeld())
			log.Error("the world panicked at the same tick three times: the image before is restored, without its journal",
				zap.String("older", found.Path), zap.Uint64("restored_older", found.Image.Tick()), zap.Strings("skipped", found.Skipped))
		}
	case f.Panics >= panicsStop:
		err = c.stopCrashLoop(f, nil)
	}
	return found, run, err
}

// readCrash reads the note of the last panic. One of another executable does not count.
func (c *Config) readCrash(loop *crashLoop, log *zap.Logger) {
	former, err := c.Image.Store.ReadCrash()
	if err != nil {
		log.Warn("the note of the last panic is not read: its panics are not counted", zap.Error(err))
		return
	}
	if former.Panics == 0 {
		return
	}
	if loop.program == 0 {
		loop.program = identifyProgram()
	}
	if loop.program == former.Program {
		loop.former = former
	}
}

// recoverJournal restores the newest whole image, and repeats the journal after it up to a tick. A panic meanwhile is noted.
func (c *Config) recoverJournal(r *Restoring, loop *crashLoop, until func(imagefile.Loaded) (uint64, error)) (found imagefile.Recovered, run *restoredRun, err error) {
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		if !loop.former.Replaying { // another panic than this
			loop.former = imagefile.Crash{}
		}
		note := loop.next(max(c.World.Tick(), 1), value)
		note.Replaying = true
		saveCrash(c.Image.Store, note, r.Log)
		panic(value)
	}()
	run = &restoredRun{}
	found, err = c.Image.Store.Recover(c.World, imagefile.Recovery{
		Restore: r.restoreTo(c.World), Note: run.addNotes, Restart: func() { *run = restoredRun{} }, Until: until,
	})
	return found, run, err
}

// isEdited reports whether the game's files have changed since the run that was recovered.
func (r *Restoring) isEdited(found *imagefile.Recovered, run *restoredRun) bool {
	extra := run.extra
	if found.Run == 0 {
		extra = found.Image.Extra
	}
	return r.Edited != nil && r.Edited(extra)
}

// mostHeld returns for how many ticks no image is saved at most: as many as two saves are apart.
func (c *Config) mostHeld() uint64 {
	every := c.Image.Every
	if every == 0 {
		every = defaultImageEvery
	}
	return 2 * uint64(every.Seconds()*float64(c.World.TickHz()))
}

// loadBefore loads the newest valid image before the one that was found.
func (c *Config) loadBefore(found *imagefile.Recovered, f imagefile.Crash) (imagefile.Loaded, error) {
	for n := found.Generation + 1; n <= imagefile.MaxKeep; n++ {
		older, err := c.Image.Store.LoadGeneration(c.World, n)
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, world.ErrImage):
			continue
		case errors.Is(err, imagefile.ErrSkipped):
			return older, c.stopCrashLoop(f, err)
		}
		return older, err
	}
	return imagefile.Loaded{}, c.stopCrashLoop(f, errors.New("there is no older image"))
}

// stopCrashLoop returns ErrCrashLoop with its reason and the operator's choices.
func (c *Config) stopCrashLoop(f imagefile.Crash, cause error) error {
	err := fmt.Errorf("%w, %d (%q)", ErrCrashLoop, f.Tick, f.Text)
	if cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return fmt.Errorf("%w; nothing was changed: start a mended program, or choose an older image with --image-generation N (and --journal off if each crash shall return to an image), or remove %s.crash to restore everything once more",
		err, c.Image.Store.Path())
}

// notePanic is deferred around the ticks of a run. It leaves evidence of a panic for the next start, and
// continues the panic.
func (r *run) notePanic() {
	value := recover()
	if value == nil {
		return
	}
	if r.store != nil {
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.loop.saver.noteCrashAfterSave(r.loop.ticking, value)
		}()
		select {
		case <-done:
		case <-time.After(crashTimeout): // the disk hangs, but the process must end
		}
	}
	panic(value)
}

const (
	// crashTimeout bounds how long a panic waits for the disk.
	crashTimeout = 5 * time.Second
	// crashSaveTimeout bounds how long its note waits for a running save, whose image would be the newest one.
	crashSaveTimeout = time.Second
)

// noteCrashAfterSave writes the note of a panic at a tick, and then the rest of the journal. A save that takes long
// delays only the journal: the segment after its image must be on the disk before it.
func (s *saver) noteCrashAfterSave(tick uint64, value any) {
	saved := make(chan struct{})
	go func() {
		defer close(saved)
		s.saving.Wait()
	}()
	select {
	case <-saved:
	case <-time.After(crashSaveTimeout):
		s.noteCrash(tick, value)
		<-saved
	}
	s.noteCrash(tick, value)
	if s.journal != nil {
		_ = s.journal.file.Close() // if it fails, the next start restores another tick, and does not count the note
	}
}

// noteCrash writes the note of a panic at a tick.
func (s *saver) noteCrash(tick uint64, value any) {
	note := s.crash.next(tick, value)
	if s.journal != nil && s.journal.file.Stats().State == imagefile.JournalRunning {
		note.Returns = tick - 1
	}
	saveCrash(s.config.Store, note, s.log)
}

func saveCrash(store *imagefile.Store, note imagefile.Crash, log *zap.Logger) {
	log.Error("the world panicked", zap.Uint64("tick", note.Tick), zap.Int("panics", note.Panics), zap.String("panic", note.Text))
	if err := store.SaveCrash(note); err != nil {
		log.Error("the panic is not noted: the next start does not count it", zap.Error(err))
	}
}

// identifyProgram returns a hash of the running executable, or 1 if it cannot be read.
func identifyProgram() uint64 {
	path, err := os.Executable()
	if err != nil {
		return 1
	}
	if runtime.GOOS == "linux" {
		path = "/proc/self/exe" // also after an upgrade has replaced the file
	}
	file, err := os.Open(path)
	if err != nil {
		return 1
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return 1
	}
	return binary.LittleEndian.Uint64(sum.Sum(nil)) | 1
}
