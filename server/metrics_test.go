package server_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/imagefile"
)

// promtool runs a command of promtool, and requires success. CI requires the program.
func promtool(t *testing.T, stdin string, args ...string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("CI") != "" {
			require.NoError(t, err)
		}
		t.Skip("promtool is missing (Debian package prometheus)")
	}
	command := exec.CommandContext(t.Context(), path, args...)
	command.Stdin = strings.NewReader(stdin)
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// scrape returns the metrics of h as text, and the values by name and labels.
func (h *testServer) scrape() (text string, values map[string]float64) {
	code, text := h.operate(http.MethodGet, "/metrics")
	require.Equal(h.t, http.StatusOK, code)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families := must.Get(parser.TextToMetricFamilies(bytes.NewBufferString(text + "\n")))
	values = map[string]float64{}
	for name, f := range families {
		for _, m := range f.Metric {
			labels := ""
			for _, l := range m.Label {
				labels += fmt.Sprintf(" %s=%s", l.GetName(), l.GetValue())
			}
			values[name+labels] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return text + "\n", values
}

// The metrics have the form that Prometheus wants, and say what the server is, its limits and
// its newest save.
func TestMetrics(t *testing.T) {
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	began := float64(time.Now().Unix())
	store := must.Get(imagefile.Open(filepath.Join(t.TempDir(), "world.image"), 0))
	defer func() { require.NoError(t, store.Close()) }()
	certificate := newCertificate(t, "game.example", newCertificate(t, "ca", nil))
	h := newTestServerWith(t, func(c *server.Config) {
		c.GameName, c.Certificate = "tag", certificate
		c.Image = server.ImageConfig{Store: store}
	})
	h.dial()
	text, values := h.scrape()
	promtool(t, text, "check", "metrics")
	require.Contains(t, text, `worldd_build_info{game="tag",`)
	require.GreaterOrEqual(t, values["worldd_image_last_saved_timestamp_seconds"], began)
	require.Positive(t, values["worldd_image_last_duration_seconds"])
	require.EqualValues(t, must.Get(os.Stat(store.Path())).Size(), values["worldd_image_last_bytes"])
	leaf := must.Get(x509.ParseCertificate(certificate.Certificate[0]))
	require.EqualValues(t, leaf.NotAfter.Unix(), values["worldd_certificate_expiry_timestamp_seconds port=game"])
	require.Positive(t, values["worldd_sessions_limit"])
	require.Contains(t, values, "worldd_ticks_missed_total cause=machine")
	require.Zero(t, values["worldd_draining"])
	code, _ := h.operate(http.MethodPost, "/drain")
	require.Equal(t, http.StatusOK, code)
	_, values = h.scrape()
	require.EqualValues(t, 1, values["worldd_draining"])
}

func TestMetricsOfRooms(t *testing.T) {
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	h := newRoomServer(t, func(c *server.RoomsConfig) { c.Images.Dir = t.TempDir() })
	h.dialRoom("match/1")
	text, values := h.scrape()
	promtool(t, text, "check", "metrics")
	require.EqualValues(t, 1, values["worldd_rooms room_kind=match"])
	require.EqualValues(t, 2, values["worldd_rooms_by_state state=open"], "hall and match")
	require.Positive(t, values["worldd_rooms_limit room_kind=match"])
	require.Contains(t, values, "worldd_stored_images room_kind=match")
	require.Positive(t, values["worldd_stored_images_limit room_kind=match"])
}

// The shipped alert rules fire when they should, and not on a healthy server.
func TestAlertRules(t *testing.T) {
	promtool(t, "", "check", "rules", "../cmd/worldd/deploy/alerts.yaml")
	promtool(t, "", "test", "rules", "../cmd/worldd/deploy/alerts.test.yaml")
}

// idleCluster is a cluster in which nothing happens.
type idleCluster struct{ server.Cluster }

func (idleCluster) Answer(func(context.Context, []byte) ([]byte, error)) {}
func (idleCluster) AnswerMoves(func(context.Context, []byte) error)      {}
func (idleCluster) Receive(func([]byte) error)                           {}

func (idleCluster) Changed(string) <-chan struct{} { return nil }

func (idleCluster) Status() server.ClusterStatus {
	return server.ClusterStatus{Events: map[string]uint64{"fence": 0}}
}

// Each metric of the alert rules and of the dashboard is one that servers have, and the dashboard
// shows each alert.
func TestAlertsAndDashboardNameMetrics(t *testing.T) {
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	store := must.Get(imagefile.Open(filepath.Join(t.TempDir(), "world.image"), 0))
	defer func() { require.NoError(t, store.Close()) }()
	one, _ := newTestServerWith(t, func(c *server.Config) {
		c.Web = &server.WebConfig{}
		c.Certificate = newCertificate(t, "game.example", nil)
		c.Image = server.ImageConfig{Store: store}
	}).scrape()
	rooms := newRoomServer(t, func(c *server.RoomsConfig) { c.Images.Dir = t.TempDir() })
	rooms.dialRoom("match/1")
	ofRooms, _ := rooms.scrape()
	inCluster, _ := newRoomServer(t, func(c *server.RoomsConfig) { c.Kinds["hall"] = c.Kinds["match"] }, func(c *server.Config) { c.Cluster = idleCluster{} }).scrape()
	ofRooms += inCluster
	alerts := string(must.Get(os.ReadFile("../cmd/worldd/deploy/alerts.yaml")))
	dashboard := string(must.Get(os.ReadFile("../cmd/worldd/deploy/grafana.json")))
	for _, name := range regexp.MustCompile(`\b(worldd|go|process)_[a-z_]+`).FindAllString(alerts+dashboard, -1) {
		require.Contains(t, one+ofRooms, "\n"+name, "no server has this metric")
	}
	selectors := regexp.MustCompile(`(worldd_\w+)\{([^}]*)\}`).FindAllStringSubmatch(strings.ReplaceAll(dashboard, `\"`, `"`), -1)
	require.Greater(t, len(selectors), 40)
	for _, s := range selectors {
		for _, label := range regexp.MustCompile(`(\w+)="([^"]*)"`).FindAllString(s[2], -1) {
			require.Regexp(t, `(?m)^`+s[1]+`\{.*`+regexp.QuoteMeta(label), one+ofRooms)
		}
	}
	names := regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(alerts, -1)
	require.Len(t, names, 25)
	for _, name := range names {
		require.True(t, strings.HasPrefix(name[1], "Worldd"), "the dashboard shows alerts of this prefix")
	}
	require.Contains(t, dashboard, `ALERTS{alertname=~\"Worldd.*\"`)
	tests := string(must.Get(os.ReadFile("../cmd/worldd/deploy/alerts.test.yaml")))
	for _, name := range names {
		require.Equal(t, 2, strings.Count(tests, "alertname: "+name[1]), "%s has a test in which it fires, and one in which it does not", name[1])
	}
}
