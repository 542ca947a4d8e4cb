package main

import (
	"context"
	_ "embed"
	"errors"
	"log"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/outbox"
)

// Schema makes the tables.
//
//go:embed schema.sql
var Schema string

// open makes a new player's account. apply changes an account, unless the database has the effect already. An effect that the account cannot
// take, since something else has taken the coins, is set aside in refused: an error would stop all players' entries. state returns the account,
// and whether the effect is in refused.
const (
	open  = `INSERT INTO accounts (player, coins, hats, wins) VALUES ($1, 0, 0, 0) ON CONFLICT DO NOTHING`
	apply = `WITH fresh AS (INSERT INTO effects (run, number) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING run, number),
		changed AS (UPDATE accounts SET coins = coins + $4, hats = hats + $5, wins = wins + $6 FROM fresh
			WHERE player = $3 AND coins::numeric + $4::bigint BETWEEN 0 AND 9223372036854775807
				AND hats::numeric + $5::bigint BETWEEN 0 AND 9223372036854775807
			RETURNING player)
		INSERT INTO refused (run, number, player, coins, hats, wins) SELECT run, number, $3, $4, $5, $6 FROM fresh WHERE NOT EXISTS (SELECT FROM changed)`
	state = `SELECT coins, hats, wins, EXISTS (SELECT FROM refused WHERE run = $1 AND number = $2) FROM accounts WHERE player = $3`
)

// Database has the accounts.
type Database struct{ pool *pgxpool.Pool }

// Admit asks whose login key a client has sent as its token. Only this client waits. If the database is away, the client tries again, and
// the log has the reason: an error without a code would end the client, and tell strangers about the database.
func (d *Database) Admit(ctx context.Context, token []byte) (a server.Admission, err error) {
	err = d.pool.QueryRow(ctx, "SELECT player FROM logins WHERE key = $1 AND expires > now()", string(token)).Scan(&a.User)
	if errors.Is(err, pgx.ErrNoRows) {
		return a, &wire.Error{Code: wire.Unauthorized, Detail: "sign in again"}
	}
	if err != nil {
		log.Printf("nobody can sign in: %v", err)
		err = &wire.Error{Code: wire.Internal, Detail: "sign in again later"}
	}
	return a, err
}

// Apply applies changes in their order, in one transaction and one round trip.
func (d *Database) Apply(ctx context.Context, changes []outbox.Entry[outbox.Change[Effect]]) ([]outbox.Answer[Purse], error) {
	answers := make([]outbox.Answer[Purse], len(changes))
	all := &pgx.Batch{}
	for i, c := range changes {
		run, number, user, effect := int64(c.ID.Run), int64(c.ID.Number), c.Value.User, c.Value.Effect
		all.Queue(open, user)
		if effect != (Effect{}) {
			all.Queue(apply, run, number, user, effect.Coins, effect.Hats, effect.Wins)
		}
		a := &answers[i]
		all.Queue(state, run, number, user).QueryRow(func(row pgx.Row) error {
			return row.Scan(&a.Account.Coins, &a.Account.Hats, &a.Account.Wins, &a.Refused)
		})
	}
	err := pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error { return tx.SendBatch(ctx, all).Close() })
	if err != nil {
		log.Printf("the database has not taken %d changes, and is asked again: %v", len(changes), err)
	}
	return answers, err
}
