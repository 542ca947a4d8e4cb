//go:build unix

package main

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/loopback"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
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
		"--image=rooms", "--image-every=1s", "--journal=always", "--identity=identity.pem")
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

// signal sends a signal to the lobby, as a backend does, and returns the answer.
func (s *service) signal(name, args string) string {
	response, err := http.Post("http://"+s.admin+"/signals/"+name, "application/json", strings.NewReader(args))
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return strings.TrimSpace(string(text))
}

// player mines, buys, queues and strikes all the time, and counts what the server has promised.
type player struct {
	*client.Client
	name     string
	asked    []request
	promised Purse           // by answers
	unsure   Purse           // of commands that have no answer
	done     int             // commands
	matches  map[string]bool // of all players
	rests    bool            // asks for nothing more, but ends its match
}

// request is a command without an answer yet, and the effect if it is accepted.
type request struct {
	*client.Future
	effect Effect
}

func (p *player) frame() error {
	if p.State() == client.Joined {
		p.ask()
	}
	return errors.Join(p.Update(), p.count())
}

// ask keeps four commands on their way. Some come too late: the player has moved to the other room.
func (p *player) ask() {
	own, ok := client.Of(Guests).Get(p.Replica().Entity(p.Controlled()))
	if !ok {
		return // it comes soon
	}
	send := func(effect Effect, f *client.Future, err error) {
		if err == nil {
			p.asked = append(p.asked, request{f, effect})
		}
	}
	if room := p.Welcome().Room; room != "lobby" {
		p.matches[room] = true
		if len(p.asked) == 0 && !own.Won {
			f, err := client.Do(p.Client, StrikeCommand, 0, Strike{})
			send(Effect{Coins: prize, Wins: 1}, f, err)
		}
		return
	}
	for n := p.done + len(p.asked); len(p.asked) < 4 && !p.rests && !own.Waits; n++ {
		switch {
		case n%7 == 6:
			f, err := client.Do(p.Client, BuyCommand, 0, Buy{})
			send(Effect{Coins: -hatPrice, Hats: 1}, f, err)
		case n%14 == 3:
			if len(p.asked) == 0 { // a move leaves no command without an answer
				f, err := client.Do(p.Client, QueueCommand, 0, Queue{})
				send(Effect{}, f, err)
			}
			return
		default:
			f, err := client.Do(p.Client, MineCommand, 0, Mine{})
			send(Effect{Coins: 1}, f, err)
		}
	}
}

// count takes the answers.
func (p *player) count() error {
	for len(p.asked) > 0 {
		r, ok := p.asked[0].Poll()
		if !ok {
			return nil
		}
		effect := p.asked[0].effect
		var refused *client.Rejection
		switch {
		case r.Err == nil:
			p.promised = Purse{p.promised.Coins + effect.Coins, p.promised.Hats + effect.Hats, p.promised.Wins + effect.Wins}
		case errors.Is(r.Err, client.ErrUnanswered):
			p.unsure = Purse{p.unsure.Coins + max(effect.Coins, -effect.Coins), p.unsure.Hats + effect.Hats, p.unsure.Wins + effect.Wins}
		case !errors.As(r.Err, &refused):
			return r.Err
		}
		p.asked, p.done = p.asked[1:], p.done+1
	}
	return nil
}

// purse returns the own purse, if the player is in the lobby and it is there.
func (p *player) purse() (Purse, bool) {
	return client.Of(Purses).Get(p.Replica().Entity(p.Controlled()))
}

// The database applies an entry once, however often it is sent, and all entries of a batch or none.
func TestApplyTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a database")
	}
	db := newDatabase(t)
	accounts := &Database{db.pool}
	entry := func(run, number uint64, user string, e Effect) outbox.Entry[outbox.Change[Effect]] {
		return outbox.Entry[outbox.Change[Effect]]{ID: outbox.ID{Run: run, Number: number}, Value: outbox.Change[Effect]{User: user, Effect: e}}
	}
	entries := []outbox.Entry[outbox.Change[Effect]]{
		entry(7, 1, "ann", Effect{}),
		entry(7, 2, "ann", Effect{Coins: 10, Wins: 1}),
		entry(7, 3, "ann", Effect{Coins: -hatPrice, Hats: 1}),
	}
	for range 2 {
		found, err := accounts.Apply(t.Context(), entries)
		require.NoError(t, err)
		require.Equal(t, outbox.Answer[Purse]{Account: Purse{10 - hatPrice, 1, 1}}, found[2])
	}
	earns := Effect{Coins: 10}
	_, err := accounts.Apply(t.Context(), []outbox.Entry[outbox.Change[Effect]]{entry(8, 2, "ann", earns), entry(8, 3, "\x00", earns)}) // no login has this name
	require.ErrorContains(t, err, "invalid byte sequence")
	found, err := accounts.Apply(t.Context(), []outbox.Entry[outbox.Change[Effect]]{entry(8, 2, "ann", earns)})
	require.NoError(t, err)
	require.Equal(t, Purse{20 - hatPrice, 1, 1}, found[0].Account, "another run's number")
}

