package etcd

import (
	"errors"
	"fmt"
)

// Kind is the reason why an endpoint did not do what it was asked.
type Kind uint8

// Kinds of errors.
const (
	// Unreachable: there was no connection, so nothing was sent.
	Unreachable Kind = iota
	// Lost: the request was sent, and no whole answer came in time.
	Lost
	// Malformed: the answer is not etcd's, is too large, or answers something else.
	Malformed
	// OtherCluster: the endpoint is of another etcd than those that answered before.
	OtherCluster
	// NoGateway: the endpoint has no JSON gateway.
	NoGateway
	// TooOld: the version is not supported.
	TooOld
	// Refused: etcd answered with an error before it changed anything.
	Refused
	// Leaderless: etcd refused as this member knows no leader: it is cut off, or there is an election.
	Leaderless
	// Undecided: etcd answered with an error, and may still do what it was asked.
	Undecided
)

// String says what happened and what to do.
func (k Kind) String() string {
	return [...]string{
		"cannot be reached: is etcd running there, and are its certificates right?",
		"no whole answer in time",
		"wrong answer: is this a client URL of etcd?",
		"belongs to another etcd cluster: name members of one cluster only",
		"has no JSON gateway: it must be etcd 3.4 or later, with --enable-grpc-gateway",
		"is too old: upgrade etcd",
		"etcd refused",
		"knows no leader: is the majority of the members up?",
		"etcd failed",
	}[k]
}

// mayPass reports whether the endpoint may be right later, without a change of the configuration.
func (k Kind) mayPass() bool {
	return k == Unreachable || k == Lost || k == Leaderless || k == Undecided
}

// kindOf returns the kind of a failure. One without a kind says nothing about the request.
func kindOf(err error) Kind {
	var problem *Error
	if errors.As(err, &problem) {
		return problem.Kind
	}
	return Undecided
}

// Error is a failure of one endpoint.
type Error struct {
	Endpoint string
	Kind     Kind
	Detail   string
}

func (e *Error) Error() string { return fmt.Sprintf("etcd %s: %v (%s)", e.Endpoint, e.Kind, e.Detail) }
