package host

import (
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/world"
)

// openImage opens the image store of serve, with links resolved.
func openImage(path string, keep int, log *zap.Logger) (*imagefile.Store, error) {
	store, err := imagefile.Open(path, keep)
	if errors.Is(err, imagefile.ErrInUse) {
		return nil, fmt.Errorf("another server saves to the image %s: stop it first, or give each server its own file (%w)", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot use the image %s: %w", path, err)
	}
	if why := store.Unlocked(); why != nil {
		log.Warn("the image is not locked: make sure that no other server saves to it", zap.String("path", store.Path()), zap.Error(why))
	}
	return store, nil
}

// restore restores the newest valid image, if any, and reports it. Unusable
// images are an error: a new world would overwrite what might be rescued.
func restore(g *Game, store *imagefile.Store, p *program, log *zap.Logger) error {
	found, err := store.Load(g.World)
	if err == nil && found.Image == nil {
		return nil
	}
	if err == nil {
		err = g.RestoreRun(found.Image)
	}
	away := fmt.Sprintf("move it and its older copies (%s*) away to start a new world", store.Path())
	switch {
	case errors.Is(err, world.ErrImageWorld):
		return fmt.Errorf("cannot restore the image: %w; serve the world that saved it, or %s", err, away)
	case errors.Is(err, world.ErrImageVersion):
		return fmt.Errorf("cannot restore the image: %w; use the version of %s that saved it, or %s", err, p.Name, away)
	case err != nil:
		return fmt.Errorf("cannot restore the image: %w; replace it with a backup, or %s", err, away)
	}
	if found.Generation > 0 {
		log.Error("restored an older image: everything since it was saved is lost; damaged images were renamed to .damaged",
			zap.String("path", found.Path), zap.Int("generation", found.Generation), zap.Uint64("tick", found.Image.Tick()),
			zap.Time("saved", found.Saved), zap.Errors("damaged", found.Damaged))
	}
	g.logRestored(log)
	p.print("restored from %s: tick %d, %d entities", found.Path, g.World.Tick(), g.World.Stats().Entities)
	return nil
}
