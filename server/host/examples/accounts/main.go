// Command accounts is the service of a small game: accounts in PostgreSQL, a lobby, and matches with a prize.
//
//	game.go   what crosses the wire, and what both kinds of rooms have
//	lobby.go  accounts, the queue, and the signals of backends; package outbox keeps the changes that the database does not have yet
//	match.go  the match
//	sql.go    the database, whose tables schema.sql makes
//
//	ACCOUNTS_DATABASE=postgres:///game accounts serve --listen :4433 --image rooms --journal always --admin 127.0.0.1:4434
//	curl -d '"ann"' http://127.0.0.1:4434/signals/refresh
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
)

func main() {
	pool, err := pgxpool.New(context.Background(), os.Getenv("ACCOUNTS_DATABASE")) // connects when it is needed
	if err != nil {
		fmt.Fprintln(os.Stderr, "ACCOUNTS_DATABASE:", err)
		os.Exit(1)
	}
	db := &Database{pool}
	host.Main(host.Definition{
		Name: "accounts", About: "Coins in a database.", Admit: db.Admit, OneSessionPerUser: true,
		Rooms: &server.RoomsConfig{Default: "lobby", Kinds: map[string]server.RoomKind{
			"lobby": {Pinned: true, Create: server.ForGame},
			"match": {Create: server.ForGame, Visibility: server.Private},
		}},
		Kinds: map[string]func(host.Options) (*host.Instance, error){"match": NewMatch, "lobby": func(o host.Options) (*host.Instance, error) {
			_, g, err := NewLobby(o, db)
			return g, err
		}},
	})
}
