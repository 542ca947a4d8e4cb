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
	entries := []Entry{
		{Run: 7, Number: 1, Player: "ann", Loads: true},
		{Run: 7, Number: 2, Player: "ann", Coins: 10},
		{Run: 7, Number: 3, Player: "ann", Coins: -hatPrice, Hats: 1},
		{Run: 7, Number: 4, Player: "ann", Loads: true},
	}
	for range 2 {
		found, err := accounts.Apply(t.Context(), entries)
		require.NoError(t, err)
		require.Equal(t, Account{10 - hatPrice, 1}, found[3].Account)
	}
	_, err := accounts.Apply(t.Context(), []Entry{{Run: 8, Number: 2, Player: "ann", Coins: 10}, {Run: 8, Number: 3, Player: "\x00"}}) // no login has this name
	require.ErrorContains(t, err, "invalid byte sequence")
	found, err := accounts.Apply(t.Context(), []Entry{{Run: 8, Number: 2, Player: "ann", Coins: 10}, {Run: 8, Number: 4, Player: "ann", Loads: true}})
	require.NoError(t, err)
	require.Equal(t, Account{20 - hatPrice, 1}, found[1].Account, "another run's number")
}

// bring brings the oldest entries to the database and their results back, as transfer does.
func bring(t *testing.T, b *Bank, accounts *Accounts) {
	oldest := b.oldest()
	var err error
	oldest.results, err = accounts.Apply(t.Context(), oldest.entries)
	require.NoError(t, err)
	again, err := accounts.Apply(t.Context(), oldest.entries)
	require.NoError(t, err)
	for i := range again {
		require.Equal(t, oldest.results[i].Refused, again[i].Refused, "a crash may repeat the batch")
	}
	b.settle(oldest)
	b.world.Step()
}

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
	g, err := NewGame(1, 7)
	require.NoError(t, err)
	purses := map[string]world.Entity{}
	for _, name := range []string{"ann", "bob"} {
		e, err := g.world.Spawn(g.miner, world.Vec3{}, world.Vec3{})
		require.NoError(t, err)
		g.purses.Set(e, Purse{Player: name})
		require.NoError(t, g.bank.Load(e))
		purses[name] = e
	}
	bring(t, g.bank, accounts)
	require.Equal(t, Purse{"bob", true, 3_000_000_000, 0}, *g.purses.Get(purses["bob"]))

	set("ann", 2)
	require.NoError(t, g.bank.Change(purses["ann"], -hatPrice, 1))
	require.NoError(t, g.bank.Change(purses["bob"], -hatPrice, 1))
	require.NoError(t, g.bank.Change(purses["ann"], -hatPrice, 1))
	bring(t, g.bank, accounts)
	require.Equal(t, Purse{"bob", true, 3_000_000_000 - hatPrice, 1}, *g.purses.Get(purses["bob"]))
	require.ErrorIs(t, g.bank.Change(purses["ann"], 1, 0), errLoading)
	bring(t, g.bank, accounts)
	require.Equal(t, Purse{"ann", true, 2, 0}, *g.purses.Get(purses["ann"]))
	require.NoError(t, g.bank.Change(purses["ann"], 1, 0))
	set("bob", math.MaxInt64)
	require.NoError(t, g.bank.Change(purses["bob"], 1, 0))
	bring(t, g.bank, accounts)
	bring(t, g.bank, accounts)
	require.Equal(t, Purse{"bob", true, math.MaxInt64, 1}, *g.purses.Get(purses["bob"]))
	require.Zero(t, g.bank.Len())
	var refused string
	require.NoError(t, db.pool.QueryRow(t.Context(), "SELECT string_agg(format('%s %s %s', player, coins, hats), ', ' ORDER BY number) FROM refused").Scan(&refused))
	require.Equal(t, "ann -5 1, ann -5 1, bob 1 0", refused)
}

// A player whom the closed bank refuses leaves nothing in the world, and the client tries again.
func TestJoinClosedBank(t *testing.T) {
	g, err := NewGame(1, 7)
	require.NoError(t, err)
	for range maxEntries {
		require.NoError(t, g.bank.enter(Entry{Player: "ann", Coins: 1}))
	}
	_, err = g.join(&server.Session{})
	require.Equal(t, wire.ServerFull, wire.CodeOf(err))
	g.world.Step()
	require.Zero(t, g.purses.Presence().Count())
	require.Equal(t, 1+maxEntries, g.world.Live().Count(), "the book and the entries")
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
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
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
