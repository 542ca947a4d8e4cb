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

// buildRun returns the room's next run, restored from its image if there is one. The first run waits for
// the end of the room that this one replaces.
func (m *rooms) buildRun(ctx context.Context, k *kind, r *Room) (*run, error) {
	if err := r.awaitEviction(ctx); err != nil {
		return nil, err
	}
	select {
	case k.building <- struct{}{}:
		defer func() { <-k.building }()
	case <-ctx.Done():
		return nil, errClosing
	}
	store, err := m.openImage(k, r)
	if err != nil {
		return nil, err
	}
	made, err := m.buildAboveImage(store, k, r)
	if err != nil && store != nil {
		err = errors.Join(err, store.Close())
	}
	return made, err
}

// buildAboveImage returns a run whose range of generations is above the image's. If the image turns out
// to need a higher range than its store has recorded, it makes the world again.
func (m *rooms) buildAboveImage(store *imagefile.Store, k *kind, r *Room) (*run, error) {
	least := 0
	if store != nil && store.NewestGeneration() > 0 {
		least = blockAbove(store.NewestGeneration())
	}
	for {
		m.mu.Lock()
		block, err := m.ranges.takeBlock(least)
		m.mu.Unlock()
		if err != nil {
			return nil, fmt.Errorf("server: %w", err)
		}
		made, above, err := m.buildInBlock(block, store, k, r)
		if err == nil && above <= block {
			return made, nil
		}
		m.mu.Lock()
		m.ranges.releaseBlock(block)
		m.mu.Unlock()
		if err != nil {
			return nil, err
		}
		least = above
	}
}

// buildInBlock returns a run that uses a block of generations. If the image needs a higher block, it
// returns no run, and the lowest block that suffices.
func (m *rooms) buildInBlock(block int, store *imagefile.Store, k *kind, r *Room) (made *run, least int, err error) {
	q := RoomRequest{Name: r.name, Kind: r.kind, ID: r.id, Generations: generationsOf(block)}
	var g *RoomGame
	err = m.callGame(r, "New", func() (err error) {
		g, err = k.New(q)
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("server: room %s: %w", r.name, err)
	}
	defer func() {
		if made == nil && g != nil {
			m.discardGame(r, g)
		}
	}()
	c, err := g.sessionConfig(m.process, k.RoomKind, q)
	if err != nil {
		return nil, 0, fmt.Errorf("server: room %s: %w", r.name, err)
	}
	c.Router = m.router
	log := r.logger(m.log)
	var image ImageConfig
	if store != nil {
		image = ImageConfig{Store: store, Every: m.config.Images.Every, Take: g.TakeImage}
		err = m.callGame(r, "RestoreRun", func() (err error) {
			least, err = g.restoreImage(log, store, m.imageGeneration(r.name))
			return err
		})
		if err != nil || least > block {
			return nil, least, err
		}
	}
	if made, err = newRun(c, image, log, k.ticks, m.descriptors); err != nil {
		return nil, 0, err
	}
	made.block, made.ended, made.reload = block, g.Ended, g.Reload
	if !k.isPinned(r) && !m.byOperator(r) { // clients cannot fill the disk, or keep images from being old, without entering the room
		made.loop.saver.unused = func() bool {
			s := made.core.Stats()
			return s.Joined+s.MovedIn == 0
		}
	}
	made.loop.ticks = newTickHistogram(roomDigits)
	made.loop.offset = time.Duration(float64(made.loop.interval) * math.Mod(float64(block)*math.Phi, 1)) // spreads the ticks of rooms
	if err = m.checkSchema(made, k); err == nil {
		err = made.loop.saver.saveFirst()
	}
	if err == nil && g.Attach != nil {
		err = m.callGame(r, "Attach", func() error {
			g.Attach(r)
			return nil
		})
	}
	if err != nil {
		made.core.Close()
		made = nil
	}
	return made, 0, err
}

// discardGame releases what New has made for a run that does not begin.
func (m *rooms) discardGame(r *Room, g *RoomGame) {
	m.callEnded(r, g.Ended)
	if g.World != nil {
		g.World.Close()
	}
}

// byOperator reports whether the operator has created r.
func (m *rooms) byOperator(r *Room) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return r.by == byOperator
}

// callGame calls a function of the game outside of the room's ticks. It returns a panic as an error.
func (m *rooms) callGame(r *Room, what string, f func() error) (err error) {
	m.runApart(func() { err = f() }, func(value any) {
		r.logger(m.log).Error(what+" panicked", zap.String("panic", fmt.Sprint(value)), zap.ByteString("stack", debug.Stack()))
		err = fmt.Errorf("server: room %s: %s panicked: %v", r.name, what, value)
	})
	return err
}

// restoreImage restores the world from a generation of its image, or from the newest valid one if
// generation is 0. It returns the lowest block of handle generations that the image allows, or 0 if
// there is none, and restores nothing if the world's block is lower.
func (g *RoomGame) restoreImage(log *zap.Logger, store *imagefile.Store, generation int) (least int, err error) {
	found, err := store.LoadGeneration(g.World, generation)
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
	if found.Generation > 0 {
		log.Error("restored an older image: everything since it was saved is lost", zap.String("path", found.Path), zap.Int("generation", found.Generation),
			zap.Time("saved", found.Saved), zap.Errors("damaged", found.Damaged), zap.Strings("skipped", found.Skipped))
	}
	return least, nil
}

// imageGeneration returns the generation of its image from which the room's next run begins, 0 for
// the newest.
func (m *rooms) imageGeneration(name string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.older[name]
}

// checkSchema checks that the run has the schema of its kind.
func (m *rooms) checkSchema(made *run, k *kind) error {
	own := made.core.Config().Schema
	m.mu.Lock()
	defer m.mu.Unlock()
	if k.schema == nil {
		k.schema = own
	}
	if k.schema.Hash() != own.Hash() {
		return errors.New("server: the room's schema is not the schema of its kind's earlier rooms: give it a kind of its own")
	}
	return nil
}
