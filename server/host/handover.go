package host

import (
	"errors"
	"fmt"

	"github.com/worldd/worldd/internal/regularfile"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/world"
)

// offer is the message of a new process that is ready to continue the world of the running one.
type offer struct {
	Version int `json:"version"` // of the messages between the processes
	// The running process compares these with its own: another value needs a restart.
	Listen  string `json:"listen"`
	Admin   string `json:"admin"`
	Image   string `json:"image"`
	Journal string `json:"journal"`
	// Versions of the files that pass: the old executable must be able to continue, if the next process fails after it has written.
	ImageFormat   int `json:"image_format"`
	JournalFormat int `json:"journal_format"`
}

// offerVersion is the version of the hand-over's messages.
const offerVersion = 1

// newOffer returns the offer of a process with these flags.
func (c *serveCommand) newOffer() offer {
	return offer{offerVersion, c.Listen, c.Admin, c.Image, c.journalMode().String(), world.ImageVersion, world.JournalVersion}
}

// inheritance holds the sockets and the cordon that the old process passes.
type inheritance struct {
	sockets  *server.Sockets
	cordoned bool
}

// checkHandOver returns why the process cannot hand its world over, or nil.
func (c *serveCommand) checkHandOver(s *server.Server) error {
	if c.journalMode() == imagefile.JournalOff {
		return errors.New("the world passes by its image and journal: the server needs --image, and no --journal off")
	}
	if len(c.Cluster) > 0 {
		return errors.New("another node could take the rooms before the next process: restart this one instead")
	}
	if c.Identity == "" && c.Cert == "" {
		return errors.New("clients must recognize the next process: the server needs --identity or --cert")
	}
	return s.CheckHandOver()
}

// checkSucceeds returns why this process could not continue the world of the running one, or nil. Rooms are
// restored one by one, when their clients ask for them.
func (c *serveCommand) checkSucceeds(config *server.Config, g *Instance) error {
	if len(c.ImageGeneration) > 0 { // the command line of the running server, which has skipped images once
		return errors.New("--image-generation would return to an older image: restart the server without it")
	}
	if g == nil {
		return nil
	}
	file, err := regularfile.Open(c.Image)
	if err != nil {
		return fmt.Errorf("cannot read the image of the running server: %w", err)
	}
	defer file.Close()
	return config.CheckContinues(file, server.Restoring{Edited: g.Edited})
}
