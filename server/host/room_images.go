package host

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/worldd/worldd/server"
)

// roomImageFlags bound the images of rooms.
type roomImageFlags struct {
	ImageRooms      int           `placeholder:"N" help:"Maximum number of saved rooms of a kind, ended ones included (the game's own, or 1000; needs --image, for games with rooms)."`
	ImageMB         int           `name:"image-mb" placeholder:"N" help:"Make no new rooms where all images of rooms have N megabytes (no limit; needs --image, for games with rooms)."`
	ImagePruneAfter time.Duration `placeholder:"TIME" help:"Remove the image of a room that nobody has entered for TIME. Without, only where --image-rooms or --image-mb leaves no place for a new room, and after 720h. If negative, never (needs --image, for games with rooms)."`
}

func (f *roomImageFlags) checkFlags(image string) error {
	switch {
	case f.ImageRooms < 0:
		return fmt.Errorf("--image-rooms is %d, want more than 0, or 0 for the game's own limit", f.ImageRooms)
	case f.ImageMB < 0 || f.ImageMB > maxRecordMB:
		return fmt.Errorf("--image-mb is %d, want 1 to %d, or 0 for no limit", f.ImageMB, int(maxRecordMB))
	case f.ImagePruneAfter > 0 && f.ImagePruneAfter < time.Hour:
		return fmt.Errorf("--image-prune-after is %v, want at least 1h", f.ImagePruneAfter)
	case *f != roomImageFlags{} && image == "":
		return errors.New("--image-rooms, --image-mb and --image-prune-after need --image DIR, where the rooms are saved")
	}
	return nil
}

// applyTo sets the bounds of r. r.Images must have a folder.
func (f *roomImageFlags) applyTo(r *server.RoomsConfig) {
	r.Images.MaxBytes, r.Images.PruneAfter = int64(f.ImageMB)*1e6, f.ImagePruneAfter
	for name, k := range r.Kinds {
		if !k.Unsaved {
			k.MaxImages = cmp.Or(f.ImageRooms, k.MaxImages)
			r.Kinds[name] = k
		}
	}
}
