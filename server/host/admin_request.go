package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/worldd/worldd/internal/printable"
	"github.com/worldd/worldd/internal/regularfile"
)

// adminPort is a server's admin port, for commands.
type adminPort struct {
	Admin     string `required:"" placeholder:"HOST:PORT" help:"The server's --admin."`
	AdminCert string `type:"path" placeholder:"FILE" help:"The server's --admin-cert, if it has one."`
}

// ask sends a request, and returns at most most bytes of the answer. Another status than 200 is an error with the answer's text.
func (a *adminPort) ask(ctx context.Context, method, path, tokenFile string, most int64) (text string, err error) {
	scheme, transport := "http", &http.Transport{DisableKeepAlives: true}
	if a.AdminCert != "" {
		own, err := readLeaf(a.AdminCert)
		if err != nil {
			return "", usageError("cannot read the admin certificate: %w", err)
		}
		scheme, transport.TLSClientConfig = "https", pinned(own)
	}
	address, err := localAddress(a.Admin)
	if err != nil {
		return "", usageError("--admin: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, method, scheme+"://"+address+path, nil)
	if err != nil {
		return "", usageError("--admin: %w", err)
	}
	if tokenFile != "" {
		token, err := regularfile.Read(tokenFile, maxKeyBytes)
		if err != nil {
			return "", usageError("cannot read the admin token: %w", err)
		}
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return "", fmt.Errorf("no server answers on %s: %w", a.Admin, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, most))
	if err != nil {
		return "", err
	}
	text = printable.Text(strings.TrimSpace(string(body)))
	if answer.StatusCode != http.StatusOK {
		return "", a.refused(answer, text)
	}
	return text, nil
}

// refused returns the error of an answer with another status than 200.
func (a *adminPort) refused(answer *http.Response, text string) error {
	isPlain := strings.HasPrefix(answer.Header.Get("Content-Type"), "text/plain") || strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json")
	switch {
	case answer.StatusCode == http.StatusBadRequest && !isPlain && strings.Contains(text, "HTTPS server"): // the answer of net/http's TLS listener
		return fmt.Errorf("%s speaks HTTPS: give --admin-cert FILE with its certificate", a.Admin)
	case text == "" || text == "404 page not found" || !isPlain: // a page that every worldd has
		return fmt.Errorf("%s answers %q: give as --admin the --admin of a worldd server", a.Admin, answer.Status)
	case answer.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("%s answers %q: give --admin-token FILE with its token", a.Admin, text)
	}
	return errors.New(text)
}
