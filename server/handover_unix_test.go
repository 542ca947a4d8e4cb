//go:build unix

package server_test

import (
	"bytes"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// TestCheckContinues: only the image of a run that this process could continue passes.
func TestCheckContinues(t *testing.T) {
	newConfig := func(seed uint64) *server.Config {
		w := stage.NewCrates(world.Config{Seed: seed})
		t.Cleanup(w.Close)
		return &server.Config{WorldConfig: server.WorldConfig{World: w.World, Hooks: server.Hooks{
			SaveSession:    func(_ *server.Session, b []byte) []byte { return b },
			RestoreSession: func(*server.Session, []byte) error { return nil },
		}}}
	}
	c := newConfig(1)
	img := world.Image{}
	c.World.TakeImage(&img)
	img.Extra = []byte("before")
	var file bytes.Buffer
	must.Get(img.WriteTo(&file))
	whole := file.Bytes()
	begin := whole[:len(whole)-16] // without the end, which says that it is whole
	require.NoError(t, c.CheckContinues(bytes.NewReader(begin), server.Restoring{}), "the world is not read")
	edited := server.Restoring{Edited: func(extra []byte) bool { return string(extra) == "before" }}
	require.NoError(t, c.CheckContinues(bytes.NewReader(whole), server.Restoring{}))
	require.ErrorContains(t, c.CheckContinues(bytes.NewReader(whole), edited), "files have changed")
	require.ErrorIs(t, c.CheckContinues(bytes.NewReader(whole[:len(whole)/2]), edited), world.ErrImage)
	require.ErrorContains(t, newConfig(2).CheckContinues(bytes.NewReader(whole), server.Restoring{}), "a new run would begin")
	c.Hooks.SaveSession = nil
	require.ErrorContains(t, c.CheckContinues(bytes.NewReader(whole), server.Restoring{}), "SaveSession")
}

// TestSocketsOutlastServer: clients and operators who connect between two servers reach the next one.
func TestSocketsOutlastServer(t *testing.T) {
	certificate := must.Get(server.KeptCertificate(t.TempDir() + "/identity.pem"))
	key := &[32]byte{1}
	old := newTestServerWith(t, func(c *server.Config) { c.Certificate, c.StatelessResetKey = certificate, key })
	g := must.Get(client.Dial(old.ctx, old.config()))
	sockets := must.Get(old.server.Sockets())
	old.endWith(server.ErrHandOver)
	for err := error(nil); wire.CodeOf(err) != wire.Draining; err = g.Update() {
		require.NoError(t, err)
		require.NoError(t, g.Wait(old.ctx))
	}
	_ = g.Close() // it has ended
	require.NoError(t, <-old.ended)
	old.ended <- nil // for close
	_, err := net.ListenUDP("udp", old.server.Addr())
	require.Error(t, err, "the port is never free")
	dialled, asked := make(chan error, 1), make(chan error, 1)
	go func() {
		c, err := client.Dial(old.ctx, old.config())
		for err != nil && strings.Contains(err.Error(), "no answer") { // the next server has not begun within 3 s
			c, err = client.Dial(old.ctx, old.config())
		}
		if err == nil {
			err = c.Close()
		}
		dialled <- err
	}()
	go func() {
		r, err := http.Get("http://" + old.server.AdminAddr().String() + "/readyz")
		if err == nil {
			err = r.Body.Close()
		}
		asked <- err
	}()
	next := newTestServerWith(t, func(c *server.Config) { c.Certificate, c.Sockets = certificate, sockets })
	require.NoError(t, sockets.Clients.Close())
	require.NoError(t, sockets.Admin.Close())
	require.NoError(t, <-dialled)
	require.NoError(t, <-asked)
	require.Equal(t, old.server.Addr(), next.server.Addr())
	again := must.Get(next.server.Sockets())
	require.Equal(t, key, again.StatelessResetKey, "also for the process after")
	require.NoError(t, again.Close())
}
