//go:build unix

package main

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/outbox"
	"github.com/worldd/worldd/world"
)

const asMain = "ACCOUNTS_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		main()
	}
	os.Exit(m.Run())
}

// service is the game's server, a process that the test kills, and its database.
type service struct {
	t           *testing.T
	dir         string
	addr, admin string
	db          *database
	run         *exec.Cmd
}

func (s *service) start() {
	self, err := os.Executable()
	require.NoError(s.t, err)
	s.run = exec.CommandContext(s.t.Context(), self, "serve", "--listen="+s.addr, "--admin="+s.admin,
		"--image=world.image", "--image-every=1s", "--journal=always", "--identity=identity.pem")
	s.run.Dir = s.dir
	s.run.Env = append(os.Environ(), asMain+"=1", "ACCOUNTS_DATABASE="+s.db.url)
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(s.t, err)
	defer log.Close()
	s.run.Stdout, s.run.Stderr = log, log
	require.NoError(s.t, s.run.Start())
}

func (s *service) end(by syscall.Signal) {
	_ = s.run.Process.Signal(by)
	_ = s.run.Wait()
}

// get returns a page of the admin port.
func (s *service) get(path string) string {
	response, err := http.Get("http://" + s.admin + path)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return strings.TrimSpace(string(text))
}

func freeAddress(t *testing.T, network string) string {
	if network == "udp" {
		c, err := net.ListenPacket("udp", "127.0.0.1:0")
		require.NoError(t, err)
		defer c.Close()
		return c.LocalAddr().String()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// player mines and buys all the time, and counts what the server has promised.
type player struct {
	*client.Client
	name        string
	asked       []*client.Future
	bought      []bool // for each of asked: it was a hat
	coins, hats int64  // promised by answers
	unsure      int64  // commands that have no answer
	done        int    // commands
}

func (p *player) frame() error {
	for len(p.asked) < 4 && p.State() == client.Joined {
		buys := (p.done+len(p.asked))%7 == 6
		ask := func() (*client.Future, error) { return client.Do(p.Client, MineCommand, 0, Mine{}) }
		if buys {
			ask = func() (*client.Future, error) { return client.Do(p.Client, BuyCommand, 0, Buy{}) }
		}
		f, err := ask()
		if err != nil {
			break
		}
		p.asked, p.bought = append(p.asked, f), append(p.bought, buys)
	}
	err := p.Update()
	return errors.Join(err, p.count())
}

// count takes the answers.
func (p *player) count() error {
	for len(p.asked) > 0 {
		r, ok := p.asked[0].Poll()
		if !ok {
			return nil
		}
		var refused *client.Rejection
		switch {
		case r.Err == nil && p.bought[0]:
			p.coins, p.hats = p.coins-hatPrice, p.hats+1
		case r.Err == nil:
			p.coins++
		case errors.Is(r.Err, client.ErrUnanswered):
			p.unsure++
		case !errors.As(r.Err, &refused):
			return r.Err
		}
		p.asked, p.bought, p.done = p.asked[1:], p.bought[1:], p.done+1
	}
	return nil
}

// purse returns the own purse.
func (p *player) purse() Purse {
	v, _ := client.Of(Purses).Get(p.Replica().Entity(p.Controlled()))
	return v
}

// The database applies an entry once, however often it is sent, and all entries of a batch or none.
func TestApplyTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a database")
	}
	db := newDatabase(t)
	accounts := &Accounts{db.pool}
	entry := func(run, number uint64, e Effect) outbox.Entry[Effect] {
		return outbox.Entry[Effect]{ID: outbox.ID{Run: run, Number: number}, Value: e}
	}
	loads, earns := Effect{Player: "ann", Loads: true}, Effect{Player: "ann", Coins: 10}
	entries := []outbox.Entry[Effect]{
		entry(7, 1, loads),
		entry(7, 2, earns),
		entry(7, 3, Effect{Player: "ann", Coins: -hatPrice, Hats: 1}),
		entry(7, 4, loads),
	}
	for range 2 {
		found, err := accounts.Apply(t.Context(), entries)
		require.NoError(t, err)
		require.Equal(t, Account{10 - hatPrice, 1}, found[3].Account)
	}
	_, err := accounts.Apply(t.Context(), []outbox.Entry[Effect]{entry(8, 2, earns), entry(8, 3, Effect{Player: "\x00"})}) // no login has this name
	require.ErrorContains(t, err, "invalid byte sequence")
	found, err := accounts.Apply(t.Context(), []outbox.Entry[Effect]{entry(8, 2, earns), entry(8, 4, loads)})
	require.NoError(t, err)
	require.Equal(t, Account{20 - hatPrice, 1}, found[1].Account, "another run's number")
}

