package cookbook

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/world"
)

// Wallet is on each avatar.
type Wallet struct {
	Name  string `net:"max=16"`
	Coins uint32
}

var errNobody = errors.New("nobody has this name")

// giftGame has a page for operators: POST /game/gift?player=ann&coins=5.
type giftGame struct {
	wallets *world.Component[Wallet]
	server  *server.Server // set before it serves
}

// routes returns the pages. The admin port authorizes their requests, as all others.
func (g *giftGame) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /gift", func(w http.ResponseWriter, r *http.Request) {
		var gift struct {
			Player string
			Coins  uint32
		}
		if err := json.NewDecoder(r.Body).Decode(&gift); err != nil || gift.Coins > 1000 {
			http.Error(w, "want a Player, and Coins of at most 1000", http.StatusBadRequest)
			return
		}
		err := g.server.Room().Do(r.Context(), func(*world.World) error { return g.give(gift.Player, gift.Coins) })
		switch {
		case errors.Is(err, errNobody):
			http.Error(w, err.Error(), http.StatusNotFound)
		case errors.Is(err, server.ErrNotRun):
			http.Error(w, "try again: "+err.Error(), http.StatusServiceUnavailable)
		case err != nil: // it may have run: look before you repeat it
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	return mux
}

// give runs between two ticks.
func (g *giftGame) give(player string, coins uint32) error {
	for e, wallet := range g.wallets.All() {
		if wallet.Name == player {
			g.wallets.Mut(e).Coins += coins
			return nil
		}
	}
	return errNobody
}

func TestAdminAction(t *testing.T) {
	protocol := schema.NewWithBody()
	wallets := schema.Define[Wallet](protocol, "wallet")
	w, err := world.New(world.Config{Seed: 1})
	require.NoError(t, err)
	avatar := host.Must(w.AddKind(world.Kind{Name: "avatar", Body: &world.BodyDef{Kinematic: true}}))
	g := &giftGame{wallets: host.Must(server.Register(w, wallets, avatar))}
	c := server.Config{AdminListen: "127.0.0.1:0", AdminRoutes: g.routes(), WorldConfig: server.WorldConfig{World: w, Schema: protocol, Hooks: server.Hooks{
		Join: func(s *server.Session) (world.Entity, error) {
			e, err := w.Spawn(avatar, world.Vec3{}, world.Vec3{})
			g.wallets.Set(e, Wallet{Name: s.Name()})
			return e, err
		},
	}}}
	ctx, s := serve(t, c, func(s *server.Server) { g.server = s })
	ann := dial(t, ctx, s, client.Config{Name: "ann", Schema: protocol})
	post := func(body string) (int, string) {
		response, err := http.Post("http://"+s.AdminAddr().String()+"/game/gift", "application/json", strings.NewReader(body))
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(text)
	}
	status, text := post(`{"Player": "ann", "Coins": 5}`)
	require.Equal(t, http.StatusOK, status, text)
	until(t, ctx, ann, func() bool {
		wallet, _ := client.Of(wallets).Get(ann.Replica().Entity(ann.Controlled()))
		return wallet.Coins == 5
	})
	status, _ = post(`{"Player": "bob", "Coins": 5}`)
	require.Equal(t, http.StatusNotFound, status)
	status, _ = post(`{"Player": "ann", "Coins": 5000}`)
	require.Equal(t, http.StatusBadRequest, status)
}
