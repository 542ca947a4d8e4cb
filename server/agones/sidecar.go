package agones

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"
)

const (
	callTimeout = 2 * time.Second
	maxAnswer   = 1 << 20 // bytes; a GameServer has some kilobytes
	// askAgain is the pause between two questions for the address, while the sidecar starts.
	askAgain = 250 * time.Millisecond
)

// Sidecar is the sidecar of the server's pod.
type Sidecar struct {
	url    string
	client *http.Client
	log    *zap.Logger
	every  time.Duration // between reports; health is reported at every second one
}

// A StatusError is an answer of the sidecar that reports a failure.
type StatusError struct {
	Call   string
	Status int
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("agones: the sidecar answers %s with status %d", e.Call, e.Status)
}

// New returns the sidecar at a port, the value of AGONES_SDK_HTTP_PORT. It makes no call.
func New(port string, log *zap.Logger) (*Sidecar, error) {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return nil, fmt.Errorf("agones: port %.20q of the sidecar: want 1 to 65535", port)
	}
	return newSidecar("http://localhost:"+port, log), nil
}

func newSidecar(url string, log *zap.Logger) *Sidecar {
	return &Sidecar{url: url, log: log, every: time.Second, client: &http.Client{
		Timeout:       callTimeout,
		Transport:     &http.Transport{Proxy: nil, MaxResponseHeaderBytes: 64 << 10}, // the sidecar is on this machine
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// call sends a JSON object, and returns the answer.
func (s *Sidecar) call(ctx context.Context, method, path, body string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := s.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("agones: %w", err)
	}
	defer answer.Body.Close() // only read
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("agones: %s %s: %w", method, path, err)
	case answer.StatusCode != http.StatusOK:
		return nil, &StatusError{method + " " + path, answer.StatusCode}
	case len(text) > maxAnswer:
		return nil, fmt.Errorf("agones: the answer to %s %s has more than %d bytes", method, path, maxAnswer)
	}
	return text, nil
}

func (s *Sidecar) post(ctx context.Context, path string) error {
	_, err := s.call(ctx, http.MethodPost, path, "{}")
	return err
}

// gameServer has what a server needs to know of its GameServer.
type gameServer struct {
	Status struct {
		Address string `json:"address"`
		Ports   []struct {
			Name string `json:"name"`
			Port int    `json:"port"`
		} `json:"ports"`
	} `json:"status"`
}

// Address returns where players reach the server: the node's address, and the port named game, or else the first one. It asks until
// the sidecar knows, or until ctx ends.
func (s *Sidecar) Address(ctx context.Context) (string, error) {
	for {
		address, err := s.askAddress(ctx)
		if err == nil {
			return address, nil
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return "", fmt.Errorf("%w (AGONES_SDK_HTTP_PORT is set; --agones off if no sidecar runs): %w", err, ctx.Err())
		}
	}
}

func (s *Sidecar) askAddress(ctx context.Context) (string, error) {
	text, err := s.call(ctx, http.MethodGet, "/gameserver", "")
	if err != nil {
		return "", err
	}
	var g gameServer
	if err := json.Unmarshal(text, &g); err != nil {
		return "", fmt.Errorf("agones: GET /gameserver: %w", err)
	}
	ports := g.Status.Ports
	if g.Status.Address == "" || len(ports) == 0 {
		return "", errors.New("agones: the GameServer has no address or no port yet")
	}
	port := ports[0].Port
	for _, p := range ports {
		if p.Name == "game" {
			port = p.Port
		}
	}
	if port <= 0 || port > 1<<16-1 {
		return "", fmt.Errorf("agones: the GameServer has port %d", port)
	}
	return net.JoinHostPort(g.Status.Address, strconv.Itoa(port)), nil
}

// Shutdown tells Agones that the server has ended.
func (s *Sidecar) Shutdown(ctx context.Context) error { return s.post(ctx, "/shutdown") }
