package wire

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/worldd/worldd/internal/printable"
)

// Code says how a session or command ended. The same codes appear in close frames, in
// Refused, Bye, Goodbye and Result messages, in *Error, and as metric labels.
type Code uint16

// Codes of sessions are below 32, codes of commands from 32. Numbers are never reused.
// The table below describes each.
const (
	OK              Code = 0
	BadMessage      Code = 1
	BadState        Code = 2
	ProtocolVersion Code = 3
	SchemaMismatch  Code = 4
	EpochMismatch   Code = 5
	ServerFull      Code = 6
	Draining        Code = 7
	Unauthorized    Code = 8
	TooSlow         Code = 9
	TooFast         Code = 10
	Timeout         Code = 11
	Internal        Code = 12
	Kicked          Code = 13
	IdentityFault   Code = 14
	TablesMismatch  Code = 15
	Replaced        Code = 16
	Spent           Code = 17
	JoinRefused     Code = 18
	TooMuch         Code = 19
	Banned          Code = 20

	SignedInElsewhere Code = 21
	SessionExpired    Code = 22
	Moved             Code = 23
	NoRoom            Code = 24
	RoomClosed        Code = 25
	ClientTooOld      Code = 26
	ClientTooNew      Code = 27

	StaleHandle    Code = 32
	HiddenHandle   Code = 33
	UnknownHandle  Code = 34
	UnknownCommand Code = 35
	RateLimited    Code = 36
	BadArguments   Code = 37
	CommandRefused Code = 38
)

// Fault is the side that caused a Code.
type Fault uint8

// Sides at fault.
const (
	Nobody Fault = iota
	Client
	Server
)

// String returns "nobody", "client" or "server".
func (f Fault) String() string {
	switch f {
	case Nobody:
		return "nobody"
	case Client:
		return "client"
	case Server:
		return "server"
	}
	return fmt.Sprintf("fault(%d)", uint8(f))
}

// CodeInfo is one row of the table of codes.
type CodeInfo struct {
	Code  Code
	Name  string // lower case with hyphens: metric label and log key
	Fault Fault  // the side at fault
	Retry bool   // whether the same request may succeed later
	Text  string // for people: the event, and the remedy
}

// codes is the table; PROTOCOL.md repeats it, and a test compares the two.
var codes = [...]CodeInfo{
	{OK, "ok", Nobody, false, "success, or closed on purpose"},
	{BadMessage, "bad-message", Client, false, "a message violates the protocol: fix the sender"},
	{BadState, "bad-state", Client, false, "a message is not allowed in the present state: fix the sender"},
	{ProtocolVersion, "protocol-version", Client, false, "the two sides use different protocol versions: update the older one"},
	{SchemaMismatch, "schema-mismatch", Client, false, "a field has values of another type at the server than the client declares: update the older one"},
	{EpochMismatch, "epoch-mismatch", Nobody, false, "the server runs a different world: drop all handles and connect again with epoch 0"},
	{ServerFull, "server-full", Nobody, true, "no free session: try again later"},
	{Draining, "draining", Nobody, true, "the server is shutting down: connect again, or to another one"},
	{Unauthorized, "unauthorized", Client, false, "the token is missing, invalid or expired: fetch a new one"},
	{TooSlow, "too-slow", Client, true, "the client reads more slowly than the world changes: connect again on a better link"},
	{TooFast, "too-fast", Client, true, "the client sends more than the limits allow: send less"},
	{Timeout, "timeout", Nobody, true, "nothing arrived for too long: connect again"},
	{Internal, "internal", Server, true, "the server failed: see its log"},
	{Kicked, "kicked", Nobody, false, "the operator or the game ended the session"},
	{IdentityFault, "identity-fault", Server, true, "the two sides disagree on which entity is in a slot: connect again, and report it"},
	{TablesMismatch, "tables-mismatch", Client, false, "the two sides code rows with different tables: give both the same file"},
	{Replaced, "replaced", Nobody, false, "the session continues over another connection"},
	{Spent, "spent", Nobody, true, "the session has used up its sequence numbers: connect again"},
	{JoinRefused, "join-refused", Nobody, false, "the game does not admit this client"},
	{TooMuch, "too-much", Client, false, "the message exceeds what the receiver may keep: send less, or raise its limits"},
	{Banned, "banned", Nobody, false, "the operator has banned this user"},
	{SignedInElsewhere, "signed-in-elsewhere", Nobody, false, "the same user has started another session, which ends this one"},
	{SessionExpired, "session-expired", Nobody, false, "the session time granted by the token is over: connect with a new token"},
	{Moved, "moved", Nobody, false, "the session continues on another server: connect to the address given, with the token given"},
	{NoRoom, "no-room", Client, false, "no room has this name: check the spelling, or name none"},
	{RoomClosed, "room-closed", Nobody, false, "the room has ended or is closed: join another one"},
	{ClientTooOld, "client-too-old", Client, false, "the server needs a newer version of the game: update this client"},
	{ClientTooNew, "client-too-new", Server, false, "the game needs a newer server: join another one, or wait for its update"},
	{StaleHandle, "stale-handle", Nobody, false, "the target is destroyed: drop the handle"},
	{HiddenHandle, "hidden-handle", Nobody, true, "the target is not in view"},
	{UnknownHandle, "unknown-handle", Client, true, "the target was not sent to this client"},
	{UnknownCommand, "unknown-command", Client, false, "no command has this name: check the spelling and the server's version"},
	{RateLimited, "rate-limited", Client, true, "too many commands: send fewer"},
	{BadArguments, "bad-arguments", Client, false, "the command's arguments are malformed or out of range"},
	{CommandRefused, "command-refused", Nobody, false, "the rules of the game forbid it"},
}

