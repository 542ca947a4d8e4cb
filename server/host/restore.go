package host

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.uber.org/zap"

	"github.com/worldd/worldd/server"
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

// generationOf returns a generation's number.
func generationOf(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > imagefile.MaxKeep {
		return 0, usageError("--image-generation: %q is no generation: want 0 to %d, as in FILE.old-2", text, imagefile.MaxKeep)
	}
	return n, nil
}

// imageGeneration returns the generation from which a single world starts.
func (c *serveCommand) imageGeneration() (int, error) {
	switch len(c.ImageGeneration) {
	case 0:
		return 0, nil
	case 1:
		return generationOf(c.ImageGeneration[0])
	}
	return 0, usageError("--image-generation is given %d times, but this game has one world", len(c.ImageGeneration))
}

// roomGenerations returns the generations from which rooms start, by room.
func (c *serveCommand) roomGenerations() (map[string]int, error) {
	var older map[string]int // nil without the flag, which needs images
	for _, text := range c.ImageGeneration {
		room, number, named := strings.Cut(text, "=")
		if !named {
			return nil, usageError("--image-generation: %q names no room: want ROOM=N, since this game has rooms", text)
		}
		n, err := generationOf(number)
		if err != nil {
			return nil, err
		}
		if older == nil {
			older = map[string]int{}
		}
		older[room] = n // Config.Validate checks the name
	}
	return older, nil
}

// restoreImage opens the image, restores the world from it, and makes config save the world there.
// The caller closes the store.
func (c *serveCommand) restoreImage(config *server.Config, g *Instance, p *program) error {
	store, err := openImage(c.Image, c.ImageKeep, config.Log)
	if err != nil {
		return err
	}
	if c.ImageStrict {
		store.RequireUnchanged()
	}
	config.Image = server.ImageConfig{Store: store, Every: c.ImageEvery, Journal: c.journalMode(), Extra: g.Extra}
	if err := c.restoreWorld(config, g, p); err != nil {
		return errors.Join(err, store.Close())
	}
	return nil
}

// restoreWorld restores the newest valid image and the journal after it, or the chosen generation, if there
// is one, and reports it. Unusable images are an error: saving a new world would overwrite data that might
// be rescued.
func (c *serveCommand) restoreWorld(config *server.Config, g *Instance, p *program) error {
	n, err := c.imageGeneration()
	if err != nil {
		return err
	}
	renewed := false
	found, err := config.Restore(server.Restoring{
		Generation: n, LoadExtra: g.LoadExtra, Edited: g.Edited, Log: config.Log,
		RestoreRun: func(img *world.Image) error {
			renewed = true
			return g.RestoreRun(img)
		},
	})
	if err != nil {
		return fileError{err}
	}
	if found.Image == nil {
		return nil
	}
	if renewed {
		g.logRestored(config.Log)
	}
	p.printLine("restored from %s: tick %d, %d entities", found.Path, g.World.Tick(), g.World.Stats().Entities)
	return nil
}
