package main

import (
	"context"
	_ "embed"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/worldd/worldd/server/outbox"
)

// Schema makes the tables.
//
//go:embed schema.sql
var Schema string

// apply changes an account, unless the database has the effect already. An effect that the account cannot take, since
// something else has taken the coins, is set aside in refused: an error would stop all players' entries. isRefused tells
// about an effect. load returns an account, and makes a new player's.
const (
	apply = `WITH fresh AS (INSERT INTO effects (run, number) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING run, number),
		changed AS (UPDATE accounts SET coins = coins + $4, hats = hats + $5 FROM fresh
			WHERE player = $3 AND coins::numeric + $4::bigint BETWEEN 0 AND 9223372036854775807
				AND hats::numeric + $5::bigint BETWEEN 0 AND 9223372036854775807
			RETURNING player)
		INSERT INTO refused (run, number, player, coins, hats) SELECT run, number, $3, $4, $5 FROM fresh WHERE NOT EXISTS (SELECT FROM changed)`
	isRefused = `SELECT EXISTS (SELECT FROM refused WHERE run = $1 AND number = $2)`
	load      = `INSERT INTO accounts (player, coins, hats) VALUES ($1, 0, 0)
		ON CONFLICT (player) DO UPDATE SET player = excluded.player RETURNING coins, hats`
)

// Account is a row of accounts.
type Account struct{ Coins, Hats int64 }

// Result is the answer of the database to an entry.
type Result struct {
	Account      // if the entry loads: at this moment
	Refused bool // the account cannot take the effect
}

// Accounts is the database.
type Accounts struct{ pool *pgxpool.Pool }

var errNoLogin = errors.New("no login has this key")

// PlayerOf returns the player who has signed in with a key.
func (a *Accounts) PlayerOf(ctx context.Context, key string) (player string, err error) {
	err = a.pool.QueryRow(ctx, "SELECT player FROM logins WHERE key = $1 AND expires > now()", key).Scan(&player)
	if errors.Is(err, pgx.ErrNoRows) {
		err = errNoLogin
	}
	return player, err
}

// Apply applies entries in their order, in one transaction and one round trip. It returns a result for each.
func (a *Accounts) Apply(ctx context.Context, entries []outbox.Entry[Effect]) ([]Result, error) {
	found := make([]Result, len(entries))
	all := &pgx.Batch{}
	for i, e := range entries {
		run, number, v := int64(e.ID.Run), int64(e.ID.Number), &e.Value
		if !v.Loads {
			all.Queue(apply, run, number, v.Player, v.Coins, v.Hats)
			all.Queue(isRefused, run, number).QueryRow(func(row pgx.Row) error { return row.Scan(&found[i].Refused) })
			continue
		}
		all.Queue(load, v.Player).QueryRow(func(row pgx.Row) error { return row.Scan(&found[i].Coins, &found[i].Hats) })
	}
	return found, pgx.BeginFunc(ctx, a.pool, func(tx pgx.Tx) error { return tx.SendBatch(ctx, all).Close() })
}
