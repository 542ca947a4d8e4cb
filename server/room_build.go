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
	"github.com/worldd/worldd/world"
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
	least, from := 0, (*world.Image)(nil)
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
		made, above, recovered, err := l.buildInBlock(block, store, from)
		if err == nil && made != nil {
			return made, nil
		}
		l.rooms.mu.Lock()
		l.rooms.ranges.releaseBlock(block)
		l.rooms.mu.Unlock()
		if err != nil {
			return nil, err
		}
		least, from = above, recovered
	}
}

// buildInBlock returns a run that uses a block of generations, restored from an image in memory, or else from the
// store. If that needs a higher block, it returns no run and the lowest block that suffices. If a journal
// was repeated, it returns no run and the image to restore then.
func (l *roomLife) buildInBlock(block int, store *imagefile.Store, from *world.Image) (made *run, least int, recovered *world.Image, err error) {
	q := RoomRequest{Name: l.room.name, Kind: l.room.kind, ID: l.room.id, Generations: generationsOf(block)}
	var g *RoomGame
	err = l.callGame("New", func() (err error) {
		g, err = l.kind.New(q)
		return err
	})
	if err != nil {
		return nil, 0, nil, fmt.Errorf("server: room %s: %w", l.room.name, err)
	}
	defer func() {
		if made == nil && g != nil {
			l.discardGame(g)
		}
	}()
	c, err := g.sessionConfig(l.rooms.process, l.kind.RoomKind, q)
	if err != nil {
		return nil, 0, nil, fmt.Errorf("server: room %s: %w", l.room.name, err)
	}
	c.Router = l.rooms.router
	log := l.room.logger(l.rooms.log)
	var image ImageConfig
	if store != nil {
		image = ImageConfig{Store: store, Every: l.rooms.config.Images.Every, Journal: l.rooms.config.Images.Journal, Extra: g.Extra}
		err = l.callGame("RestoreRun", func() (err error) {
			least, recovered, err = g.restoreImage(log, store, l.olderImage(), from)
			return err
		})
		if err != nil || least > block || recovered != nil {
			return nil, least, recovered, err
		}
	}
	if made, err = newRun(c, image, log, l.kind.ticks, l.rooms.descriptors); err != nil {
		return nil, 0, nil, err
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
		err = l.callGame("Extra", made.begin)
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
	return made, 0, nil, err
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

// restoreImage restores the world from an image in memory. Without one, it restores the older image of that
// number, or if older is 0, the newest valid one and the journal after it. It returns the lowest block of
// generations that the image allows, or 0 if there is no image. If the world's block is lower, or if a
// journal was repeated, whose world has the generations of its run, the run is not begun: recovered is then
// the image to restore in another world, or nil for the store's.
func (g *RoomGame) restoreImage(log *zap.Logger, store *imagefile.Store, older int, from *world.Image) (least int, recovered *world.Image, err error) {
	if from == nil {
		c := Config{WorldConfig: g.WorldConfig, Image: ImageConfig{Store: store}}
		r := Restoring{Generation: older, RestoreRun: g.RestoreRun, LoadExtra: g.LoadExtra, Log: log}
		found, run, err := c.recover(&r)
		if err != nil || found.Image == nil {
			return 0, nil, explainRestore(store, err)
		}
		from = found.Image
		if found.Run != 0 {
			recovered = c.takeRecovered(run.extra)
			return blockAbove(recovered.NewestGeneration()), recovered, nil
		}
	}
	least = blockAbove(from.NewestGeneration())
	if g.World.Config().FirstGeneration < generationsOf(least).First {
		return least, nil, nil
	}
	restore := g.RestoreRun
	if restore == nil {
		restore = g.World.RestoreRun
	}
	return least, nil, explainRestore(store, restore(from))
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