// quietLobby is a lobby in a server without clients.
type quietLobby struct {
	*testing.T
	*Lobby
	server *server.Server
}

func openLobby(t *testing.T, db *Database) *quietLobby {
	l, g, err := NewLobby(host.Options{}, db)
	require.NoError(t, err)
	s, err := server.Listen(server.Config{Listen: "127.0.0.1:0", WorldConfig: g.WorldConfig})
	require.NoError(t, err)
	g.Attach(s.Room())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return &quietLobby{t, l, s}
}

// do runs f between two ticks.
func (c *quietLobby) do(f func()) {
	require.NoError(c, c.server.Room().Do(c.Context(), func(*world.World) error {
		f()
		return nil
	}))
}

func (c *quietLobby) until(done func() bool) {
	for ended := false; !ended; {
		c.do(func() { ended = done() })
	}
}

// settle waits until the database has all effects.
func (c *quietLobby) settle() { c.until(func() bool { return c.accounts.Len() == 0 }) }

// A web shop takes coins that a purse still shows, until the shop's signal. The database refuses what the player buys with them: it sets
// the effect aside, and the purse shows the account again. Other players' entries are applied.
func TestRefusedEffect(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a database")
	}
	db := newDatabase(t)
	set := func(player string, coins int64) {
		_, err := db.pool.Exec(t.Context(), "INSERT INTO accounts VALUES ($1, $2, 0, 0) ON CONFLICT (player) DO UPDATE SET coins = $2", player, coins)
		require.NoError(t, err)
	}
	set("ann", 10)
	set("bob", 3_000_000_000) // more than an int32 holds
	c := openLobby(t, &Database{db.pool})
	players := map[string]world.Entity{}
	for _, name := range []string{"ann", "bob"} {
		c.until(func() bool {
			e, err := c.enter(Guest{})
			require.NoError(t, err)
			if c.accounts.Open(e, name, Effect{}) != nil { // Work has not begun
				c.world.Destroy(e)
				return false
			}
			require.ErrorIs(t, c.accounts.Change(e, Effect{Coins: 1}), outbox.ErrLoading)
			players[name] = e
			return true
		})
	}
	change := func(name string, coins, hats int64) {
		require.NoError(t, c.accounts.Change(players[name], Effect{Coins: coins, Hats: hats}))
	}
	has := func(name string, coins, hats int64) {
		c.settle()
		c.do(func() { require.Equal(t, Purse{coins, hats, 0}, *c.purses.Get(players[name])) })
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

	set("ann", 50)
	_, err := c.server.Signal(t.Context(), "", "refresh", []byte(`"ann"`))
	require.NoError(t, err)
	has("ann", 50, 0)
	waiting, err := c.server.Signal(t.Context(), "", "waiting", nil)
	require.NoError(t, err)
	require.Equal(t, "0", string(waiting))
}

// A player whom the closed bank refuses leaves nothing in the world, and the client tries again.
func TestJoinClosedBank(t *testing.T) {
	l, _, err := NewLobby(host.Options{}, nil)
	require.NoError(t, err)
	_, err = l.join(&server.Session{})
	require.Equal(t, wire.ServerFull, wire.CodeOf(err))
	l.world.Step()
	require.Zero(t, l.guests.Presence().Count())
	require.Equal(t, 1, l.world.Live().Count(), "the outbox's book")
}

// A client that comes while the database is away tries again, and receives nothing about the database.
func TestAdmitWithoutDatabase(t *testing.T) {
	pool, err := pgxpool.New(t.Context(), "postgres:///game?host="+t.TempDir())
	require.NoError(t, err)
	defer pool.Close()
	_, err = (&Database{pool}).Admit(t.Context(), []byte("key of ann"))
	require.Equal(t, &wire.Error{Code: wire.Internal, Detail: "sign in again later"}, err)
	require.True(t, wire.Internal.Info().Retry)
}

