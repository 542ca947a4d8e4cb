-- The web site where players sign in writes logins.
CREATE TABLE IF NOT EXISTS logins   (key text PRIMARY KEY, player text NOT NULL, expires timestamptz NOT NULL);
CREATE TABLE IF NOT EXISTS accounts (player text PRIMARY KEY, coins bigint NOT NULL CHECK (coins >= 0), hats bigint NOT NULL, wins bigint NOT NULL);
CREATE TABLE IF NOT EXISTS effects  (run bigint, number bigint, at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (run, number));
-- Effects that an account could not take. People decide what becomes of them.
CREATE TABLE IF NOT EXISTS refused  (run bigint, number bigint, player text NOT NULL, coins bigint NOT NULL, hats bigint NOT NULL,
	wins bigint NOT NULL, at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (run, number));
