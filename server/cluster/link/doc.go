// Package link carries requests between the nodes of a cluster, over QUIC on the port for clients (ALPN "worldd-peer/1").
//
//	l := link.New(...)                          makes the process's key pair; its fingerprint stands in the node's record
//	l.Handle(kind, Rules{...}, handler)         before the port is open
//	port: l.TLS, l.Serve                        server.Config.Peers: the game's listener hands connections over
//	answer, err := l.Call(ctx, node, kind, b)   a small request, with a small answer
//	err := l.Stream(ctx, node, kind, r, w)      a large one: r is the request's body, and w receives the answer
//
// A Handler gets the body as a bounded io.Reader, and an io.Writer for its answer. It returns an error before it writes to refuse the
// request: the other node gets a *RefusedError with the code of the handler's own *RefusedError, or 0. After an error in the middle of an
// answer the other node gets an error as well, and never a part that looks whole. Handlers run on goroutines of the link, one request of
// a connection at a time.
//
// Both sides pin certificates. The dialling node accepts only the certificate whose fingerprint is in the other node's record, and the other
// node only one that a living node's record has, at the handshake and again at each request: a node with a tombstone is not served.
// There are no names and no dates to check, and no authority.
//
// Format. A request is one bidirectional stream: a byte for the kind, then the body until the end of the stream. The answer is a
// byte for the status, then the body; in a refusal the body is a 16-bit code, big-endian, and a text. Each kind has bounds for both
// bodies and for the time (Rules). A node that exceeds them, or that sends anything else, loses its connection, and the log names it.
//
// A connection carries one request at a time, since the port allows clients one stream. A node keeps at most smallConnections
// and streamConnections to each other node; further requests wait for one. A connection without requests ends by itself. Requests are not repeated: after
// an error other than *RefusedError the other node may have handled the request.
//
// No tick waits for the link: its callers have goroutines of their own (C10 of package cluster).
package link
