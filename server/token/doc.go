// Package token makes and checks connect tokens: what a game's backend gives a
// user who may play, and what a server asks of a client at the door.
//
//	backend: Issuer (secret key) ──token──► client ──Hello──► server: Verifier (public keys) ──► user
//
// A token is PASETO v4.public (Ed25519) with the claims sub (the user), aud (the
// server, or the group of servers, that it is for), exp, iat, and jti, and at
// most MaxBytes long. It is good once: whoever reads one from a log or a proxy
// cannot come in behind its owner. Its expiry (exp) is the last moment at which a
// session begins with it, usually a minute ahead, and says nothing of how long that
// session lasts; the optional claim session_end, a time like exp, ends the session. The server needs public keys only, two of
// them while one replaces the other.
//
// Invariants, cited in tests:
//
//	K1 What is not signed by one of the keys says nothing, whatever it claims.
//	K2 A token is for one audience, and not before it was issued nor from its
//	   expiry on.
//	K3 A token is taken once by a Verifier and, with KeepSpent, once by all that
//	   use the same file one after the other, whatever crashes come between. What is
//	   remembered is bounded: by the tokens' lifetimes, and by MaxRemembered.
package token
