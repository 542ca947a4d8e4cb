// Command accounts is a game whose players keep their coins in PostgreSQL.
//
//	game.go  the rules, and what clients see
//	bank.go  purses and accounts; package outbox keeps the effects that the database does not have yet
//	sql.go   the database, whose tables schema.sql makes
//
//	ACCOUNTS_DATABASE=postgres:///game accounts serve --listen :4433 --image game.image --journal always
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/world"
)

func main() {
	p := &program{}
	host.Main(host.Definition{
		Name: "accounts", About: "Coins in a database.", New: p.newGame,
		Admit: p.admit, OneSessionPerUser: true, Attach: p.attach, AdminRoutes: http.HandlerFunc(p.showBank),
	})
}

// program has the parts of the server that the world must not know.
type program struct {
	bank     *Bank
	accounts *Accounts
	server   *server.Server
}

func (p *program) newGame(o host.Options) (*host.Instance, error) {
	g, err := NewGame(o.SeedOr(1))
	if err != nil {
		return nil, err
	}
	p.bank = g.bank
	return g.instance(), nil
}

// attach connects the database, and starts the goroutine that brings effects to it.
func (p *program) attach(ctx context.Context, s *server.Server) error {
	pool, err := pgxpool.New(ctx, os.Getenv("ACCOUNTS_DATABASE"))
	if err != nil {
		return fmt.Errorf("ACCOUNTS_DATABASE: %w", err)
	}
	p.accounts, p.server = &Accounts{pool}, s
	go func() {
		defer pool.Close()
		p.bank.Work(ctx, s.Room(), p.accounts)
	}()
	return nil
}

// admit asks the database whose login key a client has sent as its token. Only this client waits.
func (p *program) admit(ctx context.Context, token []byte) (server.Admission, error) {
	player, err := p.accounts.PlayerOf(ctx, string(token))
	if errors.Is(err, errNoLogin) {
		return server.Admission{}, &wire.Error{Code: wire.Unauthorized, Detail: "sign in again"}
	}
	return server.Admission{User: player}, err
}

// showBank tells an operator how many effects the database does not have yet: GET /game/bank.
func (p *program) showBank(w http.ResponseWriter, r *http.Request) {
	var waiting int
	err := p.server.Room().Do(r.Context(), func(*world.World) error {
		waiting = p.bank.out.Len()
		return nil
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, waiting)
}
