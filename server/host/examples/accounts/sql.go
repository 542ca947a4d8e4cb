package main

import (
	"context"
	_ "embed"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Schema makes the tables.
//
//go:embed schema.sql
var Schema string

// apply changes an account, unless the database has the effect already. load returns it, and makes a new player's.
const (
	apply = `WITH fresh AS (INSERT INTO effects (run, number) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING run)
		UPDATE accounts SET coins = coins + $4, hats = hats + $5 FROM fresh WHERE player = $3`
	load = `INSERT INTO accounts (player, coins, hats) VALUES ($1, 0, 0)
		ON CONFLICT (player) DO UPDATE SET player = excluded.player RETURNING coins, hats`
)

// Account is a row of accounts.
type Account struct{ Coins, Hats int32 }

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

// Apply applies entries in their order, in one transaction and one round trip. It returns for each entry that
// loads the account at this moment.
func (a *Accounts) Apply(ctx context.Context, entries []Entry) ([]Account, error) {
	found := make([]Account, len(entries))
	all := &pgx.Batch{}
	for i, e := range entries {
		if !e.Loads {
			all.Queue(apply, int64(e.Run), int64(e.Number), e.Player, e.Coins, e.Hats)
			continue
		}
		all.Queue(load, e.Player).QueryRow(func(row pgx.Row) error { return row.Scan(&found[i].Coins, &found[i].Hats) })
	}
	return found, pgx.BeginFunc(ctx, a.pool, func(tx pgx.Tx) error { return tx.SendBatch(ctx, all).Close() })
}