// Codes returns the table of all codes, in ascending order. The caller owns it.
func Codes() []CodeInfo {
	return append([]CodeInfo(nil), codes[:]...)
}

// Info returns the table's row for c. An unknown code comes from a newer peer: its Info has
// a name like "code-99", no fault and no retry.
func (c Code) Info() CodeInfo {
	for i := range codes {
		if codes[i].Code == c {
			return codes[i]
		}
	}
	return CodeInfo{Code: c, Name: fmt.Sprintf("code-%d", uint16(c)), Text: "a code unknown to this version"}
}

// String returns the code's name, like "server-full".
func (c Code) String() string { return c.Info().Name }

// Error is a Code with details. errors.Is compares the Code alone:
//
//	errors.Is(err, &wire.Error{Code: wire.BadMessage})
type Error struct {
	Code   Code
	Detail string // found and expected values; may be empty

	// Moved only: the server to connect to instead, "host:port", and the token to present
	// there, which may be empty.
	Address string
	Token   []byte
}

// SessionThere is the Detail of Moved if the server to connect to is another node of the same cluster, so that a client may find its session
// there: it keeps the room and the secret.
const SessionThere = "the session may be there"

// RoomIs begins the Detail of Moved if the token is for a room that the client need not know: the rest is its name.
const RoomIs = "the room is "

// MovedTo returns an Error with the code Moved. An error reports a bad argument.
func MovedTo(address string, token []byte) (*Error, error) {
	if address == "" || len(address) > MaxAddress || !utf8.ValidString(address) || len(token) > MaxToken {
		return nil, fmt.Errorf("wire: move to %q with a token of %d bytes: want an address of 1 to %d bytes and a token of at most %d", address, len(token), MaxAddress, MaxToken)
	}
	return &Error{Code: Moved, Address: address, Token: token}, nil
}

// Error returns the code's name, text and detail. The detail may come from the peer:
// unprintable characters are escaped, so that it cannot control a terminal or forge log
// lines.
func (e *Error) Error() string {
	info := e.Code.Info()
	if e.Detail == "" {
		return fmt.Sprintf("wire: %s: %s", info.Name, info.Text)
	}
	return fmt.Sprintf("wire: %s: %s (%s)", info.Name, printable.Text(e.Detail), info.Text)
}

// Is reports whether target is an *Error with the same Code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// CodeOf returns the Code of the first *Error that err wraps; OK for nil, and
// Internal for any other error.
func CodeOf(err error) Code {
	if err == nil {
		return OK
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}

// Malformed wraps an error found in received bytes in an *Error with BadMessage, unless it
// already is an *Error. It returns nil for nil.
func Malformed(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return &Error{Code: BadMessage, Detail: err.Error()}
}

// bad returns the error for bytes that violate the protocol.
func bad(format string, args ...any) error {
	return &Error{Code: BadMessage, Detail: fmt.Sprintf(format, args...)}
}
