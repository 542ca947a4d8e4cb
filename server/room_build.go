package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/server/imagefile"
)

// buildRun returns the room's next run, restored from its image if there is one. The first run
// waits until the room that this one replaces has ended.
func (l *roomLife) buildRun(ctx context.Context) (*run, error) {
	if err := l.room.awaitEviction(ctx); err != nil {
		return nil, err
	}
	select {
	case l.kind.building <- struct{}{}:
		defer func() { <-l.kind.building }()
	case <-ctx.Done():
		return nil, errClosing
	}
	store, err := l.rooms.images.openImage(l.kind, l.room)
	if err != nil {
		return nil, err
	}
	made, err := l.buildAboveImage(store)
	if err != nil && store != nil {
		err = errors.Join(err, store.Close())
	}
	return made, err
}

// buildAboveImage returns a run whose range of generations is above the image's. If the image
// needs a higher range than its store has recorded, it makes the world again.
func (l *roomLife) buildAboveImage(store *imagefile.Store) (*run, error) {
	least := 0
	if store != nil && store.NewestGeneration() > 0 {
		least = blockAbove(store.NewestGeneration())
	}
	for {
		l.rooms.mu.Lock()
		block, err := l.rooms.ranges.takeBlock(least)
		l.rooms.mu.Unlock()
		if err != nil {
			return nil, fmt.Errorf("server: %w", err)
		}
		made, above, err := l.buildInBlock(block, store)
		if err == nil && above <= block {
			return made, nil
		}
		l.rooms.mu.Lock()
		l.rooms.ranges.releaseBlock(block)
		l.rooms.mu.Unlock()
		if err != nil {
			return nil, err
		}
		least = above
	}
}

// buildInBlock returns a run that uses a block of generations. If the image needs a higher
// block, it returns no run and the lowest block that suffices.
func (l *roomLife) buildInBlock(block int, store *imagefile.Store) (made *run, least int, err error) {
	q := RoomRequest{Name: l.room.name, Kind: l.room.kind, ID: l.room.id, Generations: generationsOf(block)}
	var g *RoomGame
	err = l.callGame("New", func() (err error) {
		g, err = l.kind.New(q)
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("server: room %s: %w", l.room.name, err)
	}
	defer func() {
		if made == nil && g != nil {
			l.discardGame(g)
		}
	}()
	c, err := g.sessionConfig(l.rooms.process, l.kind.RoomKind, q)
	if err != nil {
		return nil, 0, fmt.Errorf("server: room %s: %w", l.room.name, err)
	}
	c.Router = l.rooms.router
	log := l.room.logger(l.rooms.log)
	var image ImageConfig
	if store != nil {
		image = ImageConfig{Store: store, Every: l.rooms.config.Images.Every, Take: g.TakeImage}
		err = l.callGame("RestoreRun", func() (err error) {
			least, err = g.restoreImage(log, store, l.olderImage())
			return err
		})
		if err != nil || least > block {
			return nil, least, err
		}
	}
	if made, err = newRun(c, image, log, l.kind.ticks, l.rooms.descriptors); err != nil {
		return nil, 0, err
	}
	made.block, made.ended, made.reload = block, g.Ended, g.Reload
	if !l.kind.isPinned(l.room) && !l.byOperator() { // a client that does not enter the room must not cause images: they would fill the disk or stay young
		made.loop.saver.unused = func() bool {
			s := made.core.Stats()
			return s.Joined+s.MovedIn == 0
		}
	}
	made.loop.ticks = newTickHistogram(roomDigits)
	made.loop.offset = time.Duration(float64(made.loop.interval) * math.Mod(float64(block)*math.Phi, 1)) // spreads the ticks of rooms over time
	if err = l.checkSchema(made); err == nil {
		err = l.callGame("TakeImage", made.loop.saver.saveFirst)
	}
	if err == nil && g.Attach != nil {
		err = l.callGame("Attach", func() error {
			g.Attach(l.room)
			return nil
		})
	}
	if err != nil {
		made.core.Close()
		made = nil
	}
	return made, 0, err
}

// discardGame releases what New has made for a run that will not begin.
func (l *roomLife) discardGame(g *RoomGame) {
	l.callEnded(g.Ended)
	if g.World != nil {
		g.World.Close()
	}
}

// byOperator reports whether the operator has created r.
func (l *roomLife) byOperator() bool {
	l.rooms.mu.Lock()
	defer l.rooms.mu.Unlock()
	return l.room.by == byOperator
}

// callGame calls a function of the game outside the room's ticks. It returns a panic as an
// error.
func (l *roomLife) callGame(what string, f func() error) (err error) {
	l.rooms.runApart(func() { err = f() }, func(value any) {
		l.room.logger(l.rooms.log).Error(what+" panicked", zap.String("panic", fmt.Sprint(value)), zap.ByteString("stack", debug.Stack()))
		err = fmt.Errorf("server: room %s: %s panicked: %v", l.room.name, what, value)
	})
	return err
}

// restoreImage restores the world from the older image of that number, or from the newest valid
// one if older is 0. It returns the lowest block of generations that the image allows, or 0 if
// there is no image. If the world's block is lower it restores nothing.
func (g *RoomGame) restoreImage(log *zap.Logger, store *imagefile.Store, older int) (least int, err error) {
	found, err := store.LoadGeneration(g.World, older)
	if err != nil {
		return 0, fmt.Errorf("server: cannot restore: %w", store.Explain(err))
	}
	if found.Image == nil {
		return 0, nil
	}
	least = blockAbove(found.Image.NewestGeneration())
	if g.World.Config().FirstGeneration < generationsOf(least).First {
		return least, nil
	}
	restore := g.RestoreRun
	if restore == nil {
		restore = g.World.RestoreRun
	}
	if err := restore(found.Image); err != nil {
		return 0, fmt.Errorf("server: cannot restore %s: %w", found.Path, store.Explain(err))
	}
	for _, change := range found.Image.Changes() {
		log.Warn("not as in the image: " + change.String())
	}
	if found.Generation > 0 {
		log.Error("restored an older image: everything since it was saved is lost", zap.String("path", found.Path), zap.Int("generation", found.Generation),
			zap.Time("saved", found.Saved), zap.Errors("damaged", found.Damaged), zap.Strings("skipped", found.Skipped))
	}
	return least, nil
}

// olderImage returns the number of the older image from which the room's next run begins, 0 for
// the newest.
func (l *roomLife) olderImage() int {
	l.rooms.mu.Lock()
	defer l.rooms.mu.Unlock()
	return l.rooms.older[l.room.name]
}

// checkSchema checks that the run has the schema of its kind.
func (l *roomLife) checkSchema(made *run) error {
	own := made.core.Config().Schema
	l.rooms.mu.Lock()
	defer l.rooms.mu.Unlock()
	if l.kind.schema == nil {
		l.kind.schema = own
	}
	if l.kind.schema.Hash() != own.Hash() {
		return errors.New("server: the room's schema is not the schema of its kind's earlier rooms: give it a kind of its own")
	}
	return nil
}
