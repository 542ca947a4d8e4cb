package server

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"go.uber.org/zap"

	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/world"
)

// recoverBeforePanic restores the newest state, or less if the world has panicked from it before.
func (c *Config) recoverBeforePanic(r *Restoring) (imagefile.Recovered, *restoredRun, error) {
	loop := &crashLoop{program: cmp.Or(c.Image.program, identifyAtStart()), mostHeld: c.mostHeld()}
	c.Image.crash = loop
	loop.readFormer(c.Image.Store, r.Log)
	found, run, err := c.recoverNewest(r, loop)
	if err != nil || found.Image == nil || loop.former.Panics == 0 {
		return found, run, err
	}
	if !loop.counts(&found) || r.isEdited(&found, run) {
		less := loop.less
		loop.forget()
		if less {
			found, run, err = c.recoverNewest(r, loop)
		}
		return found, run, err
	}
	return c.recoverLess(r, loop, found, run)
}

// recoverNewest restores the newest image and the journal after it, up to the tick before one whose replay panics.
func (c *Config) recoverNewest(r *Restoring, loop *crashLoop) (imagefile.Recovered, *restoredRun, error) {
	found, run, err := c.recoverJournal(r, loop, func(found imagefile.Loaded) (uint64, error) {
		f := loop.former
		if loop.replayFails(found) && f.Panics >= panicsStop && (r.Edited == nil || !r.Edited(found.Image.Extra)) {
			return 0, c.stopCrashLoop(f, nil) // before it panics again
		}
		return loop.until(found), nil
	})
	if errors.Is(err, imagefile.ErrSkipped) {
		err = c.stopCrashLoop(loop.former, err)
	}
	if err == nil && found.Image != nil {
		loop.image, loop.returns = found.Mark, max(found.Tick, found.Image.Tick())
	}
	return found, run, err
}

// recoverLess takes back a part of what was found, since the world has panicked from it. The more panics in a
// row, the more it takes back.
func (c *Config) recoverLess(r *Restoring, loop *crashLoop, found imagefile.Recovered, run *restoredRun) (imagefile.Recovered, *restoredRun, error) {
	f := loop.former
	loop.holdUntil(f.Tick, loop.returns)
	log := r.Log.With(zap.Uint64("tick", f.Tick), zap.Int("panics", f.Panics), zap.String("panic", f.Text), zap.Uint64("restored", loop.returns))
	if !f.Replaying && loop.returns != f.Returns { // the noted process ran from another state
		loop.forget()
		f.Panics = 1
	}
	if f.Panics >= panicsStop {
		return found, run, c.stopCrashLoop(f, nil)
	}
	log.Warn("the world has panicked: no image is saved until it is beyond that tick")
	switch {
	case f.Panics == panicsOlder:
		return c.recoverOlder(loop, &found, log)
	case f.Panics == panicsSkip && loop.less:
		log.Error("the journal panicked again: it is repeated up to the tick before", zap.Strings("kept", found.SkippedSegments))
	case f.Panics == panicsSkip && found.NewestCalls > 0:
		return c.skipNewestCall(r, loop, found.NewestCalls, log)
	}
	return found, run, nil
}

// skipNewestCall restores the world as it was before the tick with the newest call of a client.
func (c *Config) skipNewestCall(r *Restoring, loop *crashLoop, call uint64, log *zap.Logger) (imagefile.Recovered, *restoredRun, error) {
	loop.less = true
	found, run, err := c.recoverJournal(r, loop, func(imagefile.Loaded) (uint64, error) { return call - 1, nil })
	switch {
	case errors.Is(err, imagefile.ErrSkipped):
		err = c.stopCrashLoop(loop.former, err)
	case err == nil:
		loop.holdUntil(loop.former.Tick, call-1)
		log.Error("the world panicked at the same tick again: the newest call of a client and what followed is skipped",
			zap.Uint64("restored_before_it", call-1), zap.Strings("kept", found.SkippedSegments))
	}
	return found, run, err
}

// recoverOlder loads the newest valid image before the one that was found.
func (c *Config) recoverOlder(loop *crashLoop, found *imagefile.Recovered, log *zap.Logger) (imagefile.Recovered, *restoredRun, error) {
	older, err := c.loadBefore(found.Generation, loop.former)
	loop.less = true
	if err == nil {
		loop.holdUntil(loop.former.Tick, older.Image.Tick())
		log.Error("the world panicked at the same tick three times: the image before is restored, without its journal",
			zap.String("older", older.Path), zap.Uint64("restored_older", older.Image.Tick()), zap.Strings("skipped", older.Skipped))
	}
	return imagefile.Recovered{Loaded: older}, &restoredRun{}, err
}

// loadBefore loads the newest valid image before a generation.
func (c *Config) loadBefore(generation int, f imagefile.Crash) (imagefile.Loaded, error) {
	for n := generation + 1; n <= imagefile.MaxKeep; n++ {
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
		note := loop.next(max(c.World.Tick(), 1), panicText(value, false))
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

// stopCrashLoop returns ErrCrashLoop with its reason and the operator's choices.
func (c *Config) stopCrashLoop(f imagefile.Crash, cause error) error {
	err := fmt.Errorf("%w, %d (%q)", ErrCrashLoop, f.Tick, f.Text)
	if cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return fmt.Errorf("%w; nothing was changed: start a mended program, or choose an older image with --image-generation N (and --journal off if each crash shall return to an image), or remove %s.crash to restore everything once more",
		err, c.Image.Store.Path())
}