// counter is a bank at work, in a server.
type counter struct {
	*testing.T
	*Game
	room *server.Room
}

func openCounter(t *testing.T, accounts *Accounts) *counter {
	g, err := NewGame(1)
	require.NoError(t, err)
	s, err := server.Listen(server.Config{Listen: "127.0.0.1:0", WorldConfig: g.instance().WorldConfig})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	go g.bank.Work(ctx, s.Room(), accounts)
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	c := &counter{t, g, s.Room()}
	c.until(func() bool {
		return !errors.Is(g.bank.out.Put(Effect{Player: "nobody", Loads: true}), outbox.ErrClosed)
	})
	return c
}

// do runs f between two ticks.
func (c *counter) do(f func()) {
	require.NoError(c, c.room.Do(c.Context(), func(*world.World) error {
		f()
		return nil
	}))
}

func (c *counter) until(done func() bool) {
	for ended := false; !ended; {
		c.do(func() { ended = done() })
	}
}

// settle waits until the database has all effects.
func (c *counter) settle() { c.until(func() bool { return c.bank.out.Len() == 0 }) }

// A web shop takes coins that a purse still shows. The database refuses what the player buys with them: it sets the
// effect aside, and the purse shows the account again. Other players' entries are applied.
func TestRefusedEffect(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a database")
	}
	db := newDatabase(t)
	accounts := &Accounts{db.pool}
	set := func(player string, coins int64) {
		_, err := db.pool.Exec(t.Context(), "INSERT INTO accounts VALUES ($1, $2, 0) ON CONFLICT (player) DO UPDATE SET coins = $2", player, coins)
		require.NoError(t, err)
	}
	set("ann", 10)
	set("bob", 3_000_000_000) // more than an int32 holds
	c := openCounter(t, accounts)
	purses := map[string]world.Entity{}
	c.do(func() {
		for _, name := range []string{"ann", "bob"} {
			e, err := c.world.Spawn(c.miner, world.Vec3{}, world.Vec3{})
			require.NoError(t, err)
			c.Game.purses.Set(e, Purse{Player: name})
			require.NoError(t, c.bank.Load(e))
			require.ErrorIs(t, c.bank.Change(e, 1, 0), errLoading)
			purses[name] = e
		}
	})
	change := func(name string, coins, hats int64) { require.NoError(t, c.bank.Change(purses[name], coins, hats)) }
	has := func(name string, coins, hats int64) {
		c.settle()
		c.do(func() { require.Equal(t, Purse{name, true, coins, hats}, *c.Game.purses.Get(purses[name])) })
	}
	has("ann", 10, 0)
	has("bob", 3_000_000_000, 0)

	set("ann", 2)
	c.do(func() {
		change("ann", -hatPrice, 1)
		change("bob", -hatPrice, 1)
		change("ann", -hatPrice, 1)
	})
	has("bob", 3_000_000_000-hatPrice, 1)
	has("ann", 2, 0)
	c.do(func() { change("ann", 1, 0) })
	set("bob", math.MaxInt64)
	c.do(func() { change("bob", 1, 0) })
	has("bob", math.MaxInt64, 1)
	has("ann", 3, 0)
	var refused string
	require.NoError(t, db.pool.QueryRow(t.Context(), "SELECT string_agg(format('%s %s %s', player, coins, hats), ', ' ORDER BY number) FROM refused").Scan(&refused))
	require.Equal(t, "ann -5 1, ann -5 1, bob 1 0", refused)
}

