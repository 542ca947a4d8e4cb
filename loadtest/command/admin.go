package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/worldd/worldd/internal/address"
	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/internal/regularfile"
)

const (
	// firstAnswer bounds the wait for the admin port's first answer, before which no run
	// starts. sampleAnswer bounds the wait for the answers to samples, one per second.
	firstAnswer  = 10 * time.Second
	sampleAnswer = 500 * time.Millisecond
	// maxProfileBytes bounds a profile. A busy server has profiles of less than a megabyte.
	maxProfileBytes = 64 << 20
	// longestProfile bounds the profiled part of a plateau: enough for thousands of samples.
	longestProfile = 30 * time.Second
)

// admin is a client of the server's admin port.
type admin struct {
	base   string
	token  string // empty: send none
	ticks  ticks
	meters meters // of the last answer
}

// newAdmin takes the port's address as host:port or URL, and the file of its token, if it needs
// one.
func newAdmin(text, tokenFile string) (*admin, error) {
	if !strings.Contains(text, "://") {
		if err := address.CheckDial("tcp", text); err != nil {
			return nil, fmt.Errorf("--admin %w; give the address of the server's --admin", err)
		}
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("--admin %q: want the server's --admin as host:port or as a URL", text)
	}
	if port := u.Port(); port != "" {
		if err := address.CheckDial("tcp", u.Host); err != nil {
			return nil, fmt.Errorf("--admin %q: %w", text, err)
		}
	}
	a := &admin{base: u.Scheme + "://" + u.Host}
	if tokenFile != "" {
		token, err := regularfile.Read(tokenFile, maxKeyBytes)
		if err != nil {
			return nil, fmt.Errorf("--admin-token: %w", err)
		}
		a.token = strings.TrimSpace(string(token))
	}
	return a, nil
}

func (a *admin) getPath(ctx context.Context, path string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+path, nil)
	if err != nil {
		return nil, err
	}
	if a.token != "" {
		request.Header.Set("Authorization", "Bearer "+a.token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("the admin port does not answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, fmt.Errorf("the admin port answers %s with %s", path, response.Status)
	}
	return response.Body, nil
}

// serverNow fetches the server's metrics and tick durations.
func (a *admin) serverNow(ctx context.Context) (*botrun.ServerNow, error) {
	families, err := a.getMetrics(ctx)
	if err != nil {
		return nil, err
	}
	asked := time.Now()
	durations, err := a.tickDurations(ctx)
	if err != nil {
		return nil, err
	}
	a.meters = metersOf(families, asked)
	var late uint64
	for _, m := range families["worldd_tick_overruns_total"].GetMetric() {
		late += uint64(m.GetCounter().GetValue()) // of each kind of rooms
	}
	now := &botrun.ServerNow{TickMeanMs: a.ticks.addTotal(durations, late, asked)}
	if t := a.ticks.newReport(); t != nil {
		now.TickP99Ms = t.P99Ms
	}
	for _, m := range families["worldd_entities"].GetMetric() {
		n := int(m.GetGauge().GetValue())
		switch {
		case hasLabel(m, "state", "awake"):
			now.Awake += n
		case hasLabel(m, "state", "asleep"):
			now.Asleep += n
		}
	}
	return now, nil
}

func (a *admin) getMetrics(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	body, err := a.getPath(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	defer body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(body)
	if err != nil {
		return nil, fmt.Errorf("cannot read the admin port's metrics: %w", err)
	}
	return families, nil
}

// tickDurations fetches the durations of all ticks since the server's start.
func (a *admin) tickDurations(ctx context.Context) (*hdrhistogram.Histogram, error) {
	body, err := a.getPath(ctx, "/ticks")
	if err != nil {
		return nil, err
	}
	defer body.Close()
	h, err := readHistogram(body)
	if err != nil {
		return nil, fmt.Errorf("cannot read the admin port's ticks: %w", err)
	}
	return h, nil
}

// serverNowWithin is serverNow with a timeout.
func (a *admin) serverNowWithin(ctx context.Context, limit time.Duration) (*botrun.ServerNow, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return a.serverNow(ctx)
}

// saveProfiles saves a CPU profile of the plateau and, at its end, heap and goroutine profiles,
// as files in dir, which must exist.
func (a *admin) saveProfiles(ctx context.Context, dir string, plateau time.Duration) error {
	seconds := max(1, int(min(plateau*3/4, longestProfile).Seconds()))
	var errs []error
	for _, p := range []struct{ path, file string }{
		{fmt.Sprintf("/debug/pprof/profile?seconds=%d", seconds), "cpu.pprof"},
		{"/debug/pprof/heap", "heap.pprof"},
		{"/debug/pprof/goroutine", "goroutine.pprof"},
	} {
		errs = append(errs, a.saveFile(ctx, p.path, filepath.Join(dir, p.file)))
	}
	return errors.Join(errs...)
}

// saveFile fetches a profile. It replaces the file of an earlier run only after the whole
// profile has arrived, since a CPU profile takes as long as it measures.
func (a *admin) saveFile(ctx context.Context, path, file string) error {
	body, err := a.getPath(ctx, path)
	if err != nil {
		return err
	}
	defer body.Close()
	profile, err := io.ReadAll(io.LimitReader(body, maxProfileBytes+1))
	if err != nil {
		return err
	}
	if len(profile) > maxProfileBytes {
		return fmt.Errorf("the profile %s has more than %d bytes", path, maxProfileBytes)
	}
	return atomicfile.Write(file, profile, 0o666)
}
