package etcd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
)

const (
	maxAnswer   = 24 << 20 // bytes of an answer: pageKeys of the largest keys and values, in base64
	maxHeader   = 64 << 10 // bytes of an answer's HTTP header
	maxRequests = 64       // connections to an endpoint, besides watches
	pageKeys    = 256      // keys of one answer to a Read
)

// asked returns the present endpoint.
func (s *Store) asked() *endpoint {
	return s.endpoints[int(s.present.Load())%len(s.endpoints)]
}

// leave makes the next endpoint the present one after an error, if e still is that.
func (s *Store) leave(e *endpoint, err error) {
	if kindOf(err) == Refused {
		return // the others would say the same
	}
	e.checked.Store(false)
	if at := s.present.Load(); s.asked() == e {
		s.present.CompareAndSwap(at, (at+1)%uint32(len(s.endpoints)))
	}
}

// post sends a request and returns its whole answer, within the timeout of one endpoint (E2, E3).
func (s *Store) post(ctx context.Context, e *endpoint, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	response, err := send(ctx, s.requests, e, path, body)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, &Error{e.url, Lost, err.Error()}
	case len(answer) > maxAnswer:
		return nil, &Error{e.url, Malformed, fmt.Sprintf("an answer of more than %d bytes", maxAnswer)}
	case response.StatusCode != http.StatusOK:
		return nil, errorOf(e, response.StatusCode, answer)
	}
	return answer, nil
}

// send sends a request and returns the answer's beginning. The error says whether it was sent (E1).
func send(ctx context.Context, client *http.Client, e *endpoint, path string, body []byte) (*http.Response, error) {
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodPost, e.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, &Error{e.url, Unreachable, err.Error()}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Grpc-Metadata-Hasleader", "true")
	response, err := client.Do(request)
	switch {
	case err != nil && sent.Load():
		return nil, &Error{e.url, Lost, err.Error()}
	case err != nil:
		return nil, &Error{e.url, Unreachable, err.Error()}
	}
	return response, nil
}

// errorOf returns the error of an answer other than 200 OK.
func errorOf(e *endpoint, status int, answer []byte) error {
	var r refusal
	err := parse(answer, &r)
	switch {
	case status >= 300 && status < 400:
		return &Error{e.url, Malformed, fmt.Sprintf("status %d redirects the request", status)}
	case status == http.StatusNotFound && (err != nil || r.code() == 0):
		return &Error{e.url, NoGateway, "status 404"}
	case err != nil || r.code() == 0:
		return &Error{e.url, Malformed, fmt.Sprintf("status %d: %.80q", status, answer)}
	}
	return r.as(e)
}

// as returns the refusal as an error of an endpoint.
func (r refusal) as(e *endpoint) error {
	kind := Undecided
	switch {
	case r.code() == codeUnavailable && r.Message == noLeader:
		kind = Leaderless
	case r.isFinal():
		kind = Refused
	}
	detail := fmt.Sprintf("%.200s", r.Message)
	if kind == Undecided && !strings.HasPrefix(r.Message, "etcdserver: ") && strings.HasPrefix(e.url, "https:") {
		detail += "; if etcd wants client certificates, its own must allow client use (clientAuth) as well: the gateway is a client"
	}
	return &Error{e.url, kind, detail}
}

// isFinal reports whether etcd gives the error only before it changes anything. Errors of gRPC itself do not say.
func (r refusal) isFinal() bool {
	switch r.code() {
	case codeInvalidArgument, codePermissionDenied, codeResourceExhausted, codeFailedPrecondition, codeOutOfRange, codeUnimplemented, codeUnauthenticated:
		return strings.HasPrefix(r.Message, "etcdserver: ") || strings.HasPrefix(r.Message, "auth: ")
	}
	return false
}