// A player whom the closed bank refuses leaves nothing in the world, and the client tries again.
func TestJoinClosedBank(t *testing.T) {
	g, err := NewGame(1)
	require.NoError(t, err)
	_, err = g.join(&server.Session{})
	require.Equal(t, wire.ServerFull, wire.CodeOf(err))
	g.world.Step()
	require.Zero(t, g.purses.Presence().Count())
	require.Equal(t, 1, g.world.Live().Count(), "the outbox's book")
}

// While players earn and spend, the server and the database are killed, alone and together. At the end all accounts
// are what the players were promised, and what the world says: nothing is lost, and nothing counts twice.
func TestExactlyOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("kills servers")
	}
	s := &service{t: t, dir: t.TempDir(), addr: freeAddress(t, "udp"), admin: freeAddress(t, "tcp"), db: newDatabase(t)}
	s.start()
	t.Cleanup(func() { s.end(syscall.SIGKILL) })
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	var players []*player
	for _, name := range []string{"ann", "bob", "eve"} {
		_, err := s.db.pool.Exec(ctx, "INSERT INTO logins VALUES ($1, $2, now() + '1 hour')", "key of "+name, name)
		require.NoError(t, err)
		p := &player{name: name}
		for p.Client == nil {
			c, err := client.Dial(ctx, client.Config{Addr: s.addr, InsecureDev: true, Schema: Protocol, Token: []byte("key of " + name)})
			if err == nil {
				p.Client = c
			}
			require.NoError(t, ctx.Err())
		}
		players = append(players, p)
	}
	_, err := client.Dial(ctx, client.Config{Addr: s.addr, InsecureDev: true, Schema: Protocol, Token: []byte("no key")})
	require.Equal(t, wire.Unauthorized, wire.CodeOf(err))

	play := func(commands int, more func() bool) {
		before := players[0].done
		for n := 0; players[0].done < before+commands || more(); n++ {
			for _, p := range players {
				require.NoError(t, p.frame())
			}
			require.NoError(t, players[n%3].Wait(ctx))
		}
	}
	never := func() bool { return false }
	play(20, never)
	s.end(syscall.SIGKILL) // the server alone
	s.start()
	play(30, never)
	s.db.kill() // the database alone: the game plays on
	play(30, never)
	s.end(syscall.SIGKILL) // and the server, whose entries wait
	s.db.start()
	s.start()
	play(30, never)
	s.db.kill()
	s.db.start()
	play(30, never)
	s.end(syscall.SIGTERM)
	s.start()
	play(30, never)

	for len(players[0].asked)+len(players[1].asked)+len(players[2].asked) > 0 || s.get("/game/bank") != "0" {
		for _, p := range players {
			require.NoError(t, errors.Join(p.Update(), p.count()))
		}
		require.NoError(t, players[0].Wait(ctx))
	}
	require.NoError(t, players[0].Wait(ctx))
	for _, p := range players {
		require.NoError(t, p.Update())
		var has Account
		require.NoError(t, s.db.pool.QueryRow(ctx, "SELECT coins, hats FROM accounts WHERE player = $1", p.name).Scan(&has.Coins, &has.Hats))
		t.Logf("%s: %+v, promised %d coins and %d hats, %d commands unanswered", p.name, has, p.coins, p.hats, p.unsure)
		require.Equal(t, Account{p.purse().Coins, p.purse().Hats}, has)
		require.InDelta(t, p.hats, has.Hats, float64(p.unsure))
		require.InDelta(t, p.coins, has.Coins, float64(p.unsure*hatPrice))
		require.Positive(t, has.Hats)
	}
	require.NoError(t, ctx.Err())
}
