package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/worldd/worldd/world"
)

// ErrHandOver is the cause of the context that ends Serve for another process, which continues the world on the
// same sockets.
var ErrHandOver = errors.New("server: another process continues")

// handOverGoodbye bounds the wait for clients to disconnect in a hand-over. The next process resets the connections of
// the others.
const handOverGoodbye = 100 * time.Millisecond

// Sockets are bound sockets that outlast the process: another one with them continues on the same ports. Packets that arrive while no process reads wait in them.
type Sockets struct {
	Clients *os.File // UDP
	Admin   *os.File // TCP, listening; nil without an admin port
	// StatelessResetKey resets the connections of the server before: its Config.StatelessResetKey, which the next one takes over.
	StatelessResetKey *[32]byte
}

// Sockets returns duplicates of the server's sockets. The caller closes them.
func (s *Server) Sockets() (*Sockets, error) {
	clients, err := s.quic.Socket()
	if err != nil {
		return nil, fmt.Errorf("server: the socket for clients: %w", err)
	}
	all := &Sockets{Clients: clients, StatelessResetKey: s.resetKey()}
	if s.admin != nil {
		if all.Admin, err = s.admin.Socket(); err != nil {
			return nil, errors.Join(fmt.Errorf("server: the socket of the admin port: %w", err), all.Close())
		}
	}
	return all, nil
}

// resetKey returns the key of the server before, or else the configured one.
func (s *Server) resetKey() *[32]byte {
	if s.config.Sockets != nil && s.config.Sockets.StatelessResetKey != nil {
		return s.config.Sockets.StatelessResetKey
	}
	return s.config.StatelessResetKey
}

// Close closes these duplicates.
func (s *Sockets) Close() error {
	err := s.Clients.Close()
	if s.Admin != nil {
		err = errors.Join(err, s.Admin.Close())
	}
	return err
}

func (s *Sockets) clients() *os.File {
	if s == nil {
		return nil
	}
	return s.Clients
}

func (s *Sockets) admin() *os.File {
	if s == nil {
		return nil
	}
	return s.Admin
}

// CheckHandOver returns why the server's sessions could not pass to another process now, or nil: its last save would
// probably fail, or the next start begins another run.
func (s *Server) CheckHandOver() error {
	if s.rooms == nil {
		return s.room.run.Load().checkHandOver()
	}
	for _, r := range s.rooms.sortedRooms() {
		if now := r.run.Load(); now != nil {
			if err := now.checkHandOver(); err != nil {
				return fmt.Errorf("room %s: %w", r.name, err)
			}
		}
	}
	return nil
}

// checkHandOver is Server.CheckHandOver of one run. Any goroutine may call it.
func (r *run) checkHandOver() error {
	switch {
	case r.loop.journal.report().Suspended > 0:
		return errors.New("a journal is suspended: wait until the next image is saved")
	case r.loop.saver.fails():
		return errors.New("the world could not be saved: see the log for the reason")
	case r.loop.expiring.Load():
		return errors.New("the run is in its last month, and ends with the process: restart the server instead")
	}
	return nil
}

// CheckContinues reads the newest image of a running server, and returns why its run and its sessions could not
// continue in this process, or nil. It changes nothing: call it before Restore, which needs the end of that server. It reads the
// beginning of the image alone, unless the game's files may have changed (Restoring.Edited), or the image differs.
func (c *Config) CheckContinues(image io.ReadSeeker, r Restoring) error {
	if c.Hooks.SaveSession == nil {
		return errors.New("server: the game has no Hooks.SaveSession: its sessions cannot continue")
	}
	head, err := world.ReadImageHead(image)
	own := world.Image{}
	c.World.TakeImage(&own)
	if err == nil && head.Setup() == own.Setup() && r.Edited == nil {
		return nil
	}
	_, err = image.Seek(0, io.SeekStart)
	if err != nil {
		return fmt.Errorf("server: the image of the running server: %w", err)
	}
	img, err := c.World.ReadImage(bufio.NewReaderSize(image, 1<<20))
	if err != nil {
		return fmt.Errorf("server: the image of the running server: %w", err)
	}
	if changes := img.Changes(); len(changes) > 0 {
		return fmt.Errorf("server: the image is not as this program saves it, and a new run would begin: %v", changes[0])
	}
	if r.Edited != nil && r.Edited(img.Extra) {
		return errors.New("server: a new run would begin, since the game's files have changed")
	}
	return nil
}

func isHandOver(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrHandOver) }

// stopAccepting refuses new clients, or leaves them to the next process.
func (s *Server) stopAccepting(ctx context.Context) {
	if isHandOver(ctx) {
		s.quic.StopAccepting()
	} else {
		s.quic.Refuse()
	}
}

// goodbyeTimeout bounds the wait for clients to disconnect.
func (s *Server) goodbyeTimeout(ctx context.Context) time.Duration {
	if isHandOver(ctx) {
		return handOverGoodbye
	}
	return s.config.DrainTimeout
}
