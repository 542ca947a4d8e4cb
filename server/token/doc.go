// Package token issues and verifies connect tokens: a game's backend issues one to an
// authorized user, and a server verifies it in the client's Hello.
//
//	backend: Issuer (secret key) ──token──► client ──Hello──► server: Verifier (public keys) ──► user
//
// A token is PASETO v4.public (Ed25519), at most MaxBytes long, with the claims sub (the
// user), aud (the server or group of servers), exp, iat and jti. It is valid once: a token
// leaked by a log or proxy cannot be replayed after its owner has used it. Its expiry (exp)
// is the latest time at which a session can begin, usually a minute ahead, and does not
// limit the session; the optional claim session_end, a time like exp, does. The optional claim
// room is the only room that the token opens. The server
// needs public keys only, two during a key rotation.
//
// Invariants, cited in tests:
//
//	K1 A token not signed by one of the keys is rejected, whatever it claims.
//	K2 A token is valid for one audience, from its issue until before its expiry.
//	K3 A token is accepted once by a Verifier and, with KeepSpent, once by all
//	   successive users of the same file, across crashes. Memory is bounded by the
//	   tokens' lifetimes and by MaxRemembered.
package token
