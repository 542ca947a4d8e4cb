package host

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.uber.org/zap"

	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/imagefile"
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
	if err := c.restoreWorld(g, store, p, config.Log); err != nil {
		return errors.Join(err, store.Close())
	}
	config.Image = server.ImageConfig{Store: store, Every: c.ImageEvery, Take: g.TakeImage}
	return nil
}

// restoreWorld restores the newest valid image or the chosen generation, if there is one, and
// reports it. Unusable images are an error: saving a new world would overwrite data that might
// be rescued.
func (c *serveCommand) restoreWorld(g *Instance, store *imagefile.Store, p *program, log *zap.Logger) error {
	n, err := c.imageGeneration()
	if err != nil {
		return err
	}
	found, err := store.LoadGeneration(g.World, n)
	if err == nil && found.Image == nil {
		return nil
	}
	if err == nil {
		err = g.RestoreRun(found.Image)
	}
	if err != nil {
		return fmt.Errorf("cannot restore the image: %w", fileError{store.Explain(err)})
	}
	if found.Generation > 0 {
		log.Error("restored an older image: everything since it was saved is lost",
			zap.String("path", found.Path), zap.Int("generation", found.Generation), zap.Uint64("tick", found.Image.Tick()),
			zap.Time("saved", found.Saved), zap.Errors("damaged", found.Damaged), zap.Strings("skipped", found.Skipped))
	}
	for _, change := range found.Image.Changes() {
		log.Warn("not as in the image: " + change.String())
	}
	g.logRestored(log)
	p.printLine("restored from %s: tick %d, %d entities", found.Path, g.World.Tick(), g.World.Stats().Entities)
	return nil
}
