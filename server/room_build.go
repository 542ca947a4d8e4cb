package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// buildRun returns the room's next run, restored from its image if there is one. The first run
// waits until the room that this one replaces has ended.
func (l *roomLife) buildRun(ctx context.Context) (*run, error) {
	if err := l.room.awaitEviction(ctx); err != nil {
		return nil, err
	}
	if err := l.awaitArrival(ctx); err != nil {
		return nil, err
	}
	if err := l.takeRoom(ctx); err != nil {
		return nil, err
	}
	made, err := l.restoreRun(ctx)
	switch {
	case err != nil:
		err = l.returnRoom(err)
	case l.awaited != nil:
		l.rooms.counters.movedIn.Add(1)
	}
	return made, err
}

// restoreRun makes the run of a room that this node has.
func (l *roomLife) restoreRun(ctx context.Context) (*run, error) {
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
	if err = l.settleImage(store); err == nil {
		err = l.installJournal(store)
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	made, err := l.buildAboveImage(ctx, store)
	if err != nil && store != nil {
		err = errors.Join(err, store.Close())
	}
	return made, err
}

// buildPlan says how the next attempt builds a run.
type buildPlan struct {
	least int          // lowest block of generations that suffices
	exact bool         // the run continues in the block least, if it is free
	from  *world.Image // of a new run; nil: the store's
	crash *crashLoop   // of from

	// granted: the cluster has chosen the block, which may be any but the spent ones of earlier runs; least counts only if exact.
	granted bool
	spent   []int
	// recovers: the attempt only finds out where the stored run ended. Its world has no room's block, since it may hold an image
	// of any, also one above the granted.
	recovers bool
}

// next returns the plan of another attempt to begin a run from an image, or to continue one in the block own.
func (p *buildPlan) next(from *world.Image, own int, continues bool, crash *crashLoop) *buildPlan {
	next := &buildPlan{least: own, exact: continues, from: from, crash: crash, granted: p.granted, spent: append(p.spent, blockOf(from.NewestGeneration()))}
	if !continues {
		next.least = blockAbove(from.NewestGeneration())
	}
	return next
}

// mayHaveBlock reports whether RestoreRun has failed since the image's run may have issued generations of a granted block. The
// first two attempts count: the image may be unusable otherwise too.
func (p *buildPlan) mayHaveBlock(failed error) bool {
	return p.granted && len(p.spent) < maxSpent && errors.Is(failed, world.ErrImageWorld)
}

// maxSpent bounds buildPlan.spent, to which an attempt adds two at most.
const maxSpent = 4

// suits reports whether a new run from an image may begin in a block.
func (p *buildPlan) suits(block int, from *world.Image) bool {
	if p.granted {
		return block != blockOf(from.NewestGeneration()) && !slices.Contains(p.spent, block)
	}
	return generationsOf(block).First >= generationsOf(blockAbove(from.NewestGeneration())).First
}

// takeBlock takes a block for the plan. If the exact one is not free, the plan becomes a new run.
func (p *buildPlan) takeBlock(r *ranges) (int, error) {
	if p.exact && r.takeExactly(p.least) {
		p.from = nil
		return p.least, nil
	}
	if p.exact {
		p.exact, p.least = false, blockAbove(p.from.NewestGeneration())
	}
	return r.takeBlock(p.least)
}

// buildAboveImage returns a run whose range of generations is above the image's, or the range of the run that it
// continues. If that needs another range than the store has recorded, it makes the world again.
func (l *roomLife) buildAboveImage(ctx context.Context, store *imagefile.Store) (*run, error) {
	plan := l.firstPlan(store)
	for {
		block, err := l.takeBlock(ctx, plan)
		if err != nil {
			return nil, fmt.Errorf("server: %w", err)
		}
		made, next, err := l.buildInBlock(block, store, plan)
		if err == nil && made != nil {
			return made, nil
		}
		l.releaseBlock(block)
		if err != nil {
			return nil, err
		}
		plan = next
	}
}

// firstPlan returns the plan of the first attempt. In a cluster that is to continue the stored run, if the room has its block.
func (l *roomLife) firstPlan(store *imagefile.Store) *buildPlan {
	g := l.grant
	switch {
	case g != nil && store != nil:
		return l.firstGrantedPlan(g.Block(), store)
	case store == nil || store.NewestGeneration() == 0:
		return &buildPlan{granted: g != nil}
	}
	return &buildPlan{least: blockAbove(store.NewestGeneration())}
}

func (l *roomLife) firstGrantedPlan(block int, store *imagefile.Store) *buildPlan {
	own, hasImage := l.rooms.images.imageBlock(l.room)
	p := &buildPlan{granted: true}
	if newest := store.NewestGeneration(); newest != 0 {
		p.spent = append(p.spent, blockOf(newest))
	}
	if !hasImage {
		return p
	}
	p.least, p.exact = own, own == block && l.rooms.images.hasJournal(l.kind)
	p.recovers = !p.exact
	return p
}

// takeBlock takes a block of generations for the plan. In a cluster the room has one.
func (l *roomLife) takeBlock(ctx context.Context, plan *buildPlan) (int, error) {
	if l.grant != nil {
		return l.takeGrantedBlock(ctx, plan)
	}
	l.rooms.mu.Lock()
	defer l.rooms.mu.Unlock()
	return plan.takeBlock(&l.rooms.ranges)
}

// releaseBlock frees a block in which no run has begun. In a cluster the room keeps it for the next attempt.
func (l *roomLife) releaseBlock(block int) {
	if l.grant != nil {
		return
	}
	l.rooms.mu.Lock()
	defer l.rooms.mu.Unlock()
	l.rooms.ranges.releaseBlock(block)
}

// buildInBlock returns a run that uses a block of generations, or the plan of the next attempt.
func (l *roomLife) buildInBlock(block int, store *imagefile.Store, plan *buildPlan) (made *run, next *buildPlan, err error) {
	q := RoomRequest{Name: l.room.name, Kind: l.room.kind, ID: l.room.id, Generations: generationsOf(block), Attributes: l.room.asked}
	if plan.recovers {
		q.Generations = Generations{1, lastGeneration}
	}
	var g *RoomGame
	err = l.callGame("New", func() (err error) {
		g, err = l.kind.New(q)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("server: room %s: %w", l.room.name, err)
	}
	defer func() {
		if made == nil && g != nil {
			l.discardGame(g)
		}
	}()
	c, err := g.sessionConfig(l.rooms.process, l.kind.RoomKind, q)
	if err != nil {
		return nil, nil, fmt.Errorf("server: room %s: %w", l.room.name, err)
	}
	c.Router = l.rooms.router
	log := l.room.logger(l.rooms.log)
	var image ImageConfig
	record := &roomRecord{room: l.room, usual: l.kind.Visibility}
	record.keepIn(g)
	if store != nil {
		image = ImageConfig{Store: store, Every: l.rooms.config.Images.Every, Journal: l.rooms.config.Images.Journal, Extra: g.Extra}
		err = l.callGame("RestoreRun", func() (err error) {
			next, err = g.restoreImage(c, log, &image, l.olderImage(), plan, block)
			return err
		})
		switch above := plan.granted && plan.exact && errors.Is(err, world.ErrImageWorld); {
		case above: // perhaps it came from a node with a higher block
			next, err = &buildPlan{granted: true, spent: plan.spent, recovers: true}, nil
		case err == nil && next == nil && plan.recovers: // there is no image
			next = &buildPlan{granted: true, spent: plan.spent}
		}
		if err != nil || next != nil {
			return nil, next, err
		}
		if run := image.restored; run != nil {
			c.Epoch, c.Replication.TickBase = run.epoch, run.tickBase
		}
	}
	if made, err = newRun(c, image, log, l.kind.ticks, l.rooms.descriptors, newTracer(l.rooms.process.Trace, l.rooms.departures, c)); err != nil {
		return nil, nil, err
	}
	if err = made.core.RestoreSeats(record.seats); err != nil {
		made.discard()
		return nil, nil, err
	}
	made.loop.permit = l.newPermit(made.log)
	made.loop.saver.permit = made.loop.permit
	made.pointer = l.newImagePointer(store)
	if made.pointer != nil {
		store.ConfirmBy(made.pointer.confirm)
	}
	if made.loop.journal != nil {
		made.loop.journal.permit = made.loop.permit
	}
	made.block, made.ended, made.reload, made.saveArrivals = block, g.Ended, g.Reload, l.rooms.images.saveArrivals
	if !l.kind.isPinned(l.room) && !l.byOperator() { // a client that does not enter the room must not cause images: they would fill the disk or stay young
		held := image.restored != nil && image.restored.sessions.Sessions() > 0 // even if their restore ends them: Leave is called once
		made.loop.saver.unused = func() bool {
			s := made.core.Stats()
			return !held && s.Joined+s.MovedIn+s.Calls == 0
		}
	}
	made.loop.ticks = newTickHistogram(roomDigits)
	made.loop.offset = time.Duration(float64(made.loop.interval) * math.Mod(float64(block)*math.Phi, 1)) // spreads the ticks of rooms over time
	if err = l.beginRun(g, made); err != nil {
		made.discard()
		made = nil
	}
	return made, nil, err
}

// beginRun attaches the game to the room, and begins the run.
func (l *roomLife) beginRun(g *RoomGame, made *run) error {
	if err := l.checkSchema(made); err != nil {
		return err
	}
	l.room.run.Store(made) // hooks may use the room while sessions are restored
	err := l.callGame("Attach", func() error {
		if g.Attach != nil {
			g.Attach(l.room)
		}
		return nil
	})
	if err == nil {
		err = l.callGame("Extra", made.begin)
	}
	if err != nil {
		l.room.run.Store(nil)
	}
	return err
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

// restoreImage restores the world from the plan's image, or else from the store: from the older image
// of that number, or if older is 0, from the newest valid one and the journal after it. It sets the run that
// continues, or nil for a new run. If this block does not suit, it returns the plan of the next attempt: a run
// continues in its own block, and a new one begins above all earlier generations.
func (g *RoomGame) restoreImage(in session.Config, log *zap.Logger, image *ImageConfig, older int, plan *buildPlan, block int) (*buildPlan, error) {
	from := plan.from
	image.crash = plan.crash
	if from == nil {
		c := Config{WorldConfig: g.WorldConfig, Image: *image}
		r := Restoring{Generation: older, RestoreRun: g.RestoreRun, LoadExtra: g.LoadExtra, Edited: g.Edited, Log: log}
		found, run, err := c.recover(&r)
		if err != nil || found.Image == nil {
			return nil, explainRestore(image.Store, err)
		}
		image.crash = c.Image.crash
		from = found.Image
		if found.Run != 0 {
			continues := c.mayContinue(&found) && !r.isEdited(&found, run) && !run.isNearlySpent(g.World)
			own := blockOf(g.World.Config().FirstGeneration)
			if continues && own == block && !plan.recovers {
				image.restored = run
				return nil, explainRestore(image.Store, c.continueRun(&r, &found, run))
			}
			if !continues {
				run.endSessions(in, &r, image.Extra, found.Run)
			}
			return plan.next(c.takeRecovered(run), own, continues, image.crash), nil
		}
	}
	if plan.recovers || !plan.suits(block, from) || g.World.Config().FirstGeneration != generationsOf(block).First { // Recover may have changed it
		return plan.next(from, block, false, image.crash), nil
	}
	r := Restoring{RestoreRun: g.RestoreRun}
	err := r.beginRun(g.World, from)
	if plan.mayHaveBlock(err) {
		next := plan.next(from, block, false, image.crash)
		next.spent = append(next.spent, block)
		return next, nil
	}
	return nil, explainRestore(image.Store, err)
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
