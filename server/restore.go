package server

import (
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// Restoring says how Config.Restore restores a world. Zero fields take their defaults.
type Restoring struct {
	// Generation is the number of the image to restore, for an operator who returns to an older
	// state: its journal is skipped. 0 restores the newest whole image and the journal after it.
	Generation int
	// RestoreRun begins a new run from an image, and ends the entities of the old run's sessions.
	// Default World.RestoreRun.
	RestoreRun func(*world.Image) error
	// LoadExtra restores the game's state outside the world, in a run that continues: from
	// Image.Extra, and then from the newest ImageConfig.Extra in the journal.
	LoadExtra func(extra []byte) error
	// Edited reports whether the game's files have changed since the run that appended extra
	// (ImageConfig.Extra). A new run then begins. nil: they never change.
	Edited func(extra []byte) bool
	// Log receives what was restored and lost. nil logs nothing.
	Log *zap.Logger
}

// Restore restores World from Image.Store, if it holds an image. Call it before Listen.
//
// The run continues, with its Epoch, handles and sessions, if the disk has every tick whose output
// has left (imagefile.JournalAlways, or after an orderly end), Hooks.SaveSession and Image.Journal are
// set, Edited does not return true, and the run is not in its last month. Otherwise a new run begins
// in the world after the last tick on the disk: every entity has a new handle.
//
// After equal panics at the same tick (imagefile.Crash), less is restored: without the newest call of a client, then the
// image before. After the fourth, or another one that less has led to, the error wraps ErrCrashLoop.
//
// found describes the Store's content; its Image is nil for a new world. An error names what to do,
// and nothing on the disk has changed.
func (c *Config) Restore(r Restoring) (found imagefile.Recovered, err error) {
	if c.Image.Store == nil {
		return found, errors.New("server: Restore without Image.Store")
	}
	if c.Image.restored != nil { // by an earlier call
		c.Epoch, c.Replication.TickBase, c.Image.restored = 0, 0, nil
	}
	found, run, err := c.recover(&r)
	switch {
	case err != nil || found.Image == nil:
	case found.Run == 0:
		err = r.beginRun(c.World, found.Image)
	case !c.mayContinue(&found) || r.Edited != nil && r.Edited(run.extra) || run.isNearlySpent(c.World):
		run.endSessions(c.sessionConfig(), &r, c.Image.Extra, found.Run)
		err = r.beginRun(c.World, c.takeRecovered(run))
	default:
		err = c.continueRun(&r, &found, run)
		c.Epoch, c.Replication.TickBase, c.Image.restored = run.epoch, run.tickBase, run
	}
	return found, explainRestore(c.Image.Store, err)
}

// recover reads the image to restore. With a journal, it brings the world to the last tick on the
// disk, and returns the notes of the journal.
func (c *Config) recover(r *Restoring) (found imagefile.Recovered, run *restoredRun, err error) {
	run, floor := &restoredRun{}, c.World.Config().FirstGeneration
	if r.Log == nil {
		r.Log = zap.NewNop()
	}
	if r.Generation > 0 {
		found.Loaded, err = c.Image.Store.LoadGeneration(c.World, r.Generation)
		if err == nil {
			c.Image.crash = &crashLoop{program: identifyAtStart(), image: found.Mark, returns: found.Image.Tick()}
		}
	} else {
		found, run, err = c.recoverBeforePanic(r)
	}
	if err == nil && found.Image != nil {
		c.Image.crash.begin(max(found.Tick, found.Image.Tick()), c.World.TickHz())
		run.floor = floor
		if c.World.Config().FirstGeneration != floor {
			found.Image.SkipGenerations(floor)
		}
		r.logFound(&found)
	}
	return found, run, err
}

// logFound logs what was lost, and what the world's setup has changed.
func (r *Restoring) logFound(found *imagefile.Recovered) {
	log := r.Log.With(zap.String("path", found.Path))
	older := []zap.Field{
		zap.Int("generation", found.Generation), zap.Uint64("tick", found.Image.Tick()), zap.Time("saved", found.Saved), zap.Errors("damaged", found.Damaged), zap.Strings("skipped", found.Skipped),
	}
	switch {
	case found.Generation == 0:
	case found.Frames > 0:
		log.Error("restored an older image, and the journal after it", older...)
	default:
		log.Error("restored an older image: everything since it was saved is lost", older...)
	}
	if found.Diverged != nil {
		log.Error("the journal is repeated up to the tick before its steps differ from those before the crash: a new run begins there", zap.Error(found.Diverged))
	}
	switch {
	case found.Cut == nil:
	case found.SameRun:
		log.Info("the journal ends within a tick whose output never left", zap.Error(found.Cut))
	default:
		log.Warn("the journal ends early: what came after is lost", zap.Error(found.Cut))
	}
	for _, change := range found.Image.Changes() {
		log.Warn("not as in the image: " + change.String())
	}
}

// restoreTo returns the function that returns to an image of a run that continues.
func (r *Restoring) restoreTo(w *world.World) func(*world.Image) error {
	return func(img *world.Image) error {
		err := w.Restore(img)
		if err == nil && r.LoadExtra != nil {
			err = r.LoadExtra(img.Extra)
		}
		return err
	}
}

// mayContinue reports whether the run of a journal may continue here: without a journal of its own, a process
// could not note that its ticks are missing.
func (c *Config) mayContinue(found *imagefile.Recovered) bool {
	return found.SameRun && c.Hooks.SaveSession != nil && c.Image.Journal != imagefile.JournalOff
}

// continueRun continues a run in the world to which a journal has brought it. The world's journal
// starts at once, so that it has all later changes.
func (c *Config) continueRun(r *Restoring, found *imagefile.Recovered, run *restoredRun) (err error) {
	run.epoch = found.Run
	run.journal, err = startJournal(c.World, c.Image.Journal, found.Run, found.Chain)
	if err == nil && r.LoadExtra != nil && run.extra != nil {
		err = r.LoadExtra(run.extra)
	}
	return err
}

// beginRun begins a new run from an image.
func (r *Restoring) beginRun(w *world.World, img *world.Image) error {
	if r.RestoreRun == nil {
		return w.RestoreRun(img)
	}
	return r.RestoreRun(img)
}

// isNearlySpent reports whether the run is in its last month, so that a restart begins the next.
func (r *restoredRun) isNearlySpent(w *world.World) bool {
	return session.TicksLeft(w, r.tickBase) <= noticeTicks(w)
}

// endSessions ends the sessions of a run that does not continue, in its world after the last tick on the disk: Leave is called for
// each. If the process dies before the next run has its first image, the next start finds the same world, and calls Leave again.
func (r *restoredRun) endSessions(c session.Config, how *Restoring, extra func([]byte) []byte, epoch uint64) {
	if r.sessions.Sessions() == 0 {
		return
	}
	log := how.Log.With(zap.Int("sessions", r.sessions.Sessions()))
	if how.LoadExtra != nil && r.extra != nil {
		if err := how.LoadExtra(r.extra); err != nil {
			log.Warn("the run does not continue, and Leave is not called for its sessions", zap.Error(err))
			return
		}
	}
	c.Epoch, c.Replication.TickBase, c.Router, c.HoldOutput = epoch, r.tickBase, nil, false
	core, err := session.NewCore(c)
	if err != nil {
		log.Warn("the run does not continue, and Leave is not called for its sessions", zap.Error(err))
		return
	}
	core.OnPanic(func(p session.HookPanic) {
		log.Error("the game panicked", zap.Stringer("hook", p.Hook), zap.Uint64("session", p.Session), zap.String("panic", fmt.Sprint(p.Value)), zap.ByteString("stack", p.Stack))
	})
	core.EndWith(wire.Error{Code: wire.Draining, Detail: "the run does not continue"})
	_, err = core.RestoreSessions(&r.sessions)
	core.Shutdown()
	core.Close()
	log.Warn("the run does not continue: its sessions end, and Leave is called for them", zap.Error(err))
	if extra != nil {
		r.extra = extra(nil)
	}
}

// takeRecovered returns an image of the world to which a journal has brought it.
func (c *Config) takeRecovered(run *restoredRun) *world.Image {
	img := &world.Image{}
	c.World.TakeImage(img)
	img.Extra = append(img.Extra, run.extra...)
	img.SkipGenerations(max(c.Image.Store.NewestGeneration(), run.floor))
	return img
}

func explainRestore(store *imagefile.Store, err error) error {
	if err == nil || errors.Is(err, ErrCrashLoop) { // which has its own advice
		return err
	}
	return fmt.Errorf("server: cannot restore the image: %w", store.Explain(err))
}

// restoreSessions restores the sessions of a run that continues.
func (r *restoredRun) restoreSessions(run *run) {
	restored, err := run.core.RestoreSessions(&r.sessions)
	if err != nil {
		for _, err := range unjoin(err) {
			run.log.Warn("a session was not restored", zap.Error(err))
		}
	}
	run.log.Info("the run continues: its sessions wait for their clients", zap.Int("sessions", restored), zap.Uint64("tick", run.core.World().Tick()))
}

// unjoin returns the errors that errors.Join has joined.
func unjoin(err error) []error {
	var all interface{ Unwrap() []error }
	if errors.As(err, &all) {
		return all.Unwrap()
	}
	return []error{err}
}