// While players earn, spend, and win prizes in matches, the server and the database are killed, alone and together. At the end all accounts
// are what the players were promised, and what the lobby says: nothing is lost, and nothing counts twice.
func TestExactlyOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("kills servers")
	}
	addresses := loopback.Reserve(t, 2)
	s := &service{t: t, dir: t.TempDir(), addr: addresses[0], admin: addresses[1], db: newDatabase(t)}
	s.start()
	t.Cleanup(func() { s.end(syscall.SIGKILL) })
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	var players []*player
	matches := map[string]bool{}
	for _, name := range []string{"ann", "bob", "eve"} {
		_, err := s.db.pool.Exec(ctx, "INSERT INTO logins VALUES ($1, $2, now() + '1 hour')", "key of "+name, name)
		require.NoError(t, err)
		p := &player{name: name, matches: matches}
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

	frames := 0
	until := func(done func() bool) {
		for ; !done(); frames++ {
			for _, p := range players {
				require.NoError(t, p.frame())
			}
			require.NoError(t, players[frames%3].Wait(ctx))
		}
	}
	play := func(commands int) {
		commands += players[0].done
		until(func() bool { return players[0].done >= commands })
	}
	wins := func() (n int64) {
		for _, p := range players {
			n += p.promised.Wins
		}
		return n
	}
	win := func() { // the prize is on its way to the lobby
		before := wins()
		until(func() bool { return wins() > before })
	}
	play(20)
	win()
	s.end(syscall.SIGKILL) // the server alone
	s.start()
	play(30)
	s.db.kill() // the database alone: the game plays on
	play(30)
	win()
	s.end(syscall.SIGKILL) // and the server, whose entries wait. Clients come back before the database does
	s.start()
	s.db.start()
	play(30)
	s.db.kill()
	s.db.start()
	play(30)
	win()
	s.end(syscall.SIGTERM)
	s.start()
	play(30)
	win()

	account := func(p *player) (has Purse) {
		require.NoError(t, s.db.pool.QueryRow(ctx, "SELECT coins, hats, wins FROM accounts WHERE player = $1", p.name).Scan(&has.Coins, &has.Hats, &has.Wins))
		return has
	}
	until(func() bool { // what is asked has an answer, also in the database, and purses show it
		for _, p := range players {
			p.rests = true
			purse, ok := p.purse()
			if !ok || len(p.asked) > 0 || purse != account(p) {
				return false
			}
		}
		return s.signal("waiting", "") == "0"
	})
	paid := int64(0)
	for _, p := range players {
		has := account(p)
		t.Logf("%s: has %+v, was promised %+v, without answers %+v", p.name, has, p.promised, p.unsure)
		require.InDelta(t, p.promised.Hats, has.Hats, float64(p.unsure.Hats))
		require.GreaterOrEqual(t, has.Wins, p.promised.Wins)
		paid += has.Wins
		require.InDelta(t, p.promised.Coins-prize*p.promised.Wins, has.Coins-prize*has.Wins, float64(p.unsure.Coins-prize*p.unsure.Wins))
		require.Positive(t, has.Hats)
	}
	require.GreaterOrEqual(t, paid, int64(4))
	require.LessOrEqual(t, paid, int64(len(matches)), "each match has one prize")
	t.Logf("%d prizes in %d matches", paid, len(matches))
	require.NoError(t, ctx.Err())
}

// The whole service has less than half of the lines that a studio needed for a lobby, matches and accounts alone, before package
// outbox, kinds of rooms and Session.Move: 577, without imports, comments and empty lines.
func TestServiceIsSmall(t *testing.T) {
	lines := 0
	for _, name := range []string{"game.go", "lobby.go", "match.go", "main.go", "sql.go", "schema.sql"} {
		source, err := os.ReadFile(name)
		require.NoError(t, err)
		_, code, _ := strings.Cut(string(source), "\nimport (")
		_, code, found := strings.Cut(code, "\n)\n")
		if !found {
			code = string(source)
		}
		for line := range strings.Lines(code) {
			line = strings.TrimSpace(line)
			if line != "" && !strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "--") {
				lines++
			}
		}
	}
	require.LessOrEqual(t, lines, 577/2)
	require.Greater(t, lines, 200, "the rule counts")
}
