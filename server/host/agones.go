package host

import (
	"context"
	"fmt"
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/agones"
)

// agonesFlags say whether the server belongs to a fleet of Agones.
type agonesFlags struct {
	Agones string `enum:"auto,off" default:"auto" placeholder:"MODE" help:"Report to the sidecar of Agones: auto if AGONES_SDK_HTTP_PORT is set, or off."`
}

const (
	// agonesPort is the variable that Agones sets in the pods of game servers.
	agonesPort = "AGONES_SDK_HTTP_PORT"
	// sidecarTimeout bounds the wait for the address of a server whose sidecar starts with it.
	sidecarTimeout = 30 * time.Second
	// shutdownTimeout bounds the last call to the sidecar.
	shutdownTimeout = 3 * time.Second
)

func (f *agonesFlags) inFleet() bool { return f.Agones != "off" && os.Getenv(agonesPort) != "" }

// fleetMember is a server of a fleet. nil is any other server.
type fleetMember struct {
	sidecar *agones.Sidecar
	log     *zap.Logger
	served  bool
}

// joinFleet finds the sidecar, or returns nil without one. A node of a cluster without --advertise gets its address.
func (c *serveCommand) joinFleet(ctx context.Context, log *zap.Logger) (*fleetMember, error) {
	if !c.inFleet() {
		return nil, nil
	}
	sidecar, err := agones.New(os.Getenv(agonesPort), log)
	if err != nil {
		return nil, usageError("%s: %w", agonesPort, err)
	}
	if len(c.Cluster) > 0 && len(c.Advertise) == 0 {
		ctx, cancel := context.WithTimeout(ctx, sidecarTimeout)
		defer cancel()
		address, err := sidecar.Address(ctx)
		if err != nil {
			return nil, err
		}
		log.Info("the address for players, from Agones", zap.String("addr", address))
		c.Advertise = []string{address}
	}
	return &fleetMember{sidecar: sidecar, log: log}, nil
}

// report reports the server until the returned function is called: also while players leave and rooms are saved.
func (f *fleetMember) report(s *server.Server, h *hosting) (end func()) {
	if f == nil {
		return func() {}
	}
	f.served = true
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.sidecar.Report(ctx, func() agones.Status { return fleetStatus(s, h) })
	}()
	return func() {
		cancel()
		<-ended
	}
}

// fleetStatus returns the server's state. A pinned room without sessions needs no server: any node of a fleet has it.
func fleetStatus(s *server.Server, h *hosting) agones.Status {
	r, sessions := s.Report(), s.Sessions()
	rooms, onDemand := h.countRooms()
	return agones.Status{
		Alive: time.Since(r.LastTick) < freshTick, Open: !r.LastTick.IsZero() && !s.Cordoned(),
		Needed: onDemand > 0 || sessions > 0, Rooms: rooms, Players: sessions,
	}
}

// leave tells Agones that the server has ended, unless another process continues it, or it has never served.
func (f *fleetMember) leave(next *handOver) {
	if f == nil || !f.served || next != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if err := f.sidecar.Shutdown(ctx); err != nil {
		f.log.Warn("the end of the server was not reported to Agones", zap.Error(fmt.Errorf("shutdown: %w", err)))
	}
}
